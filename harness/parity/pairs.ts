// From measured pairs to the log ratios of one cell: which pairs count, which are void and why, and when a cell is lost
// (statistics section 2.9). Nothing is ever left out by its value; a void pair stays in the record.
import { isUsable, logRatio } from '../stats/log-ratio.ts';
import type { ModeCounts } from '../stats/modes.ts';
import type { Axis } from './axis.ts';
import type { Role } from './plan.ts';
import { isRepairable, type VoidCode, voidCode } from './void-codes.ts';

/** A code with the arm that it concerns, where it concerns one. */
export interface VoidMark {
  code: VoidCode;
  arm?: Role;
  /** The value that was seen, in a sentence. */
  detail?: string;
}

export interface MeasuredPair {
  id: string;
  concurrency: number;
  quad: number;
  launch: number;
  lead: Role;
  /** One value an axis id, in the unit of its metric. */
  ours: Readonly<Record<string, number | null>>;
  reference: Readonly<Record<string, number | null>>;
  /** Requests that each arm answered in this pair. */
  requests?: number;
  /** By axis, only where the requests of an arm fall into two modes: both arms by the same split. */
  modes?: Readonly<Record<string, { ours: ModeCounts; reference: ModeCounts }>>;
  voids: readonly VoidMark[];
  /** The void pair that this one was measured again for. */
  replaces?: string;
}

/** One pair that counts. */
export interface CellValue {
  id: string;
  launch: number;
  /** ln of the direction-normalised ratio. */
  d: number;
  ours: number;
  reference: number;
  requests: number | undefined;
  modes: { ours: ModeCounts; reference: ModeCounts } | undefined;
}

export interface CellPairs {
  values: CellValue[];
  /** Pairs measured at this concurrency, void ones included. */
  measured: number;
  voided: number;
  /** Why the whole cell is void; empty when it is not. */
  reasons: VoidMark[];
}

/** More than this share of void pairs, and what is left would be a selection. */
const VOID_BUDGET = 0.4;
/** No two servers that do the same work differ so much; a mistaken unit does. */
const LARGEST_RATIO = 100;

/** The ratios of an axis at a concurrency. Never throws: what cannot be used is a reason. */
export function cellPairs(
  axis: Axis,
  concurrency: number,
  pairs: readonly MeasuredPair[],
): CellPairs {
  const own = pairs.filter((pair) => pair.concurrency === concurrency);
  const reasons = [...endogenous(own), ...refusedReplacements(own)];
  const valid = own.filter(({ voids }) => voids.every(({ code }) => isDemotion(code)));
  const values: CellValue[] = [];
  for (const pair of valid) {
    const value = cellValue(axis, pair);
    if ('code' in value) reasons.push(value);
    else values.push(value);
  }
  const voided = own.length - valid.length;
  const disturbed = own.filter(({ voids }) => voids.some(({ code }) => isRepairable(code))).length;
  if (disturbed > VOID_BUDGET * own.length) {
    reasons.push({ code: 'over_voided', detail: `${disturbed} of ${own.length} pairs are void.` });
  }
  return { values, measured: own.length, voided, reasons: distinct(reasons) };
}

/** The codes that void a whole campaign or session, wherever they were seen. */
export function campaignVoids(pairs: readonly MeasuredPair[]): VoidMark[] {
  const marks = pairs.flatMap(({ voids }) => [...voids]);
  return distinct(marks.filter(({ code }) => voidCode(code).class === 'session'));
}

/** Pairs that may be measured again and have not been, in running order: what a driver repairs. */
export function repairablePairs(pairs: readonly MeasuredPair[]): MeasuredPair[] {
  const replaced = new Set(pairs.map(({ replaces }) => replaces));
  return pairs.filter(
    ({ id, voids }) =>
      voids.length > 0 && voids.every(({ code }) => isRepairable(code)) && !replaced.has(id),
  );
}

function endogenous(pairs: readonly MeasuredPair[]): VoidMark[] {
  return pairs
    .flatMap(({ voids }) => [...voids])
    .filter(({ code }) => ['endogenous', 'client'].includes(voidCode(code).class));
}

/** A replacement must answer for a pair that was void from outside, exist, and be the only one. */
function refusedReplacements(pairs: readonly MeasuredPair[]): VoidMark[] {
  const byId = new Map(pairs.map((pair) => [pair.id, pair]));
  const taken = new Set<string>();
  const refused: VoidMark[] = [];
  if (byId.size !== pairs.length) {
    refused.push({ code: 'replacement_refused', detail: 'A pair id occurs twice.' });
  }
  for (const { id, replaces } of pairs) {
    if (replaces === undefined) continue;
    const old = byId.get(replaces);
    const repairable =
      old !== undefined &&
      old.voids.length > 0 &&
      old.voids.every(({ code }) => isRepairable(code)) &&
      !taken.has(replaces);
    taken.add(replaces);
    if (!repairable) {
      refused.push({ code: 'replacement_refused', detail: `Pair ${id} replaces ${replaces}.` });
    }
  }
  return refused;
}

function cellValue(axis: Axis, pair: MeasuredPair): CellValue | VoidMark {
  const ours = pair.ours[axis.id];
  const reference = pair.reference[axis.id];
  for (const [arm, value] of [
    ['ours', ours],
    ['reference', reference],
  ] as const) {
    if (!isUsable(value)) {
      return unusable(arm, `${axis.id} of pair ${pair.id} is ${value ?? 'missing'}.`);
    }
    if (value < axis.plausible.least || value > axis.plausible.most) {
      return unusable(
        arm,
        `${axis.id} of pair ${pair.id} is ${value} ${axis.unit}: no such value.`,
      );
    }
  }
  const d = logRatio(axis.direction, ours, reference);
  if (d === undefined || !isUsable(ours) || !isUsable(reference)) {
    return unusable('ours', `${axis.id} of pair ${pair.id} has no ratio.`);
  }
  if (Math.abs(d) > Math.log(LARGEST_RATIO)) {
    const times = Math.exp(Math.abs(d)).toPrecision(3);
    return unusable('ours', `${axis.id} of pair ${pair.id} differs ${times} times between arms.`);
  }
  const { id, launch, requests } = pair;
  return { id, launch, d, ours, reference, requests, modes: pair.modes?.[axis.id] };
}

function unusable(arm: Role, detail: string): VoidMark {
  return { code: 'value_unusable', arm, detail };
}

function isDemotion(code: VoidCode): boolean {
  return voidCode(code).class === 'demotion';
}

/** One mark for each code and arm, the first seen. */
function distinct(marks: readonly VoidMark[]): VoidMark[] {
  const seen = new Map<string, VoidMark>();
  for (const mark of marks) {
    const key = `${mark.code}/${mark.arm ?? ''}`;
    if (!seen.has(key)) seen.set(key, mark);
  }
  return [...seen.values()];
}
