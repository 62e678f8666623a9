// What one request left behind: timestamps as they were seen, and what the stream said. Pure data; numbers such as
// TTFT are made from it in metrics/. All times are CLOCK_MONOTONIC in ns relative to the run's origin.

/** When the request was issued; only 'measured' requests count, and the phase is fixed at issue time. */
export type Phase = 'warm-up' | 'measured' | 'drain';

/** Why a request is not a success. A closed set: every broken stream has exactly one. */
export const FAILURE_CODES = [
  'connect', // no connection, or it broke before the first byte of the response
  'status', // not 2xx
  'content_type', // not text/event-stream
  'stream_error', // the stream carried an error object
  'invalid_sse', // bytes that are not SSE, or data that is not JSON
  'truncated', // the connection ended before [DONE]
  'no_finish_reason',
  'wrong_finish_reason',
  'no_content', // no event with content
  'no_usage', // the server did not say how many tokens it produced
  'prompt_length', // usage.prompt_tokens is not what was sent
  'output_length', // usage.completion_tokens is not what was asked for
  'token_count', // usage and the token ids or counts in the stream disagree
  'cached_tokens', // the server answered from a prefix cache
  'leftover_bytes', // bytes after [DONE]
  'timeout',
  'aborted', // we stopped it
] as const;
export type FailureCode = (typeof FAILURE_CODES)[number];

export interface RequestFailure {
  code: FailureCode;
  /** One sentence with the value that was wrong. */
  message: string;
}

export interface RequestTimeline {
  /** Order of issue within the run, from 0. */
  index: number;
  /** Which of the c slots carried it. */
  slot: number;
  phase: Phase;
  /** When it should have been sent (open loop: the schedule; closed loop: when its slot became free). */
  intendedNs: number;
  /** When it was handed to the socket. */
  sentNs: number;
  /** Response headers seen. */
  headersNs?: number;
  /** First event of any kind (TTFR). */
  firstEventNs?: number;
  /** Stamps of the events with non-empty content, reasoning or tool-call delta, ascending. */
  contentNs: number[];
  /** Tokens of each content event where the stream says so (token ids, or continuous usage); else absent. */
  contentTokens?: number[];
  /** [DONE] seen. */
  doneNs?: number;
  /** The response ended. */
  closedNs?: number;
  promptTokens?: number;
  outputTokens?: number;
  cachedTokens?: number;
  finishReason?: string;
  /** Token ids of the output, where the server gives them. */
  tokenIds?: number[];
  /** The text, for exactness checks. */
  text: string;
  bytesReceived: number;
  /** A kept-alive socket was closed by the server before the first byte of the answer, and the request was sent again. */
  reconnects: number;
  failure?: RequestFailure;
}
