// What crosses between the front end's thread and the engine's: commands one way, one report a step the other way.
import type { EngineDescription, TokenExtras, VocabularyBytes } from '../frontend/engine-client.ts';
import type { SequenceSpec } from '../scheduler/sequence.ts';

export type EngineCommand =
  | { type: 'add'; sequences: readonly SequenceSpec[]; queuedNs: number }
  | { type: 'abort'; ids: readonly number[] }
  | { type: 'resetPrefixCache'; ticket: number }
  | { type: 'vocabulary'; vocabulary: VocabularyBytes }
  | { type: 'close' };

/** Int32 entries of each token in StepReport.tokens: sequence id, token id, finish code. */
export const TOKEN_STRIDE = 3;

export interface StepReport {
  type: 'step';
  step: number;
  /** Tokens that the step ran, prompt and output together. */
  tokensRun: number;
  /** Positions whose keys and values it read, over all its sequences. */
  contextTokens: number;
  /** Tokens that it drew. */
  tokenCount: number;
  tokens: Int32Array;
  /** Sequences that were admitted for the first time: id, cached tokens. */
  admitted: Int32Array | undefined;
  /** CLOCK_MONOTONIC ns when each admitted sequence was queued, then when it was scheduled. */
  admittedNs: Float64Array | undefined;
  /** By entry index in `tokens`; absent when no sequence asked for any. */
  extras: (TokenExtras | undefined)[] | undefined;
}

export type EngineEvent =
  | { type: 'ready'; info: EngineDescription }
  | { type: 'failed'; code: string; message: string; hint: string }
  | { type: 'prefixCacheReset'; ticket: number; done: boolean }
  | StepReport;
