// Refuses a gate that cannot fail, or that must fail: before any pair is run, from the floors, the plan and the A/A
// calibration alone (statistics sections 2.7, 2.8 and 3.5). An empty list means that the gate may exist.
import { percentileEligibility } from '../stats/percentile.ts';
import { detectableLoss, smallestPairs } from '../stats/planning.ts';
import { findAxis } from './axis.ts';
import type { AaRun, CalibrationProblem } from './calibration.ts';
import type { EffectiveFloor, FloorsFile } from './floors.ts';

export type LintCode =
  | 'nothing_gated'
  | 'alpha_unreachable'
  | 'loss_undetectable'
  | 'margin_too_wide'
  | 'percentile_ineligible'
  | 'uncalibrated'
  | 'floor_above_parity'
  | 'floor_without_evidence'
  | 'floor_self_referential';

export interface LintProblem {
  code: LintCode;
  cell?: string;
  /** One sentence with the values and what to do. */
  message: string;
}

export interface LintInput {
  floors: FloorsFile;
  effective: readonly EffectiveFloor[];
  aa: AaRun | undefined;
  calibration: CalibrationProblem | null;
  /** Requests of one arm in one pair, by concurrency; a percentile axis needs them. */
  requestsPerPair: (concurrency: number) => number;
  /** Records that are being judged now: a floor that rests on one of them compares it with itself. */
  judging: readonly string[];
}

/** Floors up to here need no proof of a faster server. */
const PARITY = 1;
/** A margin of twice the loss that can be seen hides what the run could show. */
const WIDEST_MARGIN = 2;

/** Every reason why this gate would not mean what it says, in a fixed order. */
export function lintGate(input: LintInput): LintProblem[] {
  const gated = input.effective.filter(({ mode }) => mode === 'gated');
  if (gated.length === 0) {
    const message = 'No cell is gated, so the gate cannot fail; set mode "gated" on one.';
    return [{ code: 'nothing_gated', message }];
  }
  return [
    ...reach(input.floors, gated.length),
    ...(input.calibration === null ? [] : [uncalibrated(input.calibration)]),
    ...gated.flatMap((cell) => [
      ...sight(cell, gated.length, input),
      ...eligibility(cell, input),
      ...evidence(cell, input.judging),
    ]),
  ];
}

/** The pairs of the last look, at which alone a gate may turn red. */
function lastLook({ family }: FloorsFile): number {
  return family.looks.at(-1) ?? 0;
}

/** Holm must reach alpha / m with one exact p value; max-T reaches alpha itself. */
function reach(floors: FloorsFile, cells: number): LintProblem[] {
  const { alpha, method } = floors.family;
  const needed = smallestPairs(alpha, method === 'holm' ? cells : 1);
  const pairs = lastLook(floors);
  if (pairs >= needed) return [];
  const message =
    `${pairs} pairs can never prove a loss in ${cells} cells at ${alpha} with ${method}; ` +
    `plan at least ${needed}, or use maxT.`;
  return [{ code: 'alpha_unreachable', message }];
}

function uncalibrated(problem: CalibrationProblem): LintProblem {
  const message = `The A/A calibration does not hold (${problem}); run: bench sweep --aa`;
  return { code: 'uncalibrated', message };
}

/** What the calibrated spread lets this cell see, against its margin. */
function sight(cell: EffectiveFloor, cells: number, { floors, aa }: LintInput): LintProblem[] {
  const known = aa?.cells[cell.key];
  if (known === undefined) {
    const message = `Cell ${cell.key} has no A/A calibration; run: bench sweep --aa`;
    return aa === undefined ? [] : [{ code: 'uncalibrated', cell: cell.key, message }];
  }
  const spread = Math.max(known.robustSd, known.pairSd);
  const loss = 1 - Math.exp(-detectableLoss(spread, lastLook(floors), floors.family.alpha / cells));
  const percent = (share: number) => `${(100 * share).toPrecision(2)} %`;
  if (loss > cell.margin) {
    const message =
      `Cell ${cell.key} can see a loss of ${percent(loss)} at best, more than its margin of ` +
      `${percent(cell.margin)}; plan more pairs, slice finer, or make it informational.`;
    return [{ code: 'loss_undetectable', cell: cell.key, message }];
  }
  // An axis that never varies has no noise to excuse a margin, but a floor of it is exact anyway.
  const widest = Math.max(WIDEST_MARGIN * loss, 0.01);
  if (spread > 0 && cell.margin > widest && cell.waiver === undefined) {
    const message =
      `Cell ${cell.key} tolerates ${percent(cell.margin)} although a loss of ${percent(loss)} can be ` +
      `seen; lower the margin to at most ${percent(widest)} or add a waiver.`;
    return [{ code: 'margin_too_wide', cell: cell.key, message }];
  }
  return [];
}

function eligibility(cell: EffectiveFloor, { floors, requestsPerPair }: LintInput): LintProblem[] {
  const share = findAxis(cell.axis)?.share;
  if (share === undefined) return [];
  const perLeg = requestsPerPair(cell.c);
  // The first look is the earliest at which the cell may pass.
  const pooled = perLeg * (floors.family.looks[0] ?? 0);
  const { eligible, needed, counted } = percentileEligibility(share, { perLeg, pooled });
  if (eligible) return [];
  const have = counted === 'leg' ? perLeg : pooled;
  const message =
    `Cell ${cell.key} needs ${needed ?? 'more'} requests (${counted}) and gets ${have}; ` +
    'plan more requests, or make it informational.';
  return [{ code: 'percentile_ineligible', cell: cell.key, message }];
}

function evidence(cell: EffectiveFloor, judging: readonly string[]): LintProblem[] {
  const problems: LintProblem[] = [];
  const add = (code: LintCode, message: string) => problems.push({ code, cell: cell.key, message });
  if (cell.floor > cell.parity && cell.floor <= PARITY) {
    add(
      'floor_above_parity',
      `Cell ${cell.key} protects ${cell.floor}, above its claim of ${cell.parity}; raise the claim first.`,
    );
  }
  if (cell.floor > PARITY && cell.set_by.length < 2) {
    add(
      'floor_without_evidence',
      `Cell ${cell.key} protects ${cell.floor}, above 1, without two records that prove it; see set_by.`,
    );
  }
  const own = cell.set_by.find((record) => judging.includes(record));
  if (own !== undefined) {
    add(
      'floor_self_referential',
      `Cell ${cell.key} has its floor from ${own}, which is being judged; a record is not its own bar.`,
    );
  }
  return problems;
}
