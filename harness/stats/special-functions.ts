// Distribution functions that planning and intervals need, to about 12 digits: normal, Student t, noncentral t, binomial.
// simple-statistics has the log-gamma and the moments, but its normal and t functions are tables.
import { gammaln } from 'simple-statistics';
import { requireCount, requireProbability } from './domain.ts';

const EPSILON = 1e-16;
const TINY = 1e-300;
const MAX_TERMS = 500;

/** P(Z <= z), standard normal. */
export function normalCdf(z: number): number {
  const tail = 0.5 * regularisedGammaQ(0.5, (z * z) / 2);
  return z > 0 ? 1 - tail : tail;
}

/** P(T <= t), Student's t with v > 0 degrees of freedom. */
export function studentCdf(t: number, v: number): number {
  if (!(v > 0)) throw new RangeError(`${v} degrees of freedom were given; give more than 0.`);
  if (t === Infinity) return 1;
  const tail = 0.5 * regularisedBeta(v / (v + t * t), v / 2, 0.5);
  return t > 0 ? 1 - tail : tail;
}

/** The t with P(T <= t) = p. RangeError unless 0 < p < 1 and v > 0. */
export function studentQuantile(p: number, v: number): number {
  requireProbability(p, 'The probability of a quantile');
  if (p < 0.5) return -studentQuantile(1 - p, v);
  const [from, to] = bracket((t) => studentCdf(t, v) >= p);
  return bisect((t) => studentCdf(t, v) - p, from, to);
}

/**
 * P(T > t) for the noncentral t of v degrees of freedom and shift delta: the power of a one-sided t test. Simpson's rule
 * over the scale, error under 1e-7 for v from 1 to 10,000.
 */
export function noncentralUpperTail(t: number, v: number, delta: number): number {
  const logConstant = Math.log(2) + (v / 2) * Math.log(v / 2) - gammaln(v / 2);
  const density = (s: number) =>
    s <= 0 ? (v === 1 ? Math.exp(logConstant) : 0) : scaleDensity(s, v, logConstant);
  const spread = 12 / Math.sqrt(2 * v);
  const from = Math.max(0, 1 - spread);
  const steps = 500;
  const width = (1 + spread - from) / steps;
  let sum = 0;
  for (let step = 0; step <= steps; step += 1) {
    const s = from + step * width;
    const weight = step === 0 || step === steps ? 1 : step % 2 === 1 ? 4 : 2;
    sum += weight * density(s) * normalCdf(delta - t * s);
  }
  return (sum * width) / 3;
}

/** P(X <= k), X the successes in n trials of probability p (0 <= p <= 1). */
export function binomialCdf(k: number, n: number, p: number): number {
  requireCount(n, 0, 'The number of trials');
  if (!(p >= 0 && p <= 1)) throw new RangeError(`The probability is ${p}; give 0 to 1.`);
  if (k < 0) return 0;
  if (k >= n) return 1;
  return regularisedBeta(1 - p, n - Math.floor(k), Math.floor(k) + 1);
}

/** The root of an increasing function between two ends of different sign, to the last bits. */
export function bisect(f: (x: number) => number, from: number, to: number): number {
  let [low, high] = [from, to];
  for (let step = 0; step < 200; step += 1) {
    const middle = (low + high) / 2;
    if (middle <= low || middle >= high) break;
    if (f(middle) < 0) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Doubles from 1 until the predicate holds; [last that failed or 0, first that holds]. */
export function bracket(reached: (x: number) => boolean): [number, number] {
  let high = 1;
  while (!reached(high) && high < Number.MAX_VALUE / 4) high *= 2;
  return [high === 1 ? 0 : high / 2, high];
}

/** Density of sqrt(chi-squared / v) at s > 0. */
function scaleDensity(s: number, v: number, logConstant: number): number {
  return Math.exp(logConstant + (v - 1) * Math.log(s) - (v * s * s) / 2);
}

/** I_x(a, b), the regularised incomplete beta function, by Lentz's continued fraction. */
function regularisedBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - regularisedBeta(1 - x, b, a);
  const front = Math.exp(
    gammaln(a + b) - gammaln(a) - gammaln(b) + a * Math.log(x) + b * Math.log1p(-x),
  );
  let d = 1 / nonZero(1 - ((a + b) * x) / (a + 1));
  let c = 1;
  let fraction = d;
  for (let m = 1; m <= MAX_TERMS; m += 1) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / nonZero(1 + even * d);
    c = nonZero(1 + even / c);
    fraction *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / nonZero(1 + odd * d);
    c = nonZero(1 + odd / c);
    fraction *= d * c;
    if (Math.abs(d * c - 1) < EPSILON * 10) break;
  }
  return (front * fraction) / a;
}

/** Q(a, x), the regularised upper incomplete gamma function: series below a + 1, continued fraction above. */
function regularisedGammaQ(a: number, x: number): number {
  if (x <= 0) return 1;
  const front = Math.exp(-x + a * Math.log(x) - gammaln(a));
  if (x < a + 1) {
    let term = 1 / a;
    let sum = term;
    for (let n = 1; n <= MAX_TERMS && Math.abs(term) > Math.abs(sum) * EPSILON; n += 1) {
      term *= x / (a + n);
      sum += term;
    }
    return 1 - sum * front;
  }
  let b = x + 1 - a;
  let c = 1 / TINY;
  let d = 1 / b;
  let fraction = d;
  for (let n = 1; n <= MAX_TERMS; n += 1) {
    const factor = -n * (n - a);
    b += 2;
    d = 1 / nonZero(factor * d + b);
    c = nonZero(b + factor / c);
    fraction *= d * c;
    if (Math.abs(d * c - 1) < EPSILON * 10) break;
  }
  return front * fraction;
}

function nonZero(value: number): number {
  return Math.abs(value) < TINY ? TINY : value;
}
