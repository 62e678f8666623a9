// From the two measured legs of a pair to what the statistics take: one value an axis, and the void codes by outside signals.
// Pure.

import type { Distribution } from '../metrics/distribution.ts';
import { AXIS_IDS } from '../parity/axis.ts';
import type { VoidMark } from '../parity/pairs.ts';
import { type LegSignals, pairVoids } from '../parity/void-rules.ts';
import type { SweepCell } from '../record/record-parts.ts';
import { isClientInTheNumbers } from './judge-cell.ts';

type StoredMetrics = NonNullable<SweepCell['metrics']>;

const LATENCIES: Readonly<Record<string, (metrics: StoredMetrics) => Distribution | null>> = {
  ttft: (metrics) => metrics.ttftMs,
  tpot: (metrics) => metrics.tpotMs,
  itl: (metrics) => metrics.itlMs,
  itl_token: (metrics) => metrics.itlPerTokenMs,
  e2el: (metrics) => metrics.e2elMs,
};

/** The values of all axes that the leg has; a leg that did not begin has none. */
export function axisValues({ metrics, memory }: SweepCell): Record<string, number> {
  if (metrics === null) return {};
  const values: Record<string, number | null | undefined> = {
    output_throughput: metrics.outputTokensPerSecond,
    total_throughput: metrics.totalTokensPerSecond,
    request_throughput: metrics.requestsPerSecond,
    goodput: metrics.goodput?.requestsPerSecond,
    peak_memory: memory?.peakPssBytes,
  };
  for (const id of AXIS_IDS) {
    const [metric = '', statistic] = id.split('.');
    const distribution = LATENCIES[metric]?.(metrics);
    if (statistic === undefined || distribution === undefined) continue;
    values[id] = distribution?.[statistic as keyof Distribution];
  }
  return Object.fromEntries(
    Object.entries(values).flatMap(([id, value]) =>
      value === null || value === undefined ? [] : [[id, significant(value)]],
    ),
  );
}

/** Seven digits are more than any clock here resolves, and keep a record of many pairs small. */
function significant(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(7));
}

export interface PairLimits {
  concurrency: number;
  /** Share of the CPU that others may use, 0 to 0.25; undefined: not judged. */
  foreignCpuShare: number | undefined;
}

/** Void codes of a pair. */
export function voidsOfPair(
  legs: Readonly<Record<'ours' | 'reference', SweepCell>>,
  { concurrency, foreignCpuShare }: PairLimits,
): VoidMark[] {
  const signals = {
    ours: signalsOf(legs.ours, foreignCpuShare),
    reference: signalsOf(legs.reference, foreignCpuShare),
  };
  const limits = { concurrency, plannedSteadySeconds: 0, foreignCpuShare: foreignCpuShare ?? 0.25 };
  return pairVoids(signals, limits);
}

/**
 * A client that reads late because others hold the CPU is not busy itself: then the pair is contended and can be measured
 * again, or contention is not judged at all.
 */
function isLateByItself(cell: SweepCell, limit: number | undefined): boolean {
  const foreign = cell.cpu?.foreignCpuShare;
  const quiet =
    limit !== undefined && (foreign === null || foreign === undefined || foreign <= limit);
  return quiet && cell.metrics !== null && isClientInTheNumbers(cell.metrics);
}

function signalsOf(leg: SweepCell, limit: number | undefined): LegSignals {
  const { metrics, cpu, voids } = leg;
  if (metrics === null) {
    const harnessError = voids[0]?.message ?? 'The leg did not begin.';
    const nothing = {
      lengthMismatches: 0,
      peakInFlight: 0,
      shareAtConcurrency: 0,
      steadySeconds: 0,
    };
    return { ...nothing, failedRequests: 1, harnessError };
  }
  const { prompt_length = 0, output_length = 0, token_count = 0 } = metrics.failuresByCode;
  const lengthMismatches =
    prompt_length + output_length + token_count + (metrics.failuresByCode.wrong_finish_reason ?? 0);
  const cachedRequests = metrics.failuresByCode.cached_tokens ?? 0;
  const foreign = limit === undefined ? undefined : cpu?.foreignCpuShare;
  return {
    ...(foreign === null || foreign === undefined ? {} : { foreignCpuShare: foreign }),
    clientCpuShare: metrics.clientCpuShareOfCore,
    ...(isLateByItself(leg, limit) ? { eventLoopDelayP99Ms: metrics.eventLoopDelayP99Ms } : {}),
    itlP50Ms: metrics.itlMs?.p50 ?? 0,
    failedRequests: metrics.failed - lengthMismatches - cachedRequests,
    lengthMismatches,
    cacheHitShare: metrics.requests > 0 ? cachedRequests / metrics.requests : 0,
    peakInFlight: metrics.peakInFlight,
    shareAtConcurrency: metrics.shareAtConcurrency,
    steadySeconds: metrics.windowSeconds,
  };
}
