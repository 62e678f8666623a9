// Percentiles of requests: the value, whether there are enough requests to gate on it, and a distribution-free upper bound
// (statistics section 2.8). Percentiles need requests, not repetitions. The unit is that of the values.
import { quantileSorted } from 'simple-statistics';
import { at, requireProbability, requireSample } from './domain.ts';
import { binomialCdf } from './special-functions.ts';

/** Requests that a gated percentile needs: p50 and p90 and p95 in a leg, p99 pooled over the legs. */
const REQUESTS_NEEDED: readonly { upTo: number; requests: number; counted: 'leg' | 'pooled' }[] = [
  { upTo: 0.5, requests: 24, counted: 'leg' },
  { upTo: 0.9, requests: 192, counted: 'leg' },
  { upTo: 0.95, requests: 400, counted: 'leg' },
  { upTo: 0.99, requests: 2000, counted: 'pooled' },
];

/** The share-quantile (0 to 1) with linear interpolation between order statistics (type 7, as numpy's default). */
export function percentile(values: readonly number[], share: number): number {
  requireSample(values, 1, 'A percentile');
  return quantileSorted(Float64Array.from(values).sort() as unknown as number[], share);
}

export interface Eligibility {
  eligible: boolean;
  /** Requests needed; null for a percentile above 99, which is never gated. */
  needed: number | null;
  counted: 'leg' | 'pooled';
}

/** Whether a percentile may be a gated axis; where not, it is informational (section 2.8). */
export function percentileEligibility(
  share: number,
  requests: { perLeg: number; pooled: number },
): Eligibility {
  requireProbability(share, 'The share of a percentile');
  const rule = REQUESTS_NEEDED.find(({ upTo }) => share <= upTo);
  if (rule === undefined) return { eligible: false, needed: null, counted: 'pooled' };
  const have = rule.counted === 'leg' ? requests.perLeg : requests.pooled;
  return { eligible: have >= rule.requests, needed: rule.requests, counted: rule.counted };
}

/** The fewest values from which an upper bound of the share-quantile exists at `confidence`: share^n <= 1 - confidence. */
export function fewestForUpperBound(share: number, confidence = 0.95): number {
  requireProbability(share, 'The share of a percentile');
  requireProbability(confidence, 'The confidence');
  let n = 1;
  while (share ** n > 1 - confidence) n += 1;
  return n;
}

/**
 * The smallest order statistic that lies at or above the true share-quantile with at least this confidence, whatever the
 * distribution of independent values. Null when the sample is too small for one to exist.
 */
export function percentileUpperBound(
  values: readonly number[],
  share: number,
  confidence = 0.95,
): number | null {
  requireSample(values, 1, 'A percentile bound');
  requireProbability(share, 'The share of a percentile');
  requireProbability(confidence, 'The confidence');
  const sorted = Float64Array.from(values).sort();
  const n = sorted.length;
  // P(X_(r) >= quantile) = P(fewer than r values lie below it) = P(Bin(n, share) <= r - 1).
  let [low, high] = [0, n + 1];
  while (high - low > 1) {
    const rank = Math.floor((low + high) / 2);
    if (binomialCdf(Math.min(rank - 1, n - 1), n, share) >= confidence) high = rank;
    else low = rank;
  }
  return high > n ? null : at(sorted, high - 1);
}
