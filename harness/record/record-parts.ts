// The parts that records are made of: numbers, distributions, cells and per-request rows. What a whole record holds is in
// record.ts.
import { z } from 'zod';
import { FAILURE_CODES } from '../client/timeline.ts';
import { VOID_CODES } from '../parity/void-codes.ts';

export const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
export const amount = z.number().nonnegative();
export const count = z.number().int().nonnegative();
export const utc = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

export const distribution = z
  .object({
    n: count,
    mean: z.number(),
    min: z.number(),
    p50: z.number(),
    p90: z.number().nullable(),
    p95: z.number().nullable(),
    p99: z.number().nullable(),
    max: z.number(),
  })
  .nullable();

const notice = z.object({ code: z.string(), message: z.string() });

/** The numbers of a cell as metrics/measure.ts makes them. */
export const cellMetrics = z.object({
  loop: z.enum(['closed', 'open']),
  concurrency: count,
  requests: count,
  succeeded: count,
  failed: count,
  failuresByCode: z.partialRecord(z.enum(FAILURE_CODES), count),
  ttftMs: distribution,
  ttfrMs: distribution,
  tpotMs: distribution,
  itlMs: distribution,
  itlPerTokenMs: distribution,
  e2elMs: distribution,
  streamCloseMs: distribution,
  queueMs: distribution,
  windowSeconds: amount,
  windowOutputTokens: amount,
  outputTokensPerSecond: amount,
  requestsPerSecond: amount,
  totalTokensPerSecond: amount,
  goodput: z.object({ requestsPerSecond: amount, share: amount }).nullable(),
  promptTokens: count,
  outputTokens: count,
  cachedTokensMax: count.nullable(),
  achievedConcurrency: amount,
  shareAtConcurrency: amount,
  peakInFlight: count,
  tokensPerEvent: amount.nullable(),
  connectionsOpened: count,
  reconnects: count,
  clientCpuShareOfCore: amount,
  clientCpuMicrosecondsPerToken: amount.nullable(),
  eventLoopDelayP99Ms: amount,
  interrupted: z.boolean(),
  implausible: z.array(notice),
});

export const memoryUse = z.object({
  peakPssBytes: count.describe('largest sum of PSS over the process tree that a sample saw'),
  peakRssBytes: count.describe('largest sum of RSS over the process tree that a sample saw'),
  highWaterRssBytes: count.describe(
    "the kernel's own peak RSS of the process (VmHWM), since start",
  ),
  cgroupPeakBytes: count.nullable().describe("the cgroup's peak since its start; others count too"),
  samples: count,
  periodMs: amount,
  processes: count.describe('most processes seen in the tree'),
});

export const cpuUse = z.object({
  seconds: amount.describe('wall time'),
  serverCpuSeconds: amount.nullable(),
  clientCpuSeconds: amount,
  machineBusyCpuSeconds: amount,
  cores: count,
  foreignCpuShare: amount
    .nullable()
    .describe('busy CPU that is neither server nor client / all CPU of the machine'),
  stealShare: amount.describe('recorded, not used to void'),
});

export const cell = z.object({
  concurrency: count,
  warmUpRequests: count,
  startedUtc: utc,
  promptsSha256: sha256.describe('over the prompts of warm-up and measured requests, in order'),
  metrics: cellMetrics.nullable().describe('null: the cell did not begin'),
  memory: memoryUse.nullable(),
  memoryAbsent: z.string().optional().describe('why there is no memory figure'),
  cpu: cpuUse.nullable(),
  interrupted: z.boolean(),
  voids: z.array(z.object({ code: z.enum(VOID_CODES), message: z.string() })),
  warnings: z.array(notice),
});
export type SweepCell = z.infer<typeof cell>;

/** Columns of a request in the raw data, times in ns from the run's origin. */
export const requestRow = z.object({
  concurrency: count,
  index: count,
  slot: count,
  phase: z.enum(['warm-up', 'measured', 'drain']),
  intendedNs: z.number(),
  sentNs: z.number(),
  headersNs: z.number().nullable(),
  firstEventNs: z.number().nullable(),
  contentNs: z.array(z.number()).describe('the first stamp, then differences'),
  contentTokens: z.array(count).nullable(),
  doneNs: z.number().nullable(),
  closedNs: z.number().nullable(),
  promptTokens: count.nullable(),
  outputTokens: count.nullable(),
  cachedTokens: count.nullable(),
  finishReason: z.string().nullable(),
  tokensSha256: sha256.nullable().describe('of the token ids, or of the text where there are none'),
  textSha256: sha256.optional().describe('of the text, which all makes of server give'),
  arm: z.enum(['ours', 'reference']).optional(),
  pair: z.string().optional(),
  reconnects: count,
  failure: z.object({ code: z.enum(FAILURE_CODES), message: z.string() }).nullable(),
});
export type RequestRow = z.infer<typeof requestRow>;

/** Per-request data: in the record when it is small, else in raw/<sha256> beside the records, outside git. */
export const raw = z.union([
  z.object({ kind: z.literal('inline'), requests: z.array(requestRow) }),
  z.object({
    kind: z.literal('file'),
    sha256,
    bytes: count,
    rows: count,
    encoding: z.literal('jsonl+gzip'),
  }),
]);
