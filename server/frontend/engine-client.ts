// The one interface through which http/ and frontend/ see the engine, and the data that crosses it. It says nothing of
// threads: a worker stands behind it in the server, and could be anything else.
import type { StepRecord, ThreadMap } from '../protocol/step-trace.ts';
import type { SequenceSpec } from '../scheduler/sequence.ts';
import type { FinishCode } from '../scheduler/stop-rules.ts';

/** What is running; constant once the engine is ready. */
export interface EngineDescription {
  isa: string;
  activations: string;
  threads: number;
  kvFormat: string;
  weightBytes: number;
  kvBytes: number;
  kvBlocks: number;
  blockTokens: number;
  maxSequences: number;
  maxModelLength: number;
  maxTokensPerStep: number;
  prefixCaching: boolean;
  schedulingPolicy: string;
}

/** Token id t is bytes[start[t] .. start[t + 1]); special tokens have none. */
export interface VocabularyBytes {
  bytes: Uint8Array;
  start: Int32Array;
}

/** Log-probability of a drawn or given token, and the likeliest alternatives, best first. */
export interface TokenLogprob {
  token: number;
  logprob: number;
  /** 1 is the likeliest. */
  rank: number;
  topIds: Int32Array;
  topLogprobs: Float64Array;
}

/** What comes with a token beyond its id; only where it was asked for or changed. */
export interface TokenExtras {
  logprob?: TokenLogprob;
  /** Entry i belongs to the prompt token `from` + i. */
  promptLogprobs?: { from: number; entries: TokenLogprob[] };
}

/** The stages of one sequence's life, CLOCK_MONOTONIC in ns, as the engine saw them. */
export interface SequenceTimes {
  queuedNs: number;
  scheduledNs: number;
}

export type FailureReason = 'died' | 'shutdown' | 'internal';

/** Receives what becomes of the sequences of one request. Never called within submit(). */
export interface SequenceListener {
  /** One drawn token; `stepNs` is when its step ended. Nothing is to be written yet. */
  onToken(id: number, token: number, finish: FinishCode, extras: TokenExtras | undefined): void;
  /** First sign of a sequence: it was scheduled. `cachedTokens` of its prompt came from the prefix cache. */
  onScheduled(id: number, cachedTokens: number, times: SequenceTimes): void;
  /** The step's tokens were all given; write now. Called once a step for each listener that got any. */
  onStepEnd(): void;
  /** The engine died or shut down, or the listener itself threw; no further call follows. */
  onFailure(reason: FailureReason): void;
}

export interface EngineStats {
  running: number;
  waiting: number;
  kvBlocksFree: number;
  kvBlocks: number;
  preemptions: number;
  prefixQueryTokens: number;
  prefixHitTokens: number;
  steps: number;
}

export interface EngineClient {
  readonly info: EngineDescription;
  readonly state: 'ready' | 'dead' | 'closed';
  /** What the engine died of. */
  readonly failure: string | undefined;
  /** A fresh sequence id. */
  nextId(): number;
  /** Hands over valid sequences (see SequenceSpec); throws when the engine is not ready. */
  submit(sequences: readonly SequenceSpec[], listener: SequenceListener): void;
  /** Tells the engine the tokens' bytes; needed once, before the first sequence with a grammar. */
  learnVocabulary(vocabulary: VocabularyBytes): void;
  /** Forgets the sequences at once; the engine frees their blocks before its next step. */
  abort(ids: readonly number[]): void;
  stats(): EngineStats;
  /** Called after each step with the tokens that it ran and the positions that it read, for the metrics. */
  onStep(observer: (tokens: number, contextTokens: number) => void): void;
  /** False while blocks are in use. */
  resetPrefixCache(): Promise<boolean>;
  /** The last steps, oldest first, from step id `after` + 1. */
  stepRecords(after: number): StepRecord[];
  threads(): ThreadMap;
  /** Stops the engine thread; live sequences get onFailure('shutdown'). */
  close(): Promise<void>;
}
