// What a run leaves behind, as a versioned schema. Minor versions only add optional fields; a reader of 1.x reads every
// record of 1.x. Field names carry units; a number without one is a count. It knows nothing of files.
import { z } from 'zod';
import { attributionBodySchema } from '../attribution/attribution-record.ts';
import { VOID_CODES } from '../parity/void-codes.ts';
import { amount, cell, count, distribution, raw, sha256, utc } from './record-parts.ts';

export const RECORD_SCHEMA = 'mxbench-record/1.0';
/** The version of the formulas and of the way to measure; numbers of different methods are not compared. */
export const SWEEP_METHODOLOGY = 'sweep/1';
export const CALIBRATION_METHODOLOGY = 'calibration/1';
export const ATTRIBUTION_METHODOLOGY = 'attribution/1';
export const PARITY_METHODOLOGY = 'parity/1';

export const environment = z.object({
  envClass: z
    .string()
    .regex(/^[a-z0-9-]+$/)
    .describe('hash of the stable fields'),
  cpuModel: z.string(),
  cpuFlags: z.array(z.string()).describe('those that kernels use'),
  cores: count.describe('logical CPUs that the process may use'),
  machineCores: count,
  cgroupCpuLimit: amount.nullable().describe('CPUs'),
  cgroupMemoryLimitBytes: count.nullable(),
  memoryBytes: count,
  swapBytes: count,
  numaNodes: count,
  kernel: z.string(),
  osImage: z.string(),
  virtualised: z.string().nullable(),
  governor: z.string().nullable(),
  turbo: z.boolean().nullable(),
  bootIdHash: sha256.describe('hash of the boot id; tells boots apart, names no machine'),
  transparentHugePages: z.string().nullable(),
});
export type Environment = z.infer<typeof environment>;

const harness = z.object({
  version: z.string(),
  node: z.string(),
  commit: z.string().nullable(),
  dirty: z.boolean().nullable(),
  sourceSha256: sha256.describe('over the built files of the harness; survives a rebase'),
});
export type HarnessIdentity = z.infer<typeof harness>;

const arm = z.object({
  role: z.enum(['bundled', 'url', 'command', 'git']),
  label: z.string(),
  serverKind: z.string().describe('which make of server, as found by asking it'),
  serverVersion: z.string().nullable(),
  commit: z.string().nullish().describe('the revision that was built for it'),
  command: z.array(z.string()).nullable().describe('how the server was started, paths shortened'),
  resolvedConfig: z.record(z.string(), z.unknown()).nullable().describe('as the server reports it'),
  isa: z.string().nullable(),
  activations: z.string().nullable(),
  threads: count.nullable(),
  startSeconds: amount.nullable().describe('process start to first right generation'),
  model: z.object({
    id: z.string(),
    sha256: sha256.nullable(),
    fileBytes: count.nullable(),
    quantisation: z.string().nullable(),
    parameters: count.nullable(),
    synthetic: z.boolean().nullable(),
    vocabulary: count.nullable(),
  }),
});

const workload = z.object({
  loop: z.literal('closed'),
  endpoint: z.enum(['completions', 'chat']),
  seed: count,
  inputTokens: count,
  outputTokens: count,
  concurrencies: z.array(count),
  requestsPerCell: z.array(count).describe('one a concurrency'),
  temperature: z.number(),
  exactOutput: z.boolean(),
  coldCache: z.boolean(),
});

const common = {
  schema: z.string(),
  id: sha256,
  chain: z.object({ prev: sha256.nullable().describe('newest record of the same series') }),
  createdUtc: utc,
  complete: z.literal(true),
  interrupted: z.boolean(),
  harness,
  environment,
  redaction: z.array(z.object({ what: z.string(), why: z.string() })),
};

export const sweepRecord = z.object({
  ...common,
  kind: z.literal('sweep'),
  methodology: z.string(),
  label: z.string().optional(),
  binding: z.boolean(),
  nonBindingReasons: z.array(z.string()),
  arm,
  workload,
  cells: z.array(cell),
  raw,
});
export type SweepRecord = z.infer<typeof sweepRecord>;

const calibrationCell = z.object({
  concurrency: count,
  requests: count,
  failed: count,
  events: count,
  ttftMeanMs: z.number(),
  itlMeanMs: z.number(),
  ttftErrorMs: distribution,
  ttftMeanAbsoluteErrorMs: amount,
  itlErrorMs: distribution,
  itlMeanAbsoluteErrorMs: amount,
  tpotMeanAbsoluteErrorMs: amount,
  e2elMeanAbsoluteErrorMs: amount,
  stampLagMs: distribution,
  emitterLatenessMs: z.object({ p50: z.number(), p99: z.number(), max: z.number() }),
  eventLoopDelayP99Ms: z.number(),
  achievedConcurrency: amount,
});

export const calibrationRecord = z.object({
  ...common,
  kind: z.literal('calibration'),
  methodology: z.string(),
  calibration: z.object({
    schedule: z.object({ ttftMs: amount, itlMs: amount, outputTokens: count }),
    cells: z.array(calibrationCell),
    cost: z.object({
      concurrency: count,
      requests: count,
      cpuMicrosecondsPerToken: z.number(),
      shortTokens: count,
      longTokens: count,
    }),
    capacity: z.object({
      concurrency: count,
      tokensPerSecond: amount,
      clientCpuShareOfCore: amount,
    }),
  }),
  foreignCpuShare: amount.nullable(),
});
export type CalibrationRecord = z.infer<typeof calibrationRecord>;

const values = z.record(z.string(), z.number());
const voidMark = z.object({
  code: z.enum(VOID_CODES),
  arm: z.enum(['ours', 'reference']).optional(),
  detail: z.string().optional(),
});
const pair = z.object({
  id: z.string(),
  concurrency: count,
  quad: count,
  launch: count,
  lead: z.enum(['ours', 'reference']),
  ours: values.describe('by axis, in the unit of the axis'),
  reference: values,
  requests: count.optional(),
  voids: z.array(voidMark),
  replaces: z.string().optional(),
});

export const parityRecord = z.object({
  ...common,
  kind: z.literal('parity'),
  methodology: z.string(),
  binding: z.boolean(),
  nonBindingReasons: z.array(z.string()),
  aa: z.boolean().describe('both arms are the same server'),
  scenario: z.string(),
  arms: z.object({ ours: arm, reference: arm }),
  workload,
  plan: z.object({
    generator: z.string(),
    seed: count,
    order: z.string().describe('one letter a pair, A where ours leads'),
    looks: z.array(count),
    launches: count,
    residency: z.enum(['co-resident', 'exclusive']),
    slice: z.string(),
  }),
  family: z.object({ alpha: amount, method: z.enum(['maxT', 'holm']) }),
  margin: amount,
  foreignCpuLimit: amount.nullable().describe('null: it was not judged'),
  pairs: z.array(pair),
  answers: z.object({ compared: count, equal: count }).describe('of both arms to the same prompts'),
  end: z.string().describe('why it stopped: passed, last_look, void or interrupted'),
  lastLook: z.boolean(),
  verdict: z.unknown().describe('as the judgement of the stored pairs gives it again'),
  raw,
});
export type ParityRecord = z.infer<typeof parityRecord>;

export const attributionRecord = z.object({
  ...common,
  kind: z.literal('attribution'),
  methodology: z.string(),
  body: attributionBodySchema,
});
export type AttributionRecord = z.infer<typeof attributionRecord>;

export const recordSchema = z.discriminatedUnion('kind', [
  sweepRecord,
  attributionRecord,
  calibrationRecord,
  parityRecord,
]);
/** `RunRecord`, since TypeScript has a Record of its own. */
export type RunRecord = z.infer<typeof recordSchema>;
/** A record before the store gives it its place in the chain and its id. */
export type Draft<R extends RunRecord = RunRecord> = R extends RunRecord
  ? Omit<R, 'id' | 'chain'>
  : never;
