// Turns rules into the tables that the engine walks. The size is bounded, so that no request can make masks that cost the
// others their time.
import { CALL_EDGE, EMPTY_EDGE, type GrammarTables } from '../../scheduler/sequence.ts';
import { GrammarError } from './grammar-error.ts';
import type { Grammar, GrammarNode } from './grammar-node.ts';

const MOST_STATES = 20_000;

interface Edge {
  low: number;
  high: number;
  target: number;
  back: number;
}

class Compiler {
  readonly #grammar: Grammar;
  readonly #edges: Edge[][] = [];
  readonly #accepting = new Set<number>();
  readonly #starts = new Map<string, number>();
  readonly #pending: string[] = [];

  constructor(grammar: Grammar) {
    this.#grammar = grammar;
  }

  compile(): GrammarTables {
    const start = this.#startOf('root');
    for (let name = this.#pending.pop(); name !== undefined; name = this.#pending.pop()) {
      const node = this.#grammar.get(name);
      if (!node)
        throw new GrammarError(`it refers to ${JSON.stringify(name)}, which does not exist`);
      this.#accepting.add(this.#build(node, this.#startOf(name)));
    }
    return this.#tables(start);
  }

  #state(): number {
    if (this.#edges.length >= MOST_STATES) {
      throw new GrammarError(`it is too large (more than ${MOST_STATES} states)`);
    }
    this.#edges.push([]);
    return this.#edges.length - 1;
  }

  #startOf(name: string): number {
    let start = this.#starts.get(name);
    if (start === undefined) {
      start = this.#state();
      this.#starts.set(name, start);
      this.#pending.push(name);
    }
    return start;
  }

  #edge(from: number, low: number, high: number, target: number, back = -1): void {
    this.#edges[from]?.push({ low, high, target, back });
  }

  /** Adds the node after state `from`; its end state. */
  #build(node: GrammarNode, from: number): number {
    switch (node.kind) {
      case 'byte': {
        const end = this.#state();
        this.#edge(from, node.low, node.high, end);
        return end;
      }
      case 'sequence':
        return node.parts.reduce((at, part) => this.#build(part, at), from);
      case 'either': {
        const end = this.#state();
        for (const option of node.options) {
          const begin = this.#state();
          this.#edge(from, EMPTY_EDGE, EMPTY_EDGE, begin);
          this.#edge(this.#build(option, begin), EMPTY_EDGE, EMPTY_EDGE, end);
        }
        return end;
      }
      case 'repeat':
        return this.#repeat(node, from);
      case 'rule': {
        const end = this.#state();
        this.#edge(from, CALL_EDGE, CALL_EDGE, this.#startOf(node.name), end);
        return end;
      }
    }
  }

  #repeat(node: Extract<GrammarNode, { kind: 'repeat' }>, from: number): number {
    let at = from;
    for (let count = 0; count < node.least; count += 1) at = this.#build(node.part, at);
    if (node.most === Number.POSITIVE_INFINITY) {
      const loop = this.#state();
      this.#edge(at, EMPTY_EDGE, EMPTY_EDGE, loop);
      const end = this.#build(node.part, loop);
      this.#edge(end, EMPTY_EDGE, EMPTY_EDGE, loop);
      const out = this.#state();
      this.#edge(loop, EMPTY_EDGE, EMPTY_EDGE, out);
      return out;
    }
    const out = this.#state();
    for (let count = node.least; count < node.most; count += 1) {
      this.#edge(at, EMPTY_EDGE, EMPTY_EDGE, out);
      // A fresh state, so that leaving early cannot be mistaken for going on.
      const next = this.#state();
      this.#edge(at, EMPTY_EDGE, EMPTY_EDGE, next);
      at = this.#build(node.part, next);
    }
    this.#edge(at, EMPTY_EDGE, EMPTY_EDGE, out);
    return out;
  }

  #tables(start: number): GrammarTables {
    const edges = this.#edges.flat();
    const edgeStart = new Int32Array(this.#edges.length + 1);
    this.#edges.forEach((own, state) => {
      edgeStart[state + 1] = (edgeStart[state] ?? 0) + own.length;
    });
    return {
      start,
      edgeStart,
      edgeLow: Int16Array.from(edges, ({ low }) => low),
      edgeHigh: Int16Array.from(edges, ({ high }) => high),
      edgeTarget: Int32Array.from(edges, ({ target }) => target),
      edgeReturn: Int32Array.from(edges, ({ back }) => back),
      accepting: Uint8Array.from(this.#edges, (_, state) => Number(this.#accepting.has(state))),
    };
  }
}

/** The tables of a grammar; GrammarError when a rule is missing or it is too large. */
export function compileGrammar(grammar: Grammar): GrammarTables {
  return new Compiler(grammar).compile();
}
