// Location and spread of log ratios: what is stored beside the estimate (statistics sections 2.3 and 2.10).
import { mean, median, medianAbsoluteDeviation, sampleStandardDeviation } from 'simple-statistics';
import { requireSample } from './domain.ts';

/** Makes the median absolute deviation an estimate of the sd of a normal sample: 1 / Phi^-1(3/4). */
const MAD_TO_SD = 1.482602218505602;

/** exp of the mean of the log ratios. RangeError for an empty or non-finite sample. */
export function geometricMeanRatio(d: readonly number[]): number {
  requireSample(d, 1, 'A geometric mean');
  return Math.exp(mean([...d]));
}

/** The median of the paired ratios (not the ratio of the medians). */
export function medianRatio(d: readonly number[]): number {
  requireSample(d, 1, 'A median');
  return Math.exp(median([...d]));
}

/** The plain sample sd; null for one value. Moved by rare spikes: 20 values fix it only within a factor of 0.45 to 2.4. */
export function plainSd(d: readonly number[]): number | null {
  requireSample(d, 1, 'A standard deviation');
  return d.length < 2 ? null : sampleStandardDeviation([...d]);
}

/** The sd from the median absolute deviation: used for planning, since spikes do not move it. Null for one value. */
export function robustSd(d: readonly number[]): number | null {
  requireSample(d, 1, 'A standard deviation');
  return d.length < 2 ? null : medianAbsoluteDeviation([...d]) * MAD_TO_SD;
}
