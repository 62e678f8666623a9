// The gate: records and floors in, an exit code and every reason as data out (DESIGN section 3, statistics section 3.5).
// All attempts are pooled, never chosen from. It reads no file and no clock; floors come from the merge base by the caller.
import { alphaPerLook } from '../stats/planning.ts';
import { findAxis } from './axis.ts';
import { type AaRun, calibrationProblem } from './calibration.ts';
import { type CampaignQuestion, type CampaignVerdict, judgeCampaign } from './family.ts';
import { type EffectiveFloor, effectiveFloors, type FloorsFile } from './floors.ts';
import {
  cellReasons,
  exitCode,
  type GateCode,
  type GateExit,
  type GateReason,
  missingReasons,
  recordReasons,
  staleReasons,
  waiverReasons,
} from './gate-reasons.ts';
import { lintGate } from './lint.ts';
import type { MeasuredPair, VoidMark } from './pairs.ts';
import { type SessionBound, type StaleFloor, staleFloor } from './ratchet.ts';
import { voidCode } from './void-codes.ts';

/** A record as far as the gate needs it; attempts of one campaign are several of these. */
export interface GateRecord {
  id: string;
  scenario: string;
  env: string;
  methodology: string;
  harnessDigest: string;
  residency: 'co-resident' | 'exclusive';
  seed: number;
  unit: 'pair' | 'launch';
  /** The plan's last look was reached, so that a loss may be proven. */
  last: boolean;
  requestsPerPair: Readonly<Record<string, number>>;
  /** Codes of the whole record: demotions and what voids a session. */
  voids: readonly VoidMark[];
  pairs: readonly MeasuredPair[];
}

export interface GateInput {
  records: readonly GateRecord[];
  /** The floors at the merge base; undefined when this environment has none yet. */
  floors: FloorsFile | undefined;
  aa: AaRun | undefined;
  /** Earlier lower bounds of a cell, for the guard against floors that are too low. */
  history: (key: string) => readonly SessionBound[];
  /** Milliseconds since the epoch. */
  nowMs: number;
  /** Judge without margins. */
  strict?: boolean;
}

export interface GateResult {
  exitCode: GateExit;
  reasons: GateReason[];
  campaign?: CampaignVerdict;
  /** Floors that could be raised, by cell. */
  proposals: Readonly<Record<string, StaleFloor>>;
  /** Records that were pooled. */
  attempts: number;
}

/** Judges the attempts of one campaign against its floors. Never throws for what records or floors say. */
export function runGate(input: GateInput): GateResult {
  const { records, floors, nowMs } = input;
  const [first] = records;
  if (first === undefined) return stop(2, 'no_records', 'No record was given; run: bench sweep');
  const differing = firstDifference(records, floors);
  if (differing !== null) return stop(2, 'not_comparable', differing, records.length);
  if (floors === undefined) {
    const message = `There are no floors for ${first.scenario} in ${first.env} yet.`;
    return stop(4, 'no_floor', message, records.length);
  }
  const effective = effectiveFloors(floors, nowMs);
  const calibration = calibrationProblem(input.aa, first, nowMs);
  const problems = lintGate({
    floors,
    effective,
    aa: input.aa,
    calibration,
    requestsPerPair: (concurrency) => first.requestsPerPair[concurrency] ?? 0,
    judging: records.map(({ id }) => id),
  });
  const blocking = problems.filter(({ code }) => code !== 'uncalibrated');
  if (blocking.length > 0) {
    const reasons = blocking.map((problem) => ({ ...problem, decides: true }));
    return { exitCode: 2, reasons, proposals: {}, attempts: records.length };
  }
  const pairs = pool(records);
  const questions = makeQuestions(input, floors, effective, first);
  const family = {
    alpha: floors.family.alpha / records.length,
    method: floors.family.method,
    seed: first.seed,
  };
  const campaign = judgeCampaign(questions, pairs, family);
  const proposals = staleFloors(effective, input);
  const demotions = recordReasons(records);
  const binding = demotions.length === 0 && problems.length === 0;
  const reasons: GateReason[] = [
    ...demotions,
    ...problems.map((problem) => ({ ...problem, decides: true })),
    ...missingReasons(floors, pairs),
    // What binds nobody, or rests on unknown noise, cannot be proof of a loss.
    ...cellReasons(campaign).map((reason) =>
      reason.code === 'below_floor' && !binding ? { ...reason, decides: false } : reason,
    ),
    ...staleReasons(proposals),
    ...waiverReasons(effective),
  ];
  return {
    exitCode: exitCode(reasons, records.length),
    reasons,
    campaign,
    proposals,
    attempts: records.length,
  };
}

function stop(exit: GateExit, code: GateCode, message: string, attempts = 0): GateResult {
  return { exitCode: exit, reasons: [{ code, decides: true, message }], proposals: {}, attempts };
}

/** Records of another kind are refused with the key that differs, never averaged. */
function firstDifference(
  records: readonly GateRecord[],
  floors: FloorsFile | undefined,
): string | null {
  const [first] = records;
  for (const record of records) {
    for (const key of ['scenario', 'env', 'methodology', 'residency', 'unit'] as const) {
      if (record[key] !== first?.[key]) {
        return `Records differ in ${key}: ${first?.[key]} and ${record[key]}; they are not one campaign.`;
      }
    }
  }
  if (new Set(records.map(({ id }) => id)).size !== records.length)
    return 'A record is given twice.';
  if (floors === undefined || first === undefined) return null;
  for (const key of ['scenario', 'env', 'methodology'] as const) {
    if (first[key] !== floors[key]) {
      return `The record has ${key} ${first[key]} and the floors ${floors[key]}; name the floors of this record.`;
    }
  }
  const concurrencies = new Set(
    records.flatMap(({ pairs }) => pairs.map((pair) => pair.concurrency)),
  );
  if (!floors.cells.some(({ c }) => concurrencies.has(c))) {
    return 'Records and floors share no cell; there is nothing to judge.';
  }
  return null;
}

/** All attempts as one series: ids, quads and launches of different records never meet. */
function pool(records: readonly GateRecord[]): MeasuredPair[] {
  return records.flatMap((record, attempt) =>
    record.pairs.map((pair) => {
      const name = (id: string) => (records.length === 1 ? id : `${record.id}/${id}`);
      const apart = attempt * 1_000_000;
      const { replaces, ...rest } = pair;
      return {
        ...rest,
        id: name(pair.id),
        quad: pair.quad + apart,
        launch: pair.launch + apart,
        voids: [...pair.voids, ...sessionVoids(record)],
        ...(replaces === undefined ? {} : { replaces: name(replaces) }),
      };
    }),
  );
}

function sessionVoids({ voids }: GateRecord): VoidMark[] {
  return voids.filter(({ code }) => voidCode(code).class !== 'demotion');
}

function makeQuestions(
  { records, aa, strict }: GateInput,
  floors: FloorsFile,
  effective: readonly EffectiveFloor[],
  { unit }: GateRecord,
): CampaignQuestion[] {
  // Each further attempt is a further set of looks at the same question, and pays for it.
  const alpha = alphaPerLook(floors.family.looks.length * records.length);
  const last = records.every((record) => record.last);
  return effective.flatMap((cell) => {
    const axis = findAxis(cell.axis);
    if (axis === undefined) return [];
    const calibration = aa?.cells[cell.key];
    return [
      {
        axis,
        concurrency: cell.c,
        floor: cell.floor,
        margin: strict === true ? 0 : cell.margin,
        look: { alpha, last },
        unit: calibration?.unit === 'launch' ? 'launch' : unit,
        gated: cell.mode === 'gated',
        ...(calibration === undefined ? {} : { calibration }),
      },
    ];
  });
}

/** By cell: floors that two sessions have left behind. */
function staleFloors(
  effective: readonly EffectiveFloor[],
  { history, nowMs }: GateInput,
): Record<string, StaleFloor> {
  const found: Record<string, StaleFloor> = {};
  for (const { key, floor, margin, mode } of effective) {
    const stale = mode === 'gated' ? staleFloor(floor, margin, history(key), nowMs) : null;
    if (stale !== null) found[key] = stale;
  }
  return found;
}
