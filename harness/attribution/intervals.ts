// Intervals for counts, shares and means, and ranks that say only what the intervals allow. Pure mathematics:
// Wilson for shares, exact Poisson for counts, Student t for means. It knows nothing of samples or threads.

/** Two-sided bounds, low <= high. */
export interface Interval {
  low: number;
  high: number;
}

const LANCZOS = [
  0.999_999_999_999_809_9, 676.520_368_121_885_1, -1_259.139_216_722_402_8, 771.323_428_777_653_1,
  -176.615_029_162_140_6, 12.507_343_278_686_905, -0.138_571_095_265_720_12,
  9.984_369_578_019_572e-6, 1.505_632_735_149_311_6e-7,
];

function logGamma(x: number): number {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  const shifted = x - 1;
  let sum = LANCZOS[0] ?? 0;
  for (let i = 1; i < LANCZOS.length; i++) sum += (LANCZOS[i] ?? 0) / (shifted + i);
  const t = shifted + 7.5;
  return 0.5 * Math.log(2 * Math.PI) + (shifted + 0.5) * Math.log(t) - t + Math.log(sum);
}

/** Regularised lower incomplete gamma P(a, x): the chance that a Gamma(a) variable is below x. */
export function gammaP(a: number, x: number): number {
  if (x <= 0) return 0;
  const front = Math.exp(a * Math.log(x) - x - logGamma(a));
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

/** The x in [low, high] where the rising function f reaches target. */
function bisect(f: (x: number) => number, target: number, low: number, high: number): number {
  let a = low;
  let b = high;
  for (let i = 0; i < 200 && b - a > 1e-12 * Math.max(1, Math.abs(b)); i++) {
    const middle = (a + b) / 2;
    if (f(middle) < target) a = middle;
    else b = middle;
  }
  return (a + b) / 2;
}

/** Exact (Garwood) interval of a Poisson mean from a count k >= 0. */
export function poissonInterval(k: number, confidence = 0.95): Interval {
  const tail = (1 - confidence) / 2;
  const roof = k + 40 * Math.sqrt(k + 1) + 40;
  const quantile = (shape: number, p: number) => bisect((x) => gammaP(shape, x), p, 0, roof);
  return { low: k === 0 ? 0 : quantile(k, tail), high: quantile(k + 1, 1 - tail) };
}

/** The standard normal distribution function. */
export function normalCdf(z: number): number {
  const p = gammaP(0.5, (z * z) / 2) / 2;
  return z < 0 ? 0.5 - p : 0.5 + p;
}

/** The z that holds `confidence` of a standard normal between -z and z. */
export function normalQuantile(confidence: number): number {
  return bisect((z) => 2 * normalCdf(z) - 1, confidence, 0, 40);
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

/** Half of P(|T| < t) for Student's t by numeric integration of its density; df > 0 may be a fraction. */
function studentHalf(t: number, df: number): number {
  const scale = Math.exp(logGamma((df + 1) / 2) - logGamma(df / 2)) / Math.sqrt(df * Math.PI);
  // With t = sqrt(df) tan(a) the density becomes a smooth power of a cosine on a finite range.
  const end = Math.atan(t / Math.sqrt(df));
  const n = 2_000;
  const f = (a: number) => Math.cos(a) ** (df - 1);
  let sum = f(0) + f(end);
  for (let i = 1; i < n; i++) sum += (i % 2 === 1 ? 4 : 2) * f((end * i) / n);
  return scale * Math.sqrt(df) * ((sum * end) / (3 * n));
}

/** The t that holds `confidence` of Student's t with df degrees of freedom between -t and t. */
export function studentQuantile(df: number, confidence = 0.95): number {
  if (df > 2_000) return normalQuantile(confidence);
  return bisect((t) => 2 * studentHalf(t, df), confidence, 0, 1e6);
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
  const spread = se === 0 ? 0 : studentQuantile(n - 1, confidence) * se;
  return { mean, se, interval: { low: mean - spread, high: mean + spread } };
}

/** The ranks (1 = largest) that each item could have: a single rank only where intervals do not overlap. */
export function possibleRanks(items: readonly Interval[]): { best: number; worst: number }[] {
  return items.map((item) => ({
    best: 1 + items.filter((other) => other.low > item.high).length,
    worst: items.length - items.filter((other) => other.high < item.low).length,
  }));
}
