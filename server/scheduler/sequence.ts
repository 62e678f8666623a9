// One sequence of tokens on its way through the engine: what was asked of it, how far it is, and which KV blocks
// it holds. It knows nothing of other sequences; the scheduler decides, this only keeps the books.

/** KV blocks hold this many tokens. */
export const BLOCK_TOKENS = 16;

/** How the next token is drawn; temperature 0 is greedy. topK 0, topP 1 and minP 0 are off. */
export interface SamplingSpec {
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
  seedLow: number;
  seedHigh: number;
}

/** Changes to the logits before a token is drawn. */
export interface LogitRules {
  repetitionPenalty: number;
  frequencyPenalty: number;
  presencePenalty: number;
  biasIds: Int32Array;
  biasValues: Float32Array;
  /** Only these ids may be drawn; empty means all. */
  allowedIds: Int32Array;
  /** Token sequences that may not be completed. */
  badWords: readonly Int32Array[];
}

/**
 * A grammar over bytes as flat tables: each rule is a small automaton; an edge consumes a byte, goes on for nothing, or
 * calls another rule and continues at its return state.
 */
export interface GrammarTables {
  start: number;
  /** Edges of state s are edgeStart[s] .. edgeStart[s + 1]. */
  edgeStart: Int32Array;
  /** Lowest byte of the edge's range, or -1 for an empty edge, or -2 for a call. */
  edgeLow: Int16Array;
  edgeHigh: Int16Array;
  /** State that follows; for a call, the first state of the rule. */
  edgeTarget: Int32Array;
  /** For a call, the state to continue at when the rule has ended. */
  edgeReturn: Int32Array;
  /** 1 where a rule may end. */
  accepting: Uint8Array;
}

export const EMPTY_EDGE = -1;
export const CALL_EDGE = -2;

/** What a caller asks for. Every id is below the vocabulary and every bound is checked before it gets here. */
export interface SequenceSpec {
  /** Unique among live sequences. */
  id: number;
  promptIds: Int32Array;
  maxTokens: number;
  minTokens: number;
  ignoreEos: boolean;
  stopTokenIds: readonly number[];
  /** Lower is served first; only the priority policy reads it. */
  priority: number;
  sampling: SamplingSpec;
  rules?: LogitRules;
  /** How many alternatives to report for each drawn token; -1 is all; undefined reports nothing. */
  logprobs?: number;
  promptLogprobs?: number;
  /** Separates prefix-cache domains. */
  cacheSalt?: string;
  /** The output must be a sentence of this grammar. */
  grammar?: GrammarTables;
}

export type SequenceStatus = 'waiting' | 'running' | 'finished';

export class Sequence {
  readonly spec: SequenceSpec;
  readonly id: number;
  /** Order of arrival, given by the scheduler. */
  readonly arrival: number;
  readonly promptLength: number;
  status: SequenceStatus = 'waiting';
  /** Known tokens: the prompt and what was drawn. */
  length: number;
  /** Tokens whose keys and values lie in the cache, or will after the planned step. */
  computed = 0;
  /** Tokens planned for the coming step. */
  chunk = 0;
  /** Prompt tokens found in the prefix cache when it was first admitted; -1 before that. */
  cachedTokens = -1;
  preemptions = 0;
  blockCount = 0;
  /** Prompt positions whose log-probabilities were already reported. */
  promptRowsDone = 0;
  /** Full blocks that are registered in, or came from, the prefix cache. */
  registeredBlocks = 0;
  readonly blockHashes: string[] = [];
  #tokens: Int32Array;
  #blocks: Int32Array;

  constructor(spec: SequenceSpec, arrival: number) {
    this.spec = spec;
    this.id = spec.id;
    this.arrival = arrival;
    this.promptLength = spec.promptIds.length;
    this.length = this.promptLength;
    const expected = this.promptLength + Math.min(spec.maxTokens, 1024);
    this.#tokens = new Int32Array(expected);
    this.#tokens.set(spec.promptIds);
    this.#blocks = new Int32Array(Math.ceil(expected / BLOCK_TOKENS) + 1);
  }

  /** The known tokens; only the first `length` entries count, and the array is replaced when it grows. */
  get tokens(): Int32Array {
    return this.#tokens;
  }

  /** The block ids; only the first `blockCount` entries count. */
  get blocks(): Int32Array {
    return this.#blocks;
  }

  get outputTokens(): number {
    return this.length - this.promptLength;
  }

  append(token: number): void {
    if (this.length === this.#tokens.length) this.#tokens = grown(this.#tokens);
    this.#tokens[this.length] = token;
    this.length += 1;
  }

  addBlock(block: number): void {
    if (this.blockCount === this.#blocks.length) this.#blocks = grown(this.#blocks);
    this.#blocks[this.blockCount] = block;
    this.blockCount += 1;
  }

  /** The block that holds positions [index x 16, index x 16 + 16). */
  block(index: number): number {
    return this.#blocks[index] ?? -1;
  }
}

function grown(array: Int32Array): Int32Array {
  const larger = new Int32Array(Math.max(16, array.length * 2));
  larger.set(array);
  return larger;
}
