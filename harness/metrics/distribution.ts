// A sample described honestly: n beside every figure, and no percentile that the sample cannot carry. Pure.
import { quantileSorted } from 'simple-statistics';

/** A sample described. The unit is that of the field that holds it. A percentile is null where n does not support it. */
export interface Distribution {
  /** Sample size; printed beside every percentile. */
  n: number;
  mean: number;
  min: number;
  p50: number;
  /** Null below 64 samples. */
  p90: number | null;
  /** Null below 130 samples. */
  p95: number | null;
  /** Null below 662 samples. */
  p99: number | null;
  max: number;
}

/** The chance of being wrong that the order-statistic rule allows. */
const ERROR_RATE = 0.01;

/**
 * The smallest sample in which the second largest value is above the quantile `q` with 99 % confidence, so that the
 * quantile is bounded by what was seen and not by one outlier: 64 for p90, 130 for p95, 662 for p99.
 */
export function samplesFor(q: number): number {
  // At most one of n samples above the quantile: q^n + n (1 - q) q^(n-1), falling in n.
  let n = 2;
  while (q ** n + n * (1 - q) * q ** (n - 1) > ERROR_RATE) n += 1;
  return n;
}

const NEEDED = { p90: samplesFor(0.9), p95: samplesFor(0.95), p99: samplesFor(0.99) };

/** Describes the values, or null when there are none. The values are not changed. */
export function describe(values: readonly number[]): Distribution | null {
  const sorted = Float64Array.from(values).sort();
  const n = sorted.length;
  const min = sorted[0];
  const max = sorted[n - 1];
  if (min === undefined || max === undefined) return null;
  const list = Array.from(sorted);
  const quantile = (q: number, needed: number) => (n >= needed ? quantileSorted(list, q) : null);
  let sum = 0;
  for (const value of list) sum += value;
  return {
    n,
    mean: sum / n,
    min,
    p50: quantileSorted(list, 0.5),
    p90: quantile(0.9, NEEDED.p90),
    p95: quantile(0.95, NEEDED.p95),
    p99: quantile(0.99, NEEDED.p99),
    max,
  };
}
