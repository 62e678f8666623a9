// Timelines to numbers. Pure: no clock, no I/O; every formula is named in definitions.ts.
import type { FailureCode } from '../client/timeline.ts';

/** A sample described. The unit is that of the field that holds it. A percentile is null where n does not support it. */
export interface Distribution {
  /** Sample size; printed beside every percentile. */
  n: number;
  mean: number;
  min: number;
  p50: number;
  /** Null below 64 samples. */
  p90: number | null;
  /** Null below 130 samples. */
  p95: number | null;
  /** Null below 662 samples. */
  p99: number | null;
  max: number;
}

export interface Implausibility {
  code:
    | 'faster_than_possible'
    | 'more_events_than_tokens'
    | 'burst_delivery'
    | 'concurrency_not_held'
    | 'client_saturated';
  /** One sentence with the values. */
  message: string;
}

/** One cell: one arm at one concurrency. Plain numbers, ready for JSON; a distribution is null when nothing was measured. */
export interface CellMetrics {
  concurrency: number;
  /** Requests of the measured phase. */
  requests: number;
  succeeded: number;
  failed: number;
  failuresByCode: Partial<Record<FailureCode, number>>;
  ttftMs: Distribution | null;
  ttfrMs: Distribution | null;
  /** One value a request. */
  tpotMs: Distribution | null;
  /** Gaps between content events, pooled over requests. */
  itlMs: Distribution | null;
  /** The same divided by the tokens of the event, only where every stream says how many an event holds. */
  itlPerTokenMs: Distribution | null;
  e2elMs: Distribution | null;
  streamCloseMs: Distribution | null;
  /** Intended start to handing over to the socket: time in our own queue. */
  queueMs: Distribution | null;
  /** The window: first measured request sent to last measured request ended. */
  windowSeconds: number;
  /** Output tokens whose stamps lie in the window, whatever request they belong to. */
  windowOutputTokens: number;
  outputTokensPerSecond: number;
  /** Requests that ended well in the window, per second. */
  requestsPerSecond: number;
  /** Prompt tokens of those requests and the output tokens, per second. */
  totalTokensPerSecond: number;
  /** Of the successful measured requests. */
  promptTokens: number;
  outputTokens: number;
  /** Largest number of cached prompt tokens that any request reported; null when the server does not say. */
  cachedTokensMax: number | null;
  /** Mean requests in flight over the window. */
  achievedConcurrency: number;
  shareAtConcurrency: number;
  peakInFlight: number;
  /** Mean output tokens of a content event; above 1 the ITL is not a token's. */
  tokensPerEvent: number | null;
  connectionsOpened: number;
  reconnects: number;
  clientCpuShareOfCore: number;
  clientCpuMicrosecondsPerToken: number | null;
  eventLoopDelayP99Ms: number;
  interrupted: boolean;
  implausible: Implausibility[];
}
