// The measured loop: holds a number of requests in flight, or sends at scheduled times, and keeps what each left behind.
// While it runs it prints, writes and judges nothing; success is judged when the last request has ended.
import type { Dialect } from '../client/dialect.ts';
import type { RequestTimeline } from '../client/timeline.ts';
import type { Prompt } from './prompts.ts';

export interface DriveOptions {
  baseUrl: string;
  model: string;
  endpoint: 'completions' | 'chat';
  dialect: Dialect;
  concurrency: number;
  outputTokens: number;
  /** Issued first, at the same concurrency, and handed over without draining. */
  warmUpRequests: number;
  /** How many requests count. */
  requests: number;
  /** The prompt of the request with this index: warm-up first, then measured, then those that keep the load up. */
  prompt(index: number): Prompt;
  /** The longest a request may take, from the moment it is handed to the connection. */
  requestTimeoutMs: number;
  signal: AbortSignal;
  /** Called from a timer, at most four times a second, never from the measured path. */
  onProgress?: (progress: DriveProgress) => void;
  /** Default true: the answer must have exactly `outputTokens` tokens and finish_reason "length". */
  exactOutput?: boolean;
  /** Default true: an answer out of a prefix cache (cached_tokens > 0) is a failure. */
  requireColdCache?: boolean;
  apiKey?: string;
}

export interface DriveProgress {
  /** Requests ended so far, warm-up included. */
  finished: number;
  /** Requests that will have ended when the run is complete, warm-up included. */
  total: number;
  /** Requests that broke so far as the transport tells (lengths are judged at the end). */
  failed: number;
  elapsedMs: number;
  /** Absent until enough requests have ended to tell. */
  remainingMs?: number;
}

export interface DriveResult {
  /** CLOCK_MONOTONIC; all stamps are relative to it. */
  originNs: bigint;
  timelines: RequestTimeline[];
  concurrency: number;
  /** First measured request handed to its socket. */
  windowStartNs: number;
  /** Last measured request ended. */
  windowEndNs: number;
  peakInFlight: number;
  /** Share of the window's time with exactly `concurrency` in flight, 0 to 1. */
  shareAtConcurrency: number;
  connectionsOpened: number;
  /** Requests sent again because the server had closed a kept-alive socket. */
  reconnects: number;
  /** How much later than asked this process's event loop ran. */
  eventLoopDelayNs: { p50: number; p99: number; max: number };
  /** User and system CPU time of this process within the run. */
  clientCpuNs: number;
  /** The signal was raised; what was measured is there. */
  interrupted: boolean;
}
