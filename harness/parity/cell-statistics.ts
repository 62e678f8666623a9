// The numbers of one cell: estimate, bounds and spread by the rule that fits the axis (statistics sections 2.2 to 2.8).
// It decides nothing; verdict.ts does. All bounds are of the direction-normalised ratio, 1 at parity.
import { hodgesLehmann } from '../stats/hodges-lehmann.ts';
import { logRatio } from '../stats/log-ratio.ts';
import { detectableLoss, halfWidthOf, pairsForHalfWidth } from '../stats/planning.ts';
import { geometricMeanRatio, medianRatio, plainSd, robustSd } from '../stats/spread.ts';
import {
  launchMeans,
  studentInterval,
  type VarianceComponents,
  varianceComponents,
} from '../stats/student-interval.ts';
import type { Axis } from './axis.ts';
import type { CellValue } from './pairs.ts';

/**
 * How the bounds are made. pairs: Hodges-Lehmann over pairs. launches: t over launch means. extremes: worst of ours
 * against best of the reference, for memory that hardly varies. exact: every value as it is, without a margin.
 */
export type Treatment = 'pairs' | 'launches' | 'extremes' | 'exact';

/** What the A/A calibration of this environment says about an axis at a concurrency. */
export interface Calibration {
  /** Standard deviations on the log scale of A/A pairs within a launch, and of launches. */
  pairSd: number;
  launchSd: number;
}

export interface CellStatistics {
  treatment: Treatment;
  /** Units of analysis (pairs or launches) that the bounds rest on. */
  n: number;
  /** Their log ratios with the unit that each came from. */
  units: readonly { unit: string; d: number }[];
  /** Natural logarithms: what decisions are made on. */
  log: { estimate: number; lower: number; upper: number };
  /** The t interval of the same units, stored as a cross-check. */
  student: { lower: number; upper: number };
  geometricMean: number;
  median: number;
  min: number;
  max: number;
  /** Sample and robust standard deviation of the units, log scale; null for one unit. */
  sd: number | null;
  robustSd: number | null;
  parts: VarianceComponents | null;
  /** Half-width of the t interval that this spread predicts at this n and level, log scale. */
  predictedHalfWidth: number | null;
  /** The loss, as a share, that this run would have found with 80 % probability. */
  detectableLoss: number | null;
}

/** An A/A spread of memory under 1 % allows the hard rule; one of nothing at all makes an axis exact. */
const HARD_RULE_SPREAD = 0.01;
const EXACT_SPREAD = 1e-12;

/** Which rule an axis gets: by its kind, by what calibration has seen of it, and by the unit that the plan asks for. */
export function treatmentOf(
  axis: Axis,
  unit: 'pair' | 'launch',
  calibration: Calibration | undefined,
): Treatment {
  const spread =
    calibration === undefined ? Infinity : Math.hypot(calibration.pairSd, calibration.launchSd);
  if (spread <= EXACT_SPREAD) return 'exact';
  if (axis.kind === 'memory') return spread < HARD_RULE_SPREAD ? 'extremes' : 'launches';
  return unit === 'launch' ? 'launches' : 'pairs';
}

/** The statistics of at least one value at one-sided level alpha. RangeError for none. */
export function cellStatistics(
  axis: Axis,
  values: readonly CellValue[],
  treatment: Treatment,
  alpha: number,
): CellStatistics {
  const units = unitsOf(axis, values, treatment);
  const d = units.map((unit) => unit.d);
  const student = studentInterval(d, alpha);
  const sd = plainSd(d);
  const loss = sd === null ? null : detectableLoss(sd, d.length, alpha);
  return {
    treatment,
    n: d.length,
    units,
    log: bounds(axis, values, d, treatment, alpha),
    student: { lower: student.lower, upper: student.upper },
    geometricMean: geometricMeanRatio(d),
    median: medianRatio(d),
    min: Math.exp(Math.min(...d)),
    max: Math.exp(Math.max(...d)),
    sd,
    robustSd: robustSd(d),
    parts: axis.kind === 'memory' ? null : varianceComponents(values),
    predictedHalfWidth: sd === null ? null : halfWidthOf(sd, d.length, alpha),
    detectableLoss: loss === null ? null : 1 - Math.exp(-loss),
  };
}

/** Units that would be needed for a half-width of the margin (both as ratios), by the spread seen. Null for one unit. */
export function unitsForMargin(
  statistics: CellStatistics,
  margin: number,
  alpha: number,
): number | null {
  const { sd } = statistics;
  if (sd === null || margin <= 0) return null;
  return pairsForHalfWidth(sd, -Math.log(1 - margin), 1 - 2 * alpha);
}

function bounds(
  axis: Axis,
  values: readonly CellValue[],
  d: readonly number[],
  treatment: Treatment,
  alpha: number,
) {
  if (treatment === 'pairs') return hodgesLehmann(d, alpha);
  if (treatment === 'launches') return studentInterval(d, alpha);
  const { estimate } = hodgesLehmann(d, alpha);
  if (treatment === 'exact') return { estimate, lower: Math.min(...d), upper: Math.max(...d) };
  const { worstOurs, bestOurs, worstReference, bestReference } = extremes(axis, values);
  return {
    estimate,
    lower: logRatio(axis.direction, worstOurs, bestReference) ?? -Infinity,
    upper: logRatio(axis.direction, bestOurs, worstReference) ?? Infinity,
  };
}

function extremes(axis: Axis, values: readonly CellValue[]) {
  const ours = values.map((value) => value.ours);
  const reference = values.map((value) => value.reference);
  const [best, worst] =
    axis.direction === 'lower' ? [Math.min, Math.max] : ([Math.max, Math.min] as const);
  return {
    worstOurs: worst(...ours),
    bestOurs: best(...ours),
    worstReference: worst(...reference),
    bestReference: best(...reference),
  };
}

function unitsOf(axis: Axis, values: readonly CellValue[], treatment: Treatment) {
  if (axis.kind === 'memory' && treatment !== 'exact') return memoryUnits(axis, values);
  if (treatment !== 'launches') return values.map(({ id, d }) => ({ unit: id, d }));
  return launchMeans(values).map(({ launch, mean }) => ({ unit: `launch-${launch}`, d: mean }));
}

/** A peak belongs to a launch: the largest of its pairs, one ratio a launch. */
function memoryUnits(axis: Axis, values: readonly CellValue[]) {
  const peaks = new Map<number, { ours: number; reference: number }>();
  for (const { launch, ours, reference } of values) {
    const peak = peaks.get(launch);
    peaks.set(launch, {
      ours: Math.max(ours, peak?.ours ?? 0),
      reference: Math.max(reference, peak?.reference ?? 0),
    });
  }
  return [...peaks].map(([launch, { ours, reference }]) => ({
    unit: `launch-${launch}`,
    d: logRatio(axis.direction, ours, reference) ?? 0,
  }));
}
