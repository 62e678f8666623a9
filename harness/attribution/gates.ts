// The validity checks that come before any verdict: each compares one recorded fact with its limit. Pure. A fact that
// was not recorded is neither passed nor failed, and is listed as such.
import { z } from 'zod';

export const gateSchema = z.strictObject({
  name: z.string(),
  status: z.enum(['passed', 'failed', 'not-recorded']),
  detail: z.string(),
});
export type Gate = z.infer<typeof gateSchema>;

/** Facts of one capture; leave out what was not recorded. */
export interface CaptureFacts {
  samples?: { kept: number; lost: number; expected: number };
  /** Sampled over exact CPU time of the threads with at least 100 samples: the largest. */
  kappaMax?: number;
  /** Events as perf opened them, from `perf evlist -v`. */
  events?: { name: string; userOnly: boolean; hardware: boolean }[];
  /** CPU ns of the sampled threads by schedstat in the same window. */
  exactNs?: number;
  lostSchedEvents?: number;
  /** Scheduler events were recorded system-wide; per-task traces have wrong latencies. */
  schedSystemWide?: boolean;
  unmappedCpuShare?: number;
  closureErrorUs?: number;
  bracket?: { inside: number; total: number };
  host?: HostFacts;
  foreignWakeShare?: number;
  /** TPOT (or step period) in ms, one value per request or block, by phase. */
  tpot?: { free: PhaseMean; freeAgain: PhaseMean; profiled: PhaseMean[] };
  steps?: number;
  buildId?: { claimed: string; found: string };
  positiveControl?: { injectedMs: number; recoveredMs: number };
  kernelNames?: boolean;
  javaScript?: { samples: number; unresolved: number };
}

export interface HostFacts {
  /** Share of the window in which some task waited for a CPU. */
  psiSome: number;
  /** Cores used by neither the server nor the measuring side, and cores stolen by the hypervisor. */
  strangers: number;
  steal: number;
  cpus: number;
}

export interface PhaseMean {
  name: string;
  mean: number;
  se: number;
}

type Check = (facts: CaptureFacts) => [ok: boolean, detail: string] | undefined;
const percent = (share: number) => `${(100 * share).toFixed(2)} %`;

const CHECKS: Record<string, Check> = {
  'samples lost': ({ samples }) => {
    if (!samples) return undefined;
    const share = samples.lost / Math.max(1, samples.kept + samples.lost);
    return [
      share <= 0.005,
      `${samples.lost} of ${samples.kept + samples.lost} lost (${percent(share)}, limit 0.50 %)`,
    ];
  },
  'profile not empty': ({ samples, exactNs }) => {
    if (!samples || exactNs === undefined) return undefined;
    const ok = samples.kept > 0 || exactNs < 1e6;
    return [ok, `${samples.kept} samples while the threads ran ${(exactNs / 1e6).toFixed(1)} ms`];
  },
  'sampling rate': ({ samples }) => {
    if (!samples || samples.expected < 50) return undefined;
    const share = samples.kept / samples.expected;
    return [
      share >= 0.5,
      `${samples.kept} samples where CPU time says ${Math.round(samples.expected)}`,
    ];
  },
  'samples agree with exact time': ({ kappaMax }) =>
    kappaMax === undefined
      ? undefined
      : [
          kappaMax <= 1.1,
          `a thread was sampled for ${percent(kappaMax)} of the time that it ran (limit 110 %)`,
        ],
  'kernel included': ({ events }) => {
    if (!events) return undefined;
    const user = events.filter((event) => event.userOnly).map((event) => event.name);
    return [
      user.length === 0,
      user.length > 0 ? `user-only event ${user.join(', ')}` : events.map((e) => e.name).join(', '),
    ];
  },
  'kernel names': ({ kernelNames }) =>
    kernelNames === undefined
      ? undefined
      : [true, kernelNames ? 'resolved' : 'hidden by kptr_restrict: kernel frames are unresolved'],
  'names of code made at run time': ({ javaScript }) => {
    if (!javaScript || javaScript.samples === 0) return undefined;
    const share = javaScript.unresolved / javaScript.samples;
    const why =
      share > 0.2
        ? ' (start a Node server with --perf-basic-prof --interpreted-frames-native-stack)'
        : '';
    return [true, `${percent(1 - share)} of such stacks are named${why}`];
  },
  'scheduler trace is system-wide': ({ schedSystemWide }) =>
    schedSystemWide === undefined
      ? undefined
      : [
          schedSystemWide,
          schedSystemWide ? 'yes' : 'per-task traces drop switch-ins and foreign wake-ups',
        ],
  'scheduler events lost': ({ lostSchedEvents }) =>
    lostSchedEvents === undefined
      ? undefined
      : [lostSchedEvents === 0, `${lostSchedEvents} lost (limit 0)`],
  'roles mapped': ({ unmappedCpuShare }) =>
    unmappedCpuShare === undefined
      ? undefined
      : [unmappedCpuShare <= 0.01, `${percent(unmappedCpuShare)} of CPU has no role (limit 1 %)`],
  'states close': ({ closureErrorUs }) =>
    closureErrorUs === undefined
      ? undefined
      : [
          Math.abs(closureErrorUs) <= 1,
          `four states miss the interval by ${closureErrorUs.toFixed(3)} us (limit 1)`,
        ],
  'clocks agree': ({ bracket }) =>
    bracket === undefined
      ? undefined
      : [
          bracket.total > 0 && bracket.inside === bracket.total,
          `${bracket.inside} of ${bracket.total} events lie between the stamps around them`,
        ],
  'host pressure': ({ host }) => (host ? hostPressure(host) : undefined),
  'foreign share of waiting': ({ foreignWakeShare }) =>
    foreignWakeShare === undefined
      ? undefined
      : [
          foreignWakeShare <= 0.1,
          `${percent(foreignWakeShare)} of wake-up latency had a stranger running (limit 10 %)`,
        ],
  perturbation: ({ tpot }) => (tpot ? perturbation(tpot) : undefined),
  drift: ({ tpot }) => {
    if (!tpot) return undefined;
    const drift = Math.abs(tpot.freeAgain.mean / tpot.free.mean - 1);
    return [drift <= 0.05, `free phases differ by ${percent(drift)} (limit 5 %)`];
  },
  steps: ({ steps }) =>
    steps === undefined ? undefined : [steps >= 200, `${steps} steps (at least 200)`],
  'build id': ({ buildId }) =>
    buildId === undefined
      ? undefined
      : [buildId.claimed === buildId.found, `claimed ${buildId.claimed}, found ${buildId.found}`],
  'positive control': ({ positiveControl }) => {
    if (!positiveControl) return undefined;
    const { injectedMs, recoveredMs } = positiveControl;
    const off = Math.abs(recoveredMs / injectedMs - 1);
    return [off <= 0.2, `${recoveredMs.toFixed(3)} ms of ${injectedMs} ms recovered (within 20 %)`];
  },
};

/**
 * Pressure above 5 % fails where others cause it. A server and a client that fill the host by themselves also make
 * pressure, but that is the workload: it passes when strangers and the hypervisor took under 2 % of the CPUs.
 */
function hostPressure({ psiSome, strangers, steal, cpus }: HostFacts): [boolean, string] {
  const others = (Math.max(0, strangers) + steal) / Math.max(1, cpus);
  return [
    psiSome <= 0.05 || others <= 0.02,
    `tasks waited for a CPU ${percent(psiSome)} of the time (limit 5 %), others used ${percent(others)} of the CPUs (limit 2 %)`,
  ];
}

/** A profiled phase may differ from the free ones by 2 % or by 3 standard errors, whichever is more. */
function perturbation(tpot: NonNullable<CaptureFacts['tpot']>): [boolean, string] {
  const free = (tpot.free.mean + tpot.freeAgain.mean) / 2;
  const freeSe = Math.hypot(tpot.free.se, tpot.freeAgain.se) / 2;
  const parts = tpot.profiled.map((phase) => {
    const difference = phase.mean - free;
    const limit = Math.max(0.02 * free, 3 * Math.hypot(phase.se, freeSe));
    return {
      ok: Math.abs(difference) <= limit,
      text: `${phase.name} ${difference >= 0 ? '+' : ''}${difference.toFixed(3)} ms (limit ${limit.toFixed(3)})`,
    };
  });
  return [parts.every((part) => part.ok), parts.map((part) => part.text).join(', ')];
}

/** Every check in a fixed order, each passed, failed or not recorded. */
export function checkGates(facts: CaptureFacts): Gate[] {
  return Object.entries(CHECKS).map(([name, check]) => {
    const result = check(facts);
    if (!result) return { name, status: 'not-recorded', detail: 'not recorded' };
    return { name, status: result[0] ? 'passed' : 'failed', detail: result[1] };
  });
}

export const failedGates = (gates: readonly Gate[]): Gate[] =>
  gates.filter((gate) => gate.status === 'failed');
