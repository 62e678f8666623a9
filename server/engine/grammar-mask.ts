// Keeps the output of sequences with a grammar inside it: before each draw, tokens that cannot go on with a sentence get
// no probability; after it, the drawn token moves the sequence's position.

import type { VocabularyBytes } from '../frontend/engine-client.ts';
import type { Sequence } from '../scheduler/sequence.ts';
import { GrammarAutomaton, GrammarOverload, type Position } from './grammar-automaton.ts';
import { SortedVocabulary } from './token-mask.ts';

/** What one mask may take; the other sequences wait for it. */
const MASK_BUDGET_MS = 3000;
const MOST_MASKS = 128;

interface Walk {
  automaton: GrammarAutomaton;
  position: Position | null;
  /** Output tokens that the position accounts for. */
  taken: number;
  /** By position: 1 where a token may come. */
  masks: Map<Position, Uint8Array>;
}

export class GrammarMasks {
  readonly #eosIds: readonly number[];
  readonly #walks = new Map<number, Walk>();
  #vocabulary: SortedVocabulary | undefined;

  constructor(eosIds: readonly number[]) {
    this.#eosIds = eosIds;
  }

  /** Must be called before the first sequence with a grammar runs. */
  learn(vocabulary: VocabularyBytes): void {
    this.#vocabulary = new SortedVocabulary(vocabulary);
  }

  get knowsVocabulary(): boolean {
    return this.#vocabulary !== undefined;
  }

  forget(id: number): void {
    this.#walks.delete(id);
  }

  /** Leaves only tokens that the grammar allows; false when the grammar costs too much to go on with. */
  apply(logits: Float32Array, sequence: Sequence): boolean {
    const { grammar } = sequence.spec;
    const vocabulary = this.#vocabulary;
    if (!grammar || !vocabulary) return true;
    try {
      const walk = this.#walkOf(sequence, vocabulary);
      forbid(logits, this.#allowed(walk, vocabulary, logits.length));
      return true;
    } catch (error) {
      if (error instanceof GrammarOverload) return false;
      throw error;
    }
  }

  #walkOf(sequence: Sequence, vocabulary: SortedVocabulary): Walk {
    const { grammar } = sequence.spec;
    let walk = this.#walks.get(sequence.id);
    if (!walk) {
      if (!grammar) throw new Error('the sequence has no grammar');
      const automaton = new GrammarAutomaton(grammar);
      walk = { automaton, position: automaton.start, taken: 0, masks: new Map() };
      this.#walks.set(sequence.id, walk);
    }
    for (; walk.taken < sequence.outputTokens; walk.taken += 1) {
      const token = sequence.tokens[sequence.promptLength + walk.taken] ?? 0;
      if (this.#eosIds.includes(token)) continue;
      walk.position = walk.position && vocabulary.advance(walk.automaton, walk.position, token);
    }
    return walk;
  }

  #allowed(walk: Walk, vocabulary: SortedVocabulary, size: number): Uint8Array {
    const { automaton, position, masks } = walk;
    const known = position && masks.get(position);
    if (known) return known;
    const allowed = new Uint8Array(size);
    let count = 0;
    if (position) {
      vocabulary.walk(automaton, position, MASK_BUDGET_MS, (id) => {
        allowed[id] = 1;
        count += 1;
      });
    }
    // Where no token goes on, the end is the only way out even if the sentence is not whole.
    if (!position || position.accepting || count === 0) {
      for (const id of this.#eosIds) allowed[id] = 1;
    }
    if (masks.size >= MOST_MASKS) masks.clear();
    if (position) masks.set(position, allowed);
    return allowed;
  }
}

/** Takes all probability from tokens that the mask does not allow. */
function forbid(logits: Float32Array, allowed: Uint8Array): void {
  for (let id = 0; id < logits.length; id += 1) {
    if (allowed[id] !== 1) logits[id] = Number.NEGATIVE_INFINITY;
  }
}
