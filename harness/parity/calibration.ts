// What an A/A run says about an environment: the spread of each axis, split into pair and launch, and whether it may still
// be relied on (statistics section 2.10). Times are arguments; nothing here reads a clock.
import { auditNoise, type NoiseAudit } from '../stats/noise-audit.ts';
import { halfWidthOf } from '../stats/planning.ts';
import { plainSd, robustSd } from '../stats/spread.ts';
import { unitOfAnalysis, varianceComponents } from '../stats/student-interval.ts';
import { type Axis, cellKey } from './axis.ts';
import { type Calibration, cellStatistics } from './cell-statistics.ts';
import { cellPairs, type MeasuredPair } from './pairs.ts';

export interface CellCalibration extends Calibration {
  /** Both spreads of the whole A/A pairs: the robust one plans, the plain one shows the spikes. Log scale. */
  plainSd: number;
  robustSd: number;
  pairs: number;
  unit: 'pair' | 'launch';
  /** A/A bounds exclude parity at 2.5 % on this side; counted by the audit. */
  flagged: 'below' | 'above' | null;
}

/** An A/A record as far as a gate needs it. */
export interface AaRun {
  env: string;
  scenario: string;
  /** Milliseconds since the epoch. */
  measuredAtMs: number;
  pairs: number;
  launches: number;
  /** Different boots that it is pooled over; 1 on a dedicated host. */
  boots: number;
  /** A machine that is made anew for each run, such as a hosted CI runner. */
  ephemeral: boolean;
  harnessDigest: string;
  cells: Readonly<Record<string, CellCalibration>>;
}

export type CalibrationProblem =
  | 'missing'
  | 'other_environment'
  | 'too_few_pairs'
  | 'too_few_launches'
  | 'too_few_boots'
  | 'other_harness'
  | 'expired';

const FEWEST_PAIRS = 20;
const FEWEST_LAUNCHES = 4;
const FEWEST_BOOTS = 5;
const LIFETIME_MS = 30 * 24 * 3600 * 1000;

/** Calibrates the cells of an A/A run. A cell that is void, or has fewer than two pairs, is left out. */
export function calibrateCells(
  axes: readonly Axis[],
  concurrencies: readonly number[],
  pairs: readonly MeasuredPair[],
): Record<string, CellCalibration> {
  const result: Record<string, CellCalibration> = {};
  for (const concurrency of concurrencies) {
    for (const axis of axes) {
      const { values, reasons } = cellPairs(axis, concurrency, pairs);
      if (reasons.length > 0 || values.length < 2) continue;
      const d = values.map((value) => value.d);
      const plain = plainSd(d) ?? 0;
      const parts = varianceComponents(values) ?? { pairSd: plain, launchSd: 0, launches: 1 };
      const treatment = axis.kind === 'memory' ? 'launches' : 'pairs';
      const { log } = cellStatistics(axis, values, treatment, 0.025);
      result[cellKey(axis.id, concurrency)] = {
        pairSd: parts.pairSd,
        launchSd: parts.launchSd,
        plainSd: plain,
        robustSd: robustSd(d) ?? 0,
        pairs: values.length,
        unit: unitOfAnalysis(parts),
        flagged: log.upper < 0 ? 'below' : log.lower > 0 ? 'above' : null,
      };
    }
  }
  return result;
}

/** Why an A/A run cannot support a gate now; null when it can. */
export function calibrationProblem(
  run: AaRun | undefined,
  wanted: { env: string; scenario: string; harnessDigest: string },
  nowMs: number,
): CalibrationProblem | null {
  if (run === undefined) return 'missing';
  if (run.env !== wanted.env || run.scenario !== wanted.scenario) return 'other_environment';
  if (run.pairs < FEWEST_PAIRS) return 'too_few_pairs';
  if (run.launches < FEWEST_LAUNCHES) return 'too_few_launches';
  if (run.harnessDigest !== wanted.harnessDigest) return 'other_harness';
  if (run.ephemeral) return run.boots < FEWEST_BOOTS ? 'too_few_boots' : null;
  return nowMs - run.measuredAtMs > LIFETIME_MS ? 'expired' : null;
}

/** The running count of flagged A/A cells over all runs given; what STATUS.md publishes. */
export function auditRuns(runs: readonly AaRun[]): NoiseAudit {
  const cells = runs.flatMap((run) => Object.values(run.cells));
  const count = (side: 'below' | 'above') => cells.filter(({ flagged }) => flagged === side).length;
  return auditNoise({
    cells: cells.length,
    flaggedBelow: count('below'),
    flaggedAbove: count('above'),
  });
}

/**
 * The margin to pre-register for a noisy environment: 1.5 times the predicted half-width, but at least `least`, rounded up
 * to half a percent (section 2.5).
 */
export function marginFromCalibration(
  cell: CellCalibration,
  pairs: number,
  alpha: number,
  least: number,
): number {
  const half = halfWidthOf(Math.max(cell.robustSd, cell.pairSd), pairs, alpha);
  // Beyond what a share allows nothing can be gated; the caller sees a margin of almost one.
  const wanted = Math.max(least, 1 - Math.exp(-1.5 * half));
  return Math.min(0.995, Math.ceil(wanted * 200 - 1e-9) / 200);
}
