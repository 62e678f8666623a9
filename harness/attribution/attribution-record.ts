// The record of one attribution: everything that a reader needs to believe or doubt it, as one zod schema. Plain data;
// storing, hashing and showing it is done elsewhere.
import { z } from 'zod';
import { judgementSchema } from './decision.ts';
import { evidenceFileSchema } from './evidence.ts';
import { gateSchema } from './gates.ts';
import { roleCountersSchema } from './hardware.ts';
import { provenanceSchema } from './provenance.ts';
import { quantitySchema } from './quantity.ts';
import { rightsSchema } from './rights.ts';
import { STACK_CLASSES } from './symbol-classes.ts';

const intervalSchema = z.strictObject({ low: z.number(), high: z.number() });
const rankSchema = z.strictObject({ best: z.number().int(), worst: z.number().int() });

const phaseSchema = z.strictObject({
  name: z.string(),
  seconds: z.number(),
  steps: z.number().int(),
  stepsFrom: z.enum(['engine counter', 'server metrics', 'streams']),
  tokens: z.number(),
  tpotMs: z.number().nullable(),
  tpotSeMs: z.number().nullable(),
  serverCores: z.number(),
  clientCores: z.number(),
});

const busySchema = z.strictObject({
  role: z.string(),
  threads: z.number().int(),
  cores: z.number().describe('1 is one core for the whole window'),
  msPerStep: z.number(),
  usPerToken: z.number(),
  queueMsPerStep: z.number().describe('waiting for a CPU, by schedstat'),
  slicesPerStep: z.number(),
  cost: quantitySchema.describe('ms per step, by seconds'),
});

const shareFields = {
  samples: z.number().int(),
  share: z.number(),
  interval: intervalSchema,
  rank: rankSchema,
  msPerStep: z.number(),
};
const profileSchema = z.strictObject({
  role: z.string(),
  samples: z.number().int(),
  kappa: z.number().nullable(),
  missingNsPerSlice: z.number().nullable(),
  workMsPerStep: z.number(),
  spinMsPerStep: z.number(),
  classes: z.array(
    z.strictObject({ class: z.enum(STACK_CLASSES), waiting: z.boolean(), ...shareFields }),
  ),
  functions: z.array(
    z.strictObject({ symbol: z.string(), dso: z.string(), where: z.string(), ...shareFields }),
  ),
});

const stateSchema = z.strictObject({
  meanUs: z.number(),
  interval: intervalSchema,
  p50Us: z.number(),
  p99Us: z.number(),
});
const waitingSchema = z.strictObject({
  source: z.enum(['tracepoints', 'records']),
  stages: z.array(
    z.strictObject({
      stage: z.string(),
      steps: z.number().int(),
      meanUs: z.number(),
      running: stateSchema,
      woken: stateSchema,
      preempted: stateSchema,
      asleep: stateSchema,
      worstClosureUs: z.number(),
      uncovered: z.number().int(),
    }),
  ),
  hops: z.array(
    z.strictObject({
      from: z.string(),
      to: z.string(),
      count: z.number().int(),
      p50Us: z.number(),
      p99Us: z.number(),
      meanUs: z.number(),
      ownMeanUs: z
        .number()
        .describe('without the time in which a stranger or the client had the CPU'),
      foreignShare: z.number(),
      meanwhile: z.array(z.strictObject({ comm: z.string(), ns: z.number() })),
    }),
  ),
  engineSleep: z.array(
    z.strictObject({ waker: z.string(), count: z.number().int(), sleptNs: z.number() }),
  ),
  foreignShare: z.number(),
  apparatusShare: z.number(),
  unseenWakes: z.number().int(),
});

const stageTimeSchema = z.strictObject({
  stage: z.string(),
  ms: z.number(),
  interval: intervalSchema,
  p50Ms: z.number(),
  p99Ms: z.number(),
});
const stepsSchema = z.strictObject({
  steps: z.number().int(),
  periodMs: z.number(),
  spanMs: z.number().describe('forward and sampling'),
});
const gapPartSchema = z.strictObject({
  ms: z.number(),
  se: z.number().nullable(),
  interval: z.strictObject({ low: z.number().nullable(), high: z.number().nullable() }),
});
const waterfallSchema = z.strictObject({
  steps: z.number().int(),
  decodeOnly: stepsSchema,
  withPrefill: stepsSchema,
  loop: z.array(stageTimeSchema),
  way: z.array(stageTimeSchema),
  tpot: z.strictObject({
    requests: z.number().int(),
    unmatched: z.number().int(),
    measuredMs: z.number(),
    parts: z.array(z.strictObject({ stage: z.string(), ms: z.number() })),
    wayChangeMs: z.number(),
    unexplainedMs: z.number(),
    explainedShare: z.number(),
  }),
  missing: z.number().int(),
});

export const attributionBodySchema = z.strictObject({
  target: z.strictObject({
    name: z.string(),
    commandLine: z.string(),
    buildIds: z.array(z.strictObject({ dso: z.string(), buildId: z.string() })),
  }),
  workload: z.strictObject({
    concurrency: z.number().int(),
    inputTokens: z.number().int(),
    outputTokens: z.number().int(),
    frequencyHz: z.number(),
    requests: z.number().int(),
    failed: z.number().int(),
  }),
  provenance: provenanceSchema,
  rights: rightsSchema,
  phases: z.array(phaseSchema),
  stepMs: z.number(),
  overhead: z.array(
    z.strictObject({
      phase: z.string(),
      cpuChange: z.number(),
      tpotChangeMs: z.number().nullable(),
    }),
  ),
  busy: z.array(busySchema),
  diedMs: z.number().describe('CPU of threads that ended inside a window, in no role'),
  profile: z.array(profileSchema),
  jsNamed: z.number().nullable().describe('share of JavaScript stacks with all names'),
  events: z.array(z.string()).describe('as perf opened them'),
  waiting: waitingSchema.nullable(),
  waterfall: waterfallSchema.nullable(),
  streams: z.strictObject({
    medianItlMs: z.number(),
    meanItlMs: z.number(),
    stallShare: z.number().describe('time in gaps beyond twice the median, less the median'),
  }),
  decodeRun: z
    .strictObject({ periodMs: z.number(), spanMs: z.number() })
    .nullable()
    .describe('what this capture adds to a comparison: its decode-only steps'),
  gap: z
    .strictObject({
      reference: z.string(),
      method: z.string(),
      runs: z.tuple([z.number().int(), z.number().int()]).describe('ours, reference'),
      total: gapPartSchema,
      span: gapPartSchema,
      residual: gapPartSchema,
    })
    .nullable(),
  hardware: z.array(roleCountersSchema).nullable().describe('null where the host has no counters'),
  injection: z
    .strictObject({
      seam: z.enum(['engine', 'frontend']),
      delayUs: z.number(),
      runs: z.array(z.strictObject({ delayMs: z.number(), tpotMs: z.number() })),
      slope: z.number().describe('ms of TPOT per ms of injected delay a step'),
      se: z.number(),
      interval: intervalSchema,
      verdict: z.enum(['on the path', 'hidden', 'partial', 'not settled']),
    })
    .nullable(),
  host: z.strictObject({
    cpus: z.number().int(),
    psiSome: z
      .number()
      .nullable()
      .describe('share of the window in which some task waited for a CPU'),
    strangers: z.number().describe('cores used by neither server, client nor perf'),
    steal: z.number().describe('cores stolen by the hypervisor'),
  }),
  gates: z.array(gateSchema),
  judgements: z.array(judgementSchema),
  evidence: z.array(evidenceFileSchema),
  notes: z.array(z.string()),
});
export type AttributionBody = z.infer<typeof attributionBodySchema>;
