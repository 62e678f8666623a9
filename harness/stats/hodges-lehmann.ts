// The estimate of a cell and its exact bounds: Hodges-Lehmann and the signed-rank interval (statistics sections 2.3, 2.4).
// Distribution-free for symmetric d, which random order gives. It never bootstraps: below 30 pairs that is too optimistic.
import { at, requireProbability, requireSample } from './domain.ts';
import { criticalCount } from './signed-rank.ts';

/** A point with one-sided bounds, each at the level asked for. On the scale of the input (here: log ratios). */
export interface Interval {
  estimate: number;
  /** -Infinity when no bound exists at this n and level. */
  lower: number;
  /** Infinity when no bound exists. */
  upper: number;
}

/** The n(n+1)/2 averages of all pairs of values, a value with itself included, ascending. */
export function walshAverages(d: readonly number[]): Float64Array {
  requireSample(d, 1, 'Walsh averages');
  const n = d.length;
  const averages = new Float64Array((n * (n + 1)) / 2);
  let next = 0;
  for (let i = 0; i < n; i += 1) {
    for (let j = i; j < n; j += 1) {
      averages[next] = (at(d, i) + at(d, j)) / 2;
      next += 1;
    }
  }
  return averages.sort();
}

/**
 * The Hodges-Lehmann estimate (median of the Walsh averages) with exact one-sided bounds: each is wrong with probability
 * at most alpha. Bounds are infinite below ceil(log2(1/alpha)) values. RangeError for an empty or non-finite sample.
 */
export function hodgesLehmann(d: readonly number[], alpha: number): Interval {
  requireProbability(alpha, 'The level of a bound');
  const averages = walshAverages(d);
  const size = averages.length;
  const estimate = (at(averages, (size - 1) >> 1) + at(averages, size >> 1)) / 2;
  const outside = criticalCount(d.length, alpha);
  if (outside === 0) return { estimate, lower: -Infinity, upper: Infinity };
  return { estimate, lower: at(averages, outside - 1), upper: at(averages, size - outside) };
}
