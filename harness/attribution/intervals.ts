// Intervals for counts, shares and means, and ranks that say only what the intervals allow. Pure mathematics:
// Wilson for shares, exact Poisson for counts, Student t for means. It knows nothing of samples or threads.
import { gammaln } from 'simple-statistics';
import { bisect, normalCdf, studentQuantile } from '../stats/special-functions.ts';

/** Two-sided bounds, low <= high. */
export interface Interval {
  low: number;
  high: number;
}

/** Regularised lower incomplete gamma P(a, x): the chance that a Gamma(a) variable is below x. */
function gammaP(a: number, x: number): number {
  if (x <= 0) return 0;
  const front = Math.exp(a * Math.log(x) - x - gammaln(a));
  if (x < a + 1) {
    let term = 1 / a;
    let sum = term;
    for (let n = 1; n < 100_000 && term > sum * 1e-15; n++) {
      term *= x / (a + n);
      sum += term;
    }
    return sum * front;
  }
  // Continued fraction by Lentz, which converges where the series does not.
  let b = x + 1 - a;
  let c = 1e300;
  let d = 1 / b;
  let h = d;
  for (let i = 1; i < 100_000; i++) {
    const an = -i * (i - a);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    const delta = d * c;
    h *= delta;
    if (Math.abs(delta - 1) < 1e-15) break;
  }
  return 1 - front * h;
}

/** Exact (Garwood) interval of a Poisson mean from a count k >= 0. */
export function poissonInterval(k: number, confidence = 0.95): Interval {
  const tail = (1 - confidence) / 2;
  const roof = k + 40 * Math.sqrt(k + 1) + 40;
  const quantile = (shape: number, p: number) => bisect((x) => gammaP(shape, x) - p, 0, roof);
  return { low: k === 0 ? 0 : quantile(k, tail), high: quantile(k + 1, 1 - tail) };
}

/** The z that holds `confidence` of a standard normal between -z and z. */
export function normalQuantile(confidence: number): number {
  return bisect((z) => 2 * normalCdf(z) - 1 - confidence, 0, 40);
}

/** Wilson interval of a share k of n; [0, 1] when n is 0, because nothing is known. */
export function wilsonInterval(k: number, n: number, confidence = 0.95): Interval {
  if (n <= 0) return { low: 0, high: 1 };
  const z = normalQuantile(confidence);
  const p = k / n;
  const centre = p + (z * z) / (2 * n);
  const spread = z * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n));
  const scale = 1 + (z * z) / n;
  return {
    low: k === 0 ? 0 : Math.max(0, (centre - spread) / scale),
    high: k === n ? 1 : Math.min(1, (centre + spread) / scale),
  };
}

/** The t that holds `confidence` of Student's t with df degrees of freedom between -t and t. */
export function studentWidth(df: number, confidence = 0.95): number {
  return df > 1e6 ? normalQuantile(confidence) : studentQuantile((1 + confidence) / 2, df);
}

/** Mean, standard error and t interval of independent values; an infinite interval for fewer than two. */
export function meanInterval(
  values: readonly number[],
  confidence = 0.95,
): { mean: number; se: number; interval: Interval } {
  const n = values.length;
  const mean = n === 0 ? Number.NaN : values.reduce((a, b) => a + b, 0) / n;
  if (n < 2) return { mean, se: Infinity, interval: { low: -Infinity, high: Infinity } };
  const variance = values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / (n - 1);
  const se = Math.sqrt(variance / n);
  const spread = se === 0 ? 0 : studentWidth(n - 1, confidence) * se;
  return { mean, se, interval: { low: mean - spread, high: mean + spread } };
}

/** The ranks (1 = largest) that each item could have: a single rank only where intervals do not overlap. */
export function possibleRanks(items: readonly Interval[]): { best: number; worst: number }[] {
  return items.map((item) => ({
    best: 1 + items.filter((other) => other.low > item.high).length,
    worst: items.length - items.filter((other) => other.high < item.low).length,
  }));
}
