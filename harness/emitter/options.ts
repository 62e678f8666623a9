// What the emitter can be told, as one schema: the schedule, the shape of the stream, and the faults that it plants.
import { z } from 'zod';

export const FAULTS = [
  'none',
  'role_first', // a role-only event at once (legal; TTFR without TTFT)
  'comments', // a comment before every token (legal)
  'crlf', // CRLF line ends (legal)
  'cut', // the connection closes in the middle
  'reset', // the same by RST
  'error', // an error object in the middle
  'no_done', // ends in order but without [DONE]
  'no_usage', // never says how many tokens
  'short', // stops early with finish_reason "stop"
  'cached', // claims that the prompt came from a prefix cache
  'miscount', // usage reports one token more than was sent
  'stall', // falls silent in the middle
  'status', // 503
  'close_kept', // closes a kept-alive connection when the next request arrives on it
] as const;
export type Fault = (typeof FAULTS)[number];

export const emitterOptionsSchema = z.strictObject({
  host: z.string().default('127.0.0.1').describe('address to listen on'),
  port: z.int().min(0).max(65535).default(0).describe('0 takes a free port'),
  ttftMs: z.number().min(0).max(600_000).default(50).describe('request received to first token'),
  itlMs: z.number().min(0).max(60_000).default(10).describe('between tokens; 0 as fast as it can'),
  tokensPerEvent: z.int().min(1).max(1024).default(1).describe('tokens in each event'),
  driftPercentPerMinute: z
    .number()
    .min(-50)
    .max(1000)
    .default(0)
    .describe('how much slower TTFT and ITL become with time, linearly'),
  fault: z.enum(FAULTS).default('none').describe('planted fault'),
  faultEvery: z.int().min(1).default(1).describe('plant it in every n-th request'),
});
export type EmitterOptions = z.infer<typeof emitterOptionsSchema>;

/** GET /emitter/stats: the emitter's own faults, which are not those of a client. */
export const emitterStatsSchema = z.strictObject({
  requests: z.int().nonnegative(),
  events: z.int().nonnegative(),
  latenessNs: z.strictObject({ p50: z.number(), p99: z.number(), max: z.number() }),
});
export type EmitterStats = z.infer<typeof emitterStatsSchema>;
