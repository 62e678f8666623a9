// Two-mode samples: a TTFT that depends on the phase of arrival takes one of two values, and its median is then a coin
// (statistics section 2.8). Detects the split and describes the sides, so that modes and their shares are compared instead.
import { median, medianAbsoluteDeviation } from 'simple-statistics';
import { at, requireSample } from './domain.ts';

export interface Modes {
  /** Middle of the gap: values at or below it are of the fast mode, in the unit of the values. */
  split: number;
  /** Median of each side. */
  low: number;
  high: number;
  /** Share of the values in the upper mode, 0 to 1. */
  highShare: number;
  n: number;
}

/** Fewer values cannot show two modes: each side would be a value or two. */
const FEWEST = 20;
/** The gap must be this many times the spread of its neighbours. */
const GAP_TO_SPREAD = 5;
const LEAST_SHARE = 0.1;
const LEAST_COUNT = 5;

/**
 * The two modes of a sample, or null when it has one: the largest gap between neighbours with at least 10 % of the values
 * (and 5) on each side must exceed 5 times the median absolute deviation of the wider side. Pool the requests of ONE arm: two
 * arms of different speed would look like two modes. Null below 20 values.
 */
export function findModes(values: readonly number[]): Modes | null {
  if (values.length < FEWEST) return null;
  requireSample(values, FEWEST, 'The search for modes');
  const sorted = Float64Array.from(values).sort();
  const n = sorted.length;
  const least = Math.max(LEAST_COUNT, Math.ceil(LEAST_SHARE * n));
  let cut = least;
  for (let index = least; index <= n - least; index += 1) {
    if (gapBefore(sorted, index) > gapBefore(sorted, cut)) cut = index;
  }
  const gap = gapBefore(sorted, cut);
  const [below, above] = [[...sorted.subarray(0, cut)], [...sorted.subarray(cut)]];
  const [low, high] = [median(below), median(above)];
  const spread = Math.max(medianAbsoluteDeviation(below), medianAbsoluteDeviation(above));
  if (gap <= GAP_TO_SPREAD * spread) return null;
  const split = (at(sorted, cut - 1) + at(sorted, cut)) / 2;
  return { split, low, high, highShare: above.length / n, n };
}

/** One arm's requests on both sides of a split: counts and medians; a median is null where the side is empty. */
export interface ModeCounts {
  low: number | null;
  high: number | null;
  lowCount: number;
  highCount: number;
}

/** Describes a leg by a split that was found on the pooled requests of its arm. */
export function countModes(values: readonly number[], split: number): ModeCounts {
  const below = values.filter((value) => value <= split);
  const above = values.filter((value) => value > split);
  return {
    low: below.length > 0 ? median(below) : null,
    high: above.length > 0 ? median(above) : null,
    lowCount: below.length,
    highCount: above.length,
  };
}

function gapBefore(sorted: Float64Array, index: number): number {
  return at(sorted, index) - at(sorted, index - 1);
}
