// The exact null distribution of Wilcoxon's signed-rank statistic, by convolution of probabilities (statistics sections
// 2.4 and 6). Probabilities, not counts: 2^200 sign patterns do not fit a double, their shares do. No normal limit anywhere.
import { at, requireCount, requireSample } from './domain.ts';

/** Beyond this the convolution is still exact but nothing here needs it; a guard against a mistaken unit. */
const MAX_PAIRS = 1000;

/** P(W <= w) for w = 0 .. n(n+1)/2, W the sum of the ranks with a positive sign, n pairs without ties. n from 1 to 1000. */
export function signedRankCdf(n: number): Float64Array {
  requireCount(n, 1, 'The number of pairs');
  if (n > MAX_PAIRS) throw new RangeError(`${n} pairs were given; at most ${MAX_PAIRS} are.`);
  return cumulate(convolve(Array.from({ length: n }, (_, index) => index + 1)));
}

/** The p values of both one-sided questions, exact, and the statistic. */
export interface SignedRankTest {
  /** Sum of the ranks (mid-ranks at ties) of the positive values. */
  statistic: number;
  /** P(W <= observed) when the signs are fair coins: small when the values lie below zero. */
  pLess: number;
  /** P(W >= observed): small when the values lie above zero. */
  pGreater: number;
}

/**
 * The exact signed-rank test of d against zero. Ties get mid-ranks and zeros keep their rank but no sign, so that the p
 * value is that of flipping the signs of these very values. RangeError for an empty or non-finite sample.
 */
export function signedRankTest(d: readonly number[]): SignedRankTest {
  requireSample(d, 1, 'The signed-rank test');
  const doubled = doubledMidRanks(d.map(Math.abs));
  const weights: number[] = [];
  let observed = 0;
  for (const [index, value] of d.entries()) {
    if (value === 0) continue;
    weights.push(at(doubled, index));
    if (value > 0) observed += at(doubled, index);
  }
  const cdf = cumulate(convolve(weights));
  return {
    statistic: observed / 2,
    pLess: Math.min(1, at(cdf, observed)),
    // By symmetry of the signs: P(W >= w) = P(W <= total - w).
    pGreater: Math.min(1, at(cdf, cdf.length - 1 - observed)),
  };
}

/**
 * How many of the ordered Walsh averages lie outside each one-sided bound at level alpha: the largest k with
 * P(W <= k - 1) <= alpha. 0 means that no bound exists at this n.
 */
export function criticalCount(n: number, alpha: number): number {
  let count = 0;
  for (const probability of signedRankCdf(n)) {
    if (probability > alpha) break;
    count += 1;
  }
  return count;
}

/** Distribution of the sum of the weights whose fair coin shows heads; index = the sum. */
function convolve(weights: readonly number[]): Float64Array {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const mass = new Float64Array(total + 1);
  mass[0] = 1;
  let reach = 0;
  for (const weight of weights) {
    reach += weight;
    for (let sum = reach; sum >= 0; sum -= 1) {
      mass[sum] = (at(mass, sum) + (sum >= weight ? at(mass, sum - weight) : 0)) / 2;
    }
  }
  return mass;
}

function cumulate(mass: Float64Array): Float64Array {
  let sum = 0;
  return mass.map((share) => {
    sum += share;
    return sum;
  });
}

/** Twice the mid-ranks, whole numbers: the ranks of a tie share their mean. */
function doubledMidRanks(values: readonly number[]): number[] {
  const order = values.map((value, index) => ({ value, index }));
  order.sort((x, y) => x.value - y.value);
  const ranks = new Array<number>(values.length).fill(0);
  for (let start = 0; start < order.length; ) {
    let end = start;
    while (end < order.length && order[end]?.value === order[start]?.value) end += 1;
    for (const { index } of order.slice(start, end)) ranks[index] = start + 1 + end;
    start = end;
  }
  return ranks;
}
