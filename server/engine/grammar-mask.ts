// Keeps the output of sequences with a grammar inside it: before each draw, tokens that cannot go on with a sentence get
// no probability; after it, the drawn token moves the sequence's position.

import type { VocabularyBytes } from '../frontend/engine-client.ts';
import type { Sequence } from '../scheduler/sequence.ts';
import { GrammarAutomaton, GrammarOverload, type Position } from './grammar-automaton.ts';
import { SortedVocabulary } from './token-mask.ts';

/** What one mask may take; the other sequences wait for it. */
const MASK_BUDGET_MS = 3000;
const MOST_MASKS = 512;

interface Walk {
  automaton: GrammarAutomaton;
  position: Position | null;
  /** Output tokens that the position accounts for. */
  taken: number;
  masks: Map<Position, Int32Array>;
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
      keepOnly(logits, this.#allowed(walk, vocabulary));
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

  #allowed(walk: Walk, vocabulary: SortedVocabulary): Int32Array {
    const { automaton, position, masks } = walk;
    if (!position) return Int32Array.from(this.#eosIds);
    const known = masks.get(position);
    if (known) return known;
    const ids: number[] = [];
    vocabulary.walk(automaton, position, MASK_BUDGET_MS, (id) => ids.push(id));
    // Where no token goes on, the end is the only way out even if the sentence is not whole.
    if (position.accepting || ids.length === 0) ids.push(...this.#eosIds);
    const allowed = Int32Array.from(ids);
    if (masks.size >= MOST_MASKS) masks.clear();
    masks.set(position, allowed);
    return allowed;
  }
}

/** Takes all probability from other ids. */
export function keepOnly(logits: Float32Array, ids: Int32Array): void {
  const kept = Float32Array.from(ids, (id) => logits[id] ?? Number.NEGATIVE_INFINITY);
  logits.fill(Number.NEGATIVE_INFINITY);
  for (let index = 0; index < ids.length; index += 1) logits[ids[index] ?? 0] = kept[index] ?? 0;
}
