// Which tokens may come next under a grammar: walks the vocabulary in the order of its bytes, so that tokens with a
// common beginning share the work, and skips all tokens behind a beginning that leads nowhere.
import type { VocabularyBytes } from '../frontend/engine-client.ts';
import { type GrammarAutomaton, GrammarOverload, type Position } from './grammar-automaton.ts';

export class SortedVocabulary {
  readonly size: number;
  readonly #ids: Int32Array;
  readonly #vocabulary: VocabularyBytes;
  /** Bytes that entry i has in common with entry i - 1. */
  readonly #shared: Int32Array;

  constructor(vocabulary: VocabularyBytes) {
    this.#vocabulary = vocabulary;
    const { bytes, start } = vocabulary;
    this.size = start.length - 1;
    const texts = Array.from({ length: this.size }, (_, id) => ({
      id,
      text: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).subarray(
        start[id],
        start[id + 1],
      ),
    })).filter(({ text }) => text.length > 0);
    texts.sort((a, b) => Buffer.compare(a.text, b.text));
    this.#ids = Int32Array.from(texts, ({ id }) => id);
    this.#shared = Int32Array.from(texts, ({ text }, index) =>
      commonLength(text, texts[index - 1]?.text),
    );
  }

  /** Calls `allow` with each token id that the grammar lets come next. */
  walk(
    automaton: GrammarAutomaton,
    from: Position,
    mayRunMs: number,
    allow: (id: number) => void,
  ): void {
    const { bytes, start } = this.#vocabulary;
    const until = performance.now() + mayRunMs;
    const path: Position[] = [from];
    let dead = Number.POSITIVE_INFINITY;
    for (let index = 0; index < this.#ids.length; index += 1) {
      const shared = this.#shared[index] ?? 0;
      if (shared >= dead) continue;
      if ((index & 1023) === 0 && performance.now() > until) throw new GrammarOverload();
      dead = Number.POSITIVE_INFINITY;
      const id = this.#ids[index] ?? 0;
      const first = start[id] ?? 0;
      const length = (start[id + 1] ?? 0) - first;
      let depth = shared;
      while (depth < length) {
        const position = path[depth];
        const next = position && automaton.step(position, bytes[first + depth] ?? 0);
        depth += 1;
        if (!next) {
          dead = depth;
          break;
        }
        path[depth] = next;
      }
      if (dead === Number.POSITIVE_INFINITY) allow(id);
    }
  }

  /** The position after a token, or null where it may not come. */
  advance(automaton: GrammarAutomaton, from: Position, id: number): Position | null {
    const { bytes, start } = this.#vocabulary;
    let position: Position | null = from;
    for (let at = start[id] ?? 0; position && at < (start[id + 1] ?? 0); at += 1) {
      position = automaton.step(position, bytes[at] ?? 0);
    }
    return position;
  }
}

function commonLength(text: Uint8Array, before: Uint8Array | undefined): number {
  if (!before) return 0;
  const most = Math.min(text.length, before.length);
  let length = 0;
  while (length < most && text[length] === before[length]) length += 1;
  return length;
}
