// Block bootstrap of a mean: neighbouring steps and samples resemble each other, so whole blocks are drawn. Pure and
// reproducible: the draws come from a seed.
import { percentile } from '../stats/percentile.ts';
import { seededRandom } from '../stats/random.ts';
import type { Interval } from './intervals.ts';

/** Sorted means of `draws` resamples made of blocks of `block` neighbours (the series is taken as a ring). */
export function blockBootstrapMeans(
  values: readonly number[],
  block: number,
  seed = 1,
  draws = 1_000,
): Float64Array {
  const n = values.length;
  const length = Math.max(1, Math.min(block, n));
  const prefix = new Float64Array(2 * n + 1);
  for (let i = 0; i < 2 * n; i++) prefix[i + 1] = (prefix[i] ?? 0) + (values[i % n] ?? 0);
  const random = seededRandom(seed, 'block bootstrap');
  const means = new Float64Array(n === 0 ? 0 : draws);
  for (let draw = 0; draw < means.length; draw++) {
    let sum = 0;
    for (let taken = 0; taken < n; taken += length) {
      const size = Math.min(length, n - taken);
      const start = random.below(n);
      sum += (prefix[start + size] ?? 0) - (prefix[start] ?? 0);
    }
    means[draw] = sum / n;
  }
  return means.sort();
}

/** The central `confidence` of sorted draws; the whole line when there are none. */
export function percentileInterval(sorted: ArrayLike<number>, confidence = 0.95): Interval {
  if (sorted.length === 0) return { low: -Infinity, high: Infinity };
  const tail = (1 - confidence) / 2;
  const at = (p: number) =>
    sorted[Math.min(sorted.length - 1, Math.max(0, Math.round(p * (sorted.length - 1))))] ?? 0;
  return { low: at(tail), high: at(1 - tail) };
}

/** The q quantile (0 to 1) of values in any order; NaN when there are none. */
export function quantile(values: readonly number[], q: number): number {
  return values.length === 0 ? Number.NaN : percentile(values, q);
}
