// t intervals on log ratios: the stored cross-check of the exact interval, and the main interval where the launch is the
// unit of analysis (statistics sections 2.2 to 2.4). Assumes nothing but a finite variance when n is large.
import { mean, sampleStandardDeviation } from 'simple-statistics';
import { requireProbability, requireSample } from './domain.ts';
import type { Interval } from './hodges-lehmann.ts';
import { studentQuantile } from './special-functions.ts';

/** The mean with one-sided t bounds at level alpha each; infinite bounds for one value. RangeError for none. */
export function studentInterval(d: readonly number[], alpha: number): Interval {
  requireProbability(alpha, 'The level of a bound');
  requireSample(d, 1, 'A t interval');
  const estimate = mean([...d]);
  if (d.length < 2) return { estimate, lower: -Infinity, upper: Infinity };
  const half =
    (studentQuantile(1 - alpha, d.length - 1) * sampleStandardDeviation([...d])) /
    Math.sqrt(d.length);
  return { estimate, lower: estimate - half, upper: estimate + half };
}

/** One log ratio with the launch of the servers that it was measured in. */
export interface LaunchedValue {
  launch: number;
  d: number;
}

/** The mean of each launch, in order of first appearance. */
export function launchMeans(values: readonly LaunchedValue[]): { launch: number; mean: number }[] {
  const byLaunch = new Map<number, number[]>();
  for (const { launch, d } of values) byLaunch.set(launch, [...(byLaunch.get(launch) ?? []), d]);
  return [...byLaunch].map(([launch, ds]) => ({ launch, mean: mean(ds) }));
}

/** The t interval with launches as the unit: one mean a launch, so pairs that share a launch count once. */
export function launchInterval(values: readonly LaunchedValue[], alpha: number): Interval {
  return studentInterval(
    launchMeans(values).map((launch) => launch.mean),
    alpha,
  );
}

export interface VarianceComponents {
  /** Standard deviation of a pair within its launch, on the log scale. */
  pairSd: number;
  /** Standard deviation from launch to launch, what is left after the pairs' own noise; 0 when none is seen. */
  launchSd: number;
  launches: number;
}

/**
 * Splits the spread into pair and launch by one-way analysis of variance (unequal sizes allowed). Null when it cannot
 * be split: fewer than two launches, or no launch with two pairs.
 */
export function varianceComponents(values: readonly LaunchedValue[]): VarianceComponents | null {
  const groups = new Map<number, number[]>();
  for (const { launch, d } of values) groups.set(launch, [...(groups.get(launch) ?? []), d]);
  const [n, k] = [values.length, groups.size];
  if (k < 2 || n <= k) return null;
  const grand = mean(values.map(({ d }) => d));
  let [within, between, squares] = [0, 0, 0];
  for (const group of groups.values()) {
    const centre = mean(group);
    for (const d of group) within += (d - centre) ** 2;
    between += group.length * (centre - grand) ** 2;
    squares += group.length ** 2;
  }
  const pairVariance = within / (n - k);
  const size = (n - squares / n) / (k - 1);
  const launchVariance = Math.max(0, (between / (k - 1) - pairVariance) / size);
  return { pairSd: Math.sqrt(pairVariance), launchSd: Math.sqrt(launchVariance), launches: k };
}

/** Launches become the unit of analysis when their sd is over 0.2 of the pair sd (section 2.2). */
export function unitOfAnalysis(parts: VarianceComponents): 'pair' | 'launch' {
  return parts.launchSd > 0.2 * parts.pairSd ? 'launch' : 'pair';
}
