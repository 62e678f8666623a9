// The decision of one cell: PASS, BELOW-FLOOR, PENDING or VOID, with flags (statistics section 2.5). PASS says "not worse
// than the floor by more than the margin", never "equal". The family decides whether a BELOW-FLOOR turns a gate red.
import { percentileEligibility } from '../stats/percentile.ts';
import { type Axis, cellKey } from './axis.ts';
import {
  type Calibration,
  type CellStatistics,
  cellStatistics,
  treatmentOf,
  unitsForMargin,
} from './cell-statistics.ts';
import { compareModes, type ModeComparison } from './mode-comparison.ts';
import { type CellPairs, cellPairs, type MeasuredPair, type VoidMark } from './pairs.ts';

export type Verdict = 'PASS' | 'BELOW-FLOOR' | 'PENDING' | 'VOID';

/** Why a cell is PENDING. */
export type PendingCode =
  | 'inconclusive'
  | 'below_at_early_look'
  | 'too_few_pairs'
  | 'too_few_launches'
  | 'percentile_ineligible'
  | 'mode_share'
  | 'not_proven_in_family';

export interface CellQuestion {
  axis: Axis;
  concurrency: number;
  /** The ratio that is protected, above 0; 1 for parity. */
  floor: number;
  /** Loss that is accepted below the floor, as a share, 0 to under 1; fixed before the run. 0 is the strict reading. */
  margin: number;
  look: { alpha: number; last: boolean };
  unit: 'pair' | 'launch';
  calibration?: Calibration;
}

export interface CellVerdict {
  key: string;
  axis: string;
  concurrency: number;
  verdict: Verdict;
  floor: number;
  margin: number;
  /** floor x (1 - margin): what the bounds are held against. */
  bound: number;
  alpha: number;
  measured: number;
  voided: number;
  /** VOID: which codes and arms. */
  voids: readonly VoidMark[];
  pending?: PendingCode;
  /** Absent when VOID: no number is quoted then. */
  statistics?: CellStatistics;
  /** The ratio with its one-sided bounds. */
  ratio?: { estimate: number; lower: number; upper: number };
  position?: 'above' | 'at' | 'below';
  equivalent?: boolean;
  superior?: boolean;
  /** The reading without a margin and without a floor: is the ratio above 1 for certain? */
  strict?: 'above' | 'below' | 'unresolved';
  /** The t interval would have given another verdict: the noise is not what the exact method assumes. */
  methodsDisagree?: boolean;
  /** PENDING: units still missing for a half-width of the margin; 0 when the spread is no longer what holds it up. */
  missingUnits?: number;
  modes?: ModeComparison;
}

const FEWEST_LAUNCHES = 4;

/** Judges a cell from all measured pairs of a campaign. RangeError for a floor or a margin that is no such thing. */
export function judgeCell(question: CellQuestion, pairs: readonly MeasuredPair[]): CellVerdict {
  const { axis, concurrency, floor, margin, look } = question;
  if (!(floor > 0 && Number.isFinite(floor))) {
    throw new RangeError(`A floor of ${floor} was given; give a ratio above 0.`);
  }
  if (!(margin >= 0 && margin < 1)) {
    throw new RangeError(`A margin of ${margin} was given; give a share from 0 to under 1.`);
  }
  const cell = cellPairs(axis, concurrency, pairs);
  const base = {
    key: cellKey(axis.id, concurrency),
    axis: axis.id,
    concurrency,
    floor,
    margin,
    bound: floor * (1 - margin),
    alpha: look.alpha,
    measured: cell.measured,
    voided: cell.voided,
    voids: cell.reasons,
  };
  if (cell.reasons.length > 0) return { ...base, verdict: 'VOID' };
  if (cell.values.length === 0) return { ...base, verdict: 'PENDING', pending: 'too_few_pairs' };
  const judged = judgeValues(question, cell);
  return { ...base, ...judged };
}

function judgeValues(question: CellQuestion, cell: CellPairs) {
  const { axis, floor, look, unit, calibration } = question;
  const treatment = treatmentOf(axis, unit, calibration);
  const margin = treatment === 'exact' ? 0 : question.margin;
  const bound = floor * (1 - margin);
  const statistics = cellStatistics(axis, cell.values, treatment, look.alpha);
  const { lower, upper } = ratios(statistics.log);
  const modes =
    axis.kind === 'percentile' ? compareModes(axis.direction, cell.values, look.alpha) : null;
  const decision =
    modes === null
      ? decide({ lower, upper }, bound)
      : decideModes(axis, cell, modes, bound, look.alpha);
  const held = hold(decision, question, cell, statistics);
  const needed = unitsForMargin(statistics, margin, look.alpha);
  return {
    ...held,
    margin,
    bound,
    statistics,
    ratio: ratios(statistics.log),
    ...flags({ lower, upper }, floor, margin),
    methodsDisagree:
      treatment === 'pairs' &&
      modes === null &&
      decide(ratios(statistics.student), bound).verdict !== decision.verdict,
    ...(held.verdict === 'PENDING' && needed !== null
      ? { missingUnits: Math.max(0, needed - statistics.n) }
      : {}),
    ...(modes === null ? {} : { modes }),
  };
}

interface Decision {
  verdict: Verdict;
  pending?: PendingCode;
}

function decide({ lower, upper }: { lower: number; upper: number }, bound: number): Decision {
  if (lower >= bound) return { verdict: 'PASS' };
  if (upper < bound) return { verdict: 'BELOW-FLOOR' };
  return { verdict: 'PENDING', pending: 'inconclusive' };
}

/** Both modes must hold (no correction needed); either may fall, so each bound then has half of the level. */
function decideModes(
  axis: Axis,
  cell: CellPairs,
  modes: ModeComparison,
  bound: number,
  alpha: number,
): Decision {
  const places = [modes.low, modes.high].filter((place) => place !== null);
  const halved = compareModes(axis.direction, cell.values, alpha / 2);
  const below = [halved?.low, halved?.high].some(
    (place) => place != null && Math.exp(place.upper) < bound,
  );
  if (below) return { verdict: 'BELOW-FLOOR' };
  if (!places.every(({ lower }) => Math.exp(lower) >= bound)) {
    return { verdict: 'PENDING', pending: 'inconclusive' };
  }
  // More often in the slow mode: seen, but not proven to be the server's doing rather than the phase of arrival.
  const { lower, upper } = modes.highShareDifference;
  const worse = axis.direction === 'lower' ? lower > 0 : upper < 0;
  return worse ? { verdict: 'PENDING', pending: 'mode_share' } : { verdict: 'PASS' };
}

/** What the plan and the sample do not allow to say yet. */
function hold(
  decision: Decision,
  { axis, look }: CellQuestion,
  cell: CellPairs,
  statistics: CellStatistics,
): Decision {
  if (axis.share !== undefined && !isEligible(axis.share, cell)) {
    return { verdict: 'PENDING', pending: 'percentile_ineligible' };
  }
  const launches = statistics.treatment === 'launches' || axis.kind === 'memory';
  if (launches && statistics.treatment !== 'exact' && statistics.n < FEWEST_LAUNCHES) {
    return { verdict: 'PENDING', pending: 'too_few_launches' };
  }
  if (decision.verdict === 'BELOW-FLOOR' && !look.last) {
    return { verdict: 'PENDING', pending: 'below_at_early_look' };
  }
  if (decision.verdict === 'PENDING' && statistics.log.lower === -Infinity) {
    return { verdict: 'PENDING', pending: 'too_few_pairs' };
  }
  return decision;
}

function isEligible(share: number, { values }: CellPairs): boolean {
  const requests = values.map((value) => value.requests ?? 0);
  const pooled = requests.reduce((sum, count) => sum + count, 0);
  return percentileEligibility(share, { perLeg: Math.min(...requests), pooled }).eligible;
}

function flags(
  { lower, upper }: { lower: number; upper: number },
  floor: number,
  margin: number,
): Pick<CellVerdict, 'position' | 'equivalent' | 'superior' | 'strict'> {
  return {
    position: lower > 1 ? 'above' : upper < 1 ? 'below' : 'at',
    equivalent: lower >= floor * (1 - margin) && upper <= floor / (1 - margin),
    superior: lower > 1,
    strict: lower >= 1 ? 'above' : upper < 1 ? 'below' : 'unresolved',
  };
}

function ratios<T extends { lower: number; upper: number }>(log: T): T {
  const entries = Object.entries(log).map(([name, value]) => [name, Math.exp(value)]);
  return Object.fromEntries(entries) as T;
}
