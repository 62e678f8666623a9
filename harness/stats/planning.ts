// Before the run: how many pairs a question needs, and after it: which loss this run could have seen (statistics sections
// 2.6 to 2.8). Everything on the log scale, where a loss of 2 % is about 0.02.
import { requireCount, requireProbability } from './domain.ts';
import { bisect, bracket, noncentralUpperTail, studentQuantile } from './special-functions.ts';

/** One-sided nominal level of each of k equally spaced Pocock looks that spend 2.5 % together. */
const POCOCK = [0.025, 0.0147, 0.011, 0.0091, 0.0079];

/**
 * The level of every look when `looks` are planned and 2.5 % may be spent in all. Beyond five looks the levels are split
 * evenly (Bonferroni), which is stricter than Pocock.
 */
export function alphaPerLook(looks: number): number {
  requireCount(looks, 1, 'The number of looks');
  return POCOCK[looks - 1] ?? 0.025 / looks;
}

/** The smallest n at which an exact signed-rank p value can be as small as alpha / m (section 2.7): 2^-n <= alpha / m. */
export function smallestPairs(alpha: number, m: number): number {
  requireProbability(alpha, 'The level');
  requireCount(m, 1, 'The number of cells');
  let n = 0;
  while (0.5 ** n > alpha / m) n += 1;
  return n;
}

/**
 * The smallest n whose two-sided t interval at `confidence` (default 95 %) has a half-width of at most `halfWidth`, both
 * on the log scale, for pairs of standard deviation `sd`.
 */
export function pairsForHalfWidth(sd: number, halfWidth: number, confidence = 0.95): number {
  requireSpread(sd);
  requireProbability(confidence, 'The confidence');
  if (!(halfWidth > 0)) {
    throw new RangeError(`A half-width of ${halfWidth} was asked for; give more than 0.`);
  }
  if (sd === 0) return 2;
  const enough = (n: number) => halfWidthOf(sd, n, (1 - confidence) / 2) <= halfWidth;
  let high = 2;
  while (!enough(high)) high *= 2;
  let low = Math.max(1, high / 2);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (enough(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** The half-width of a t interval with one-sided level alpha from n pairs of standard deviation sd. */
export function halfWidthOf(sd: number, n: number, alpha: number): number {
  requireSpread(sd);
  requireCount(n, 2, 'The number of pairs');
  return (studentQuantile(1 - alpha, n - 1) * sd) / Math.sqrt(n);
}

/**
 * The smallest loss (log scale, positive) that a one-sided t test at level alpha finds with probability `power` in n
 * pairs of standard deviation sd. Infinity for one pair, 0 when sd is 0.
 */
export function detectableLoss(sd: number, n: number, alpha: number, power = 0.8): number {
  requireSpread(sd);
  requireCount(n, 1, 'The number of pairs');
  requireProbability(alpha, 'The level');
  requireProbability(power, 'The power');
  if (n < 2) return Infinity;
  return sd === 0 ? 0 : (detectableShift(n, alpha, power) * sd) / Math.sqrt(n);
}

/** Results of detectableShift by its arguments: a campaign asks the same question for every cell. */
const KNOWN_SHIFTS = new Map<string, number>();

/** The noncentrality at which the one-sided t test of n values has this power. */
function detectableShift(n: number, alpha: number, power: number): number {
  const key = `${n}/${alpha}/${power}`;
  const known = KNOWN_SHIFTS.get(key);
  if (known !== undefined) return known;
  const critical = studentQuantile(1 - alpha, n - 1);
  const missing = (delta: number) => noncentralUpperTail(critical, n - 1, delta) - power;
  const [from, to] = bracket((delta) => missing(delta) >= 0);
  const shift = bisect(missing, from, to);
  KNOWN_SHIFTS.set(key, shift);
  return shift;
}

function requireSpread(sd: number): void {
  if (!(sd >= 0) || !Number.isFinite(sd)) {
    throw new RangeError(`A standard deviation of ${sd} was given; give a finite number from 0.`);
  }
}
