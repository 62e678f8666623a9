// What a gate says and the exit code that follows from it: every reason is data with a code, a cell and one sentence, and
// the exit code comes from the reasons alone, so that comment, summary and exit code cannot disagree.
import { cellKey } from './axis.ts';
import type { CampaignCell, CampaignVerdict } from './family.ts';
import { type EffectiveFloor, type FloorsFile, requiredCells } from './floors.ts';
import type { LintCode } from './lint.ts';
import type { MeasuredPair, VoidMark } from './pairs.ts';
import { isMirrored } from './plan.ts';
import type { StaleFloor } from './ratchet.ts';
import type { PendingCode } from './verdict.ts';
import { isRepairable, VOID_CODES, type VoidCode, voidCode } from './void-codes.ts';

export type GateCode =
  | VoidCode
  | PendingCode
  | LintCode
  | 'no_records'
  | 'not_comparable'
  | 'no_floor'
  | 'missing_cell'
  | 'non_binding'
  | 'floor_stale'
  | 'below_floor'
  | 'waived';

export interface GateReason {
  code: GateCode;
  cell?: string;
  /** False: shown, but not what the exit code comes from. */
  decides: boolean;
  message: string;
}

/** 0 PASS, 1 proven loss, 2 configuration, 3 VOID, 4 PENDING: the exit codes of `bench gate`. */
export type GateExit = 0 | 1 | 2 | 3 | 4;

interface JudgedRecord {
  id: string;
  voids: readonly VoidMark[];
  pairs: readonly MeasuredPair[];
}

/** Codes that leave the question open. Everything else that is no void code is a matter of configuration. */
const PENDING_CODES: readonly GateCode[] = [
  'inconclusive',
  'below_at_early_look',
  'too_few_pairs',
  'too_few_launches',
  'mode_share',
  'not_proven_in_family',
  'percentile_ineligible',
  'no_floor',
  'non_binding',
  'floor_stale',
  'uncalibrated',
];

/**
 * The exit code of these reasons: a proven loss first, then configuration, VOID, PENDING. A VOID that only the environment
 * caused counts as PENDING from the second attempt on; any other VOID blocks.
 */
export function exitCode(reasons: readonly GateReason[], attempts: number): GateExit {
  const codes = reasons.filter(({ decides }) => decides).map(({ code }) => code);
  if (codes.includes('below_floor')) return 1;
  const voids = codes.filter(isVoid);
  const missing = codes.includes('missing_cell');
  const other = codes.filter((code) => !isVoid(code) && !['missing_cell', 'waived'].includes(code));
  if (other.some((code) => !PENDING_CODES.includes(code))) return 2;
  const environmental = voids.every(fromOutside) && attempts >= 2;
  if (missing || (voids.length > 0 && !environmental)) return 3;
  return voids.length > 0 || other.length > 0 ? 4 : 0;
}

function isVoid(code: GateCode): code is VoidCode {
  return (VOID_CODES as readonly GateCode[]).includes(code);
}

/** Only exogenous voids use up the budget, so running out of it is the environment's doing too. */
function fromOutside(code: VoidCode): boolean {
  return isRepairable(code) || code === 'over_voided';
}

/** Why a record binds nobody, although its numbers stand. */
export function recordReasons(records: readonly JudgedRecord[]): GateReason[] {
  return records.flatMap((record) => {
    const codes = new Set(
      record.voids
        .filter(({ code }) => voidCode(code).class === 'demotion')
        .map(({ code }) => code),
    );
    const counted = record.pairs.filter(({ voids }) => voids.length === 0);
    if (!isMirrored(counted)) codes.add('order_blocked');
    return [...codes].map((code) => ({
      code: 'non_binding' as const,
      decides: true,
      message: `Record ${record.id} binds nobody (${code}): ${voidCode(code).sentence} ${voidCode(code).hint}`,
    }));
  });
}

/** Required cells that no pair was measured for. */
export function missingReasons(floors: FloorsFile, pairs: readonly MeasuredPair[]): GateReason[] {
  const concurrencies = new Set(pairs.map(({ concurrency }) => concurrency));
  const present = new Set(
    floors.cells.filter(({ c }) => concurrencies.has(c)).map(({ axis, c }) => cellKey(axis, c)),
  );
  return requiredCells(floors)
    .filter((key) => !present.has(key))
    .map((key) => ({
      code: 'missing_cell',
      cell: key,
      decides: true,
      message: `Required cell ${key} is not in the record; measure it or take it out of the floors.`,
    }));
}

/** What each cell has to say; one that passes says nothing. */
export function cellReasons(campaign: CampaignVerdict): GateReason[] {
  return campaign.cells.flatMap((cell): GateReason[] => {
    const common = { cell: cell.key, decides: cell.gated };
    if (cell.verdict === 'VOID') {
      return cell.voids.map(({ code, arm, detail }) => ({
        ...common,
        code,
        message: [
          `${arm === undefined ? '' : `${arm}: `}${detail ?? voidCode(code).sentence}`,
          voidCode(code).hint,
        ].join(' '),
      }));
    }
    if (cell.verdict === 'BELOW-FLOOR') {
      return [{ ...common, code: 'below_floor', message: belowSentence(cell) }];
    }
    return cell.pending === undefined
      ? []
      : [{ ...common, code: cell.pending, message: pendingSentence(cell) }];
  });
}

/** Floors that could no longer fail: a proposal, and after 30 days the question is open again. */
export function staleReasons(proposals: Readonly<Record<string, StaleFloor>>): GateReason[] {
  return Object.entries(proposals).map(([cell, { proposed, stale }]) => ({
    code: 'floor_stale',
    cell,
    decides: stale,
    message:
      `The floor of ${cell} lies more than three margins below what two sessions measured; ` +
      `raise it to ${proposed.floor} (${proposed.setBy.join(', ')}).`,
  }));
}

/** Waivers in force are shown in every gate until they end. */
export function waiverReasons(effective: readonly EffectiveFloor[]): GateReason[] {
  return effective.flatMap(({ key, waiver }): GateReason[] =>
    waiver === undefined
      ? []
      : [
          {
            code: 'waived',
            cell: key,
            decides: false,
            message:
              `The floor of ${key} is lowered to ${waiver.floor} until ${waiver.expires} ` +
              `(${waiver.approver}, ${waiver.link}): ${waiver.reason}`,
          },
        ],
  );
}

function belowSentence(cell: CampaignCell): string {
  const p = cell.adjustedP === undefined ? '' : `, family p ${cell.adjustedP.toPrecision(2)}`;
  return `${cell.key} is ${interval(cell)}, proven below ${cell.bound.toFixed(4)}${p}.`;
}

const PENDING_SENTENCES: Readonly<Record<PendingCode, string>> = {
  inconclusive: 'the interval holds the bound',
  below_at_early_look: 'it reads below the bound, and red is decided only at the last look',
  too_few_pairs: 'there are too few pairs for a bound to exist',
  too_few_launches:
    'fewer than 4 launches were measured, and pairs of one launch are not independent',
  percentile_ineligible: 'there are too few requests for this percentile',
  mode_share: 'ours was in the slow mode more often, which may be the phase of arrival',
  not_proven_in_family: 'it reads below the bound, but among so many cells that may be chance',
};

function pendingSentence(cell: CampaignCell): string {
  const why = PENDING_SENTENCES[cell.pending ?? 'inconclusive'];
  const more =
    cell.missingUnits === undefined || cell.missingUnits === 0
      ? ''
      : ` About ${cell.missingUnits} more pairs would narrow it to the margin.`;
  const held =
    cell.ratio === undefined ? '' : ` is ${interval(cell)} against ${cell.bound.toFixed(4)}`;
  return `${cell.key}${held}: ${why}.${more}`;
}

function interval({ ratio }: CampaignCell): string {
  if (ratio === undefined) return 'not measured';
  const { estimate, lower, upper } = ratio;
  return `${estimate.toFixed(4)} [${lower.toFixed(4)}, ${upper.toFixed(4)}]`;
}
