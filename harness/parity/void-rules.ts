// From what was watched beside a pair to its void codes: the thresholds of statistics section 2.9 in one place. The metric
// that is compared is never looked at. Steal time and PSI are recorded but not used: measured, they do not discriminate.
import type { VoidMark } from './pairs.ts';
import type { Role } from './plan.ts';

/** What was seen during one leg of one arm. Absent: not measured on this machine, and then it voids nothing. */
export interface LegSignals {
  /** Busy CPU of the machine less that of both servers and the client, as a share of all CPUs, 0 to 1. */
  foreignCpuShare?: number;
  /** The wait for a quiet machine ended without one. */
  quietWaitExpired?: boolean;
  /** CPU time of the client as a share of one core. */
  clientCpuShare?: number;
  eventLoopDelayP99Ms?: number;
  itlP50Ms?: number;
  /** Rate that the client reached against a server of no work, divided by the rate of this leg. */
  clientHeadroom?: number;
  throttled?: boolean;
  /** GPU clocks while busy. */
  clocksMhz?: { least: number; median: number; most: number; busySamples: number };
  /** Share of the leg in which the GPU was busy. */
  busyShare?: number;
  failedRequests: number;
  /** Requests whose prompt or output length was not the one asked for. */
  lengthMismatches: number;
  /** Hit rate of the prefix cache, 0 to 1. */
  cacheHitShare?: number;
  peakInFlight: number;
  /** Share of the time with exactly the planned number in flight, 0 to 1. */
  shareAtConcurrency: number;
  steadySeconds: number;
  harnessError?: string;
}

export interface VoidLimits {
  concurrency: number;
  plannedSteadySeconds: number;
  /** 0.05 on a dedicated host; on a shared one from calibration, at most 0.25. */
  foreignCpuShare: number;
}

/** No profile may allow more foreign work than this. */
const MOST_FOREIGN_CPU_SHARE = 0.25;

/** The codes of a pair, each with arm and value. RangeError for a foreign limit outside of 0 to 0.25. */
export function pairVoids(
  legs: Readonly<Record<Role, LegSignals>>,
  limits: VoidLimits,
): VoidMark[] {
  if (!(limits.foreignCpuShare >= 0 && limits.foreignCpuShare <= MOST_FOREIGN_CPU_SHARE)) {
    throw new RangeError(
      `The limit of foreign CPU is ${limits.foreignCpuShare}; give 0 to ${MOST_FOREIGN_CPU_SHARE}.`,
    );
  }
  const marks: VoidMark[] = [];
  for (const arm of ['ours', 'reference'] as const) {
    marks.push(
      ...outside(legs[arm], limits, arm),
      ...client(legs[arm], arm),
      ...clocks(legs[arm], arm),
      ...work(legs[arm], limits, arm),
    );
  }
  return [...marks, ...between(legs.ours, legs.reference)];
}

function outside(leg: LegSignals, limits: VoidLimits, arm: Role): VoidMark[] {
  const marks: VoidMark[] = [];
  const { foreignCpuShare: share } = leg;
  if (share !== undefined && share > limits.foreignCpuShare) {
    const detail = `Other programs had ${percent(share)} of the CPUs; ${percent(limits.foreignCpuShare)} is the limit.`;
    marks.push({ code: 'contended', arm, detail });
  }
  if (leg.quietWaitExpired === true) marks.push({ code: 'not_quiet', arm });
  if (leg.throttled === true) marks.push({ code: 'throttled', arm });
  return marks;
}

function client(leg: LegSignals, arm: Role): VoidMark[] {
  const details: string[] = [];
  if ((leg.clientCpuShare ?? 0) > 0.7) {
    details.push(
      `The client used ${percent(leg.clientCpuShare ?? 0)} of a core; 70 % is the limit.`,
    );
  }
  const delayLimit = Math.max(2, 0.1 * (leg.itlP50Ms ?? 0));
  if ((leg.eventLoopDelayP99Ms ?? 0) > delayLimit) {
    details.push(
      `The event loop was ${leg.eventLoopDelayP99Ms} ms late (p99); ${delayLimit} ms is the limit.`,
    );
  }
  if ((leg.clientHeadroom ?? Infinity) < 5) {
    details.push(
      `The client can do only ${leg.clientHeadroom} times this rate; 5 times are needed.`,
    );
  }
  return details.map((detail) => ({ code: 'client_saturated', arm, detail }));
}

function clocks(leg: LegSignals, arm: Role): VoidMark[] {
  const { clocksMhz, busyShare } = leg;
  const details: string[] = [];
  if (clocksMhz !== undefined) {
    const { least, median, most, busySamples } = clocksMhz;
    if ((most - least) / median > 0.05) {
      details.push(`Clocks ran from ${least} to ${most} MHz; 5 % is the limit.`);
    }
    if (busySamples < 30) details.push(`${busySamples} busy samples of the clock; 30 are needed.`);
  }
  if (busyShare !== undefined && busyShare < 0.5) {
    details.push(`The GPU was busy for ${percent(busyShare)} of the leg; 50 % is needed.`);
  }
  return details.map((detail) => ({ code: 'clock_unstable', arm, detail }));
}

function work(leg: LegSignals, limits: VoidLimits, arm: Role): VoidMark[] {
  const marks: VoidMark[] = [];
  const add = (code: VoidMark['code'], detail: string) => marks.push({ code, arm, detail });
  if (leg.failedRequests > 0) add('requests_failed', `${leg.failedRequests} requests failed.`);
  if (leg.lengthMismatches > 0) {
    add('length_mismatch', `${leg.lengthMismatches} requests had another length than asked for.`);
  }
  if (leg.peakInFlight !== limits.concurrency || leg.shareAtConcurrency < 0.9) {
    add(
      'concurrency_not_reached',
      `Peak in flight was ${leg.peakInFlight} of ${limits.concurrency}, held for ${percent(leg.shareAtConcurrency)}.`,
    );
  }
  if (leg.steadySeconds < limits.plannedSteadySeconds) {
    add('leg_too_short', `Steady for ${leg.steadySeconds} s of ${limits.plannedSteadySeconds} s.`);
  }
  if (leg.harnessError !== undefined) add('harness_error', leg.harnessError);
  return marks;
}

/** What only the two legs together show. */
function between(ours: LegSignals, reference: LegSignals): VoidMark[] {
  const marks: VoidMark[] = [];
  const foreign = difference(ours.foreignCpuShare, reference.foreignCpuShare);
  if (foreign > 0.03) {
    const detail = `The share of other programs differed by ${percent(foreign)} between the legs.`;
    marks.push({ code: 'contended', detail });
  }
  const [a, b] = [ours.clocksMhz?.median, reference.clocksMhz?.median];
  if (a !== undefined && b !== undefined && Math.abs(a - b) / Math.min(a, b) > 0.01) {
    const detail = `Median clocks were ${a} and ${b} MHz, more than 1 % apart.`;
    marks.push({ code: 'clock_unstable', detail });
  }
  if (difference(ours.cacheHitShare, reference.cacheHitShare) > 0.005) {
    const detail = `Hit rates were ${ours.cacheHitShare} and ${reference.cacheHitShare}.`;
    marks.push({ code: 'cache_mismatch', detail });
  }
  return marks;
}

function difference(x: number | undefined, y: number | undefined): number {
  // A nanopoint of slack, so that 0.28 - 0.25 is three points and not a little more.
  return x === undefined || y === undefined ? 0 : Math.abs(x - y) - 1e-9;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
