// The slope of TPOT under injected delay: near 1 the seam is on the path of TPOT, near 0 it is hidden behind the engine.
// It is also the positive control of the whole tool. Pure: runs are made elsewhere.
import { type Interval, studentWidth } from './intervals.ts';

export interface InjectionRun {
  /** Delay added at the seam, ms per step. */
  delayMs: number;
  /** Measured TPOT, ms. */
  tpotMs: number;
}

export interface Slope {
  slope: number;
  se: number;
  interval: Interval;
  runs: number;
  verdict: 'on the path' | 'hidden' | 'partial' | 'not settled';
}

/** Least-squares slope of TPOT on delay with its t interval; needs three runs at two delays or more. */
export function injectionSlope(
  runs: readonly InjectionRun[],
  confidence = 0.95,
): Slope | undefined {
  const n = runs.length;
  if (n < 3 || new Set(runs.map((run) => run.delayMs)).size < 2) return undefined;
  const meanX = runs.reduce((sum, run) => sum + run.delayMs, 0) / n;
  const meanY = runs.reduce((sum, run) => sum + run.tpotMs, 0) / n;
  const sxx = runs.reduce((sum, run) => sum + (run.delayMs - meanX) ** 2, 0);
  const sxy = runs.reduce((sum, run) => sum + (run.delayMs - meanX) * (run.tpotMs - meanY), 0);
  const slope = sxy / sxx;
  const rest = runs.reduce(
    (sum, run) => sum + (run.tpotMs - meanY - slope * (run.delayMs - meanX)) ** 2,
    0,
  );
  const se = Math.sqrt(rest / (n - 2) / sxx);
  const width = se === 0 ? 0 : studentWidth(n - 2, confidence) * se;
  const interval = { low: slope - width, high: slope + width };
  return { slope, se, interval, runs: n, verdict: place(interval) };
}

function place(interval: Interval): Slope['verdict'] {
  if (interval.low > 0.5 && interval.high > 0.8) return 'on the path';
  if (interval.high < 0.2) return 'hidden';
  if (interval.low > 0 && interval.high < 1) return 'partial';
  return 'not settled';
}
