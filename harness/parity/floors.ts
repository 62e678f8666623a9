// The floors file: which ratios a gate protects, how far below is tolerated, and who allowed an exception until when
// (statistics section 3.5). Parses and ages it; the ratchet that raises floors is in ratchet.ts. Reads no file, no clock.
import { z } from 'zod';
import { AXIS_IDS, cellKey } from './axis.ts';

const DAY_MS = 24 * 3600 * 1000;
const LONGEST_WAIVER_DAYS = 90;

const axis = z.string().refine((id) => AXIS_IDS.includes(id), {
  error: (issue) => `unknown axis ${JSON.stringify(issue.input)}; known are ${AXIS_IDS.join(', ')}`,
});
const concurrency = z.int().min(1);
const ratio = z.number().gt(0).max(100);
const day = z.iso.date();

const cellSchema = z.strictObject({
  axis,
  c: concurrency,
  parity: ratio.default(1).describe('The claim: the floor that BENCHMARKS.md is held against.'),
  floor: ratio.describe('What the gate protects; raised by the ratchet, lowered only by a waiver.'),
  margin: z.number().min(0).lt(1).describe('Loss below the floor that is accepted, as a share.'),
  set_by: z
    .array(z.string().min(1))
    .default([])
    .describe('Records that the floor was raised from.'),
  mode: z.enum(['gated', 'informational']).default('gated'),
});

const waiverSchema = z
  .strictObject({
    axis,
    c: concurrency,
    floor: ratio,
    reason: z.string().min(10),
    approver: z.string().min(1),
    link: z.url(),
    granted: day,
    expires: day,
    record: z.string().min(1),
  })
  .refine(({ granted, expires }) => daysBetween(granted, expires) > 0, {
    error: 'a waiver must expire after it was granted',
    path: ['expires'],
  })
  .refine(({ granted, expires }) => daysBetween(granted, expires) <= LONGEST_WAIVER_DAYS, {
    error: `a waiver may last at most ${LONGEST_WAIVER_DAYS} days`,
    path: ['expires'],
  });

const floorsSchema = z.strictObject({
  schema: z.string().regex(/^bench-floors\/1\.\d+$/, 'this version reads bench-floors/1.x'),
  scenario: z.string().min(1),
  env: z.string().min(1),
  methodology: z.string().min(1),
  family: z.strictObject({
    alpha: z.number().gt(0).max(0.05),
    method: z.enum(['maxT', 'holm']),
    looks: z.array(z.int().min(2)).min(1),
  }),
  cells: z.array(cellSchema).min(1),
  required: z.union([z.literal('all'), z.array(z.strictObject({ axis, c: concurrency })).min(1)]),
  waivers: z.array(waiverSchema).default([]),
});

export type FloorsFile = z.infer<typeof floorsSchema>;
type FloorCell = z.infer<typeof cellSchema>;
type Waiver = z.infer<typeof waiverSchema>;

export type ParsedFloors =
  | { ok: true; floors: FloorsFile }
  | { ok: false; problems: readonly string[] };

/** Validates the parsed JSON of a floors file. Each problem is one sentence with its place and what was wrong. */
export function parseFloors(json: unknown): ParsedFloors {
  const parsed = floorsSchema.safeParse(json);
  if (!parsed.success) {
    return {
      ok: false,
      problems: parsed.error.issues.map(
        ({ path, message }) => `${path.join('.') || 'the file'}: ${message}`,
      ),
    };
  }
  const problems = contradictions(parsed.data);
  return problems.length > 0 ? { ok: false, problems } : { ok: true, floors: parsed.data };
}

/** A floor as it stands now, with the waiver that lowers it. */
export interface EffectiveFloor extends FloorCell {
  key: string;
  waiver?: Waiver;
}

/** The floors in force at `nowMs` (milliseconds since the epoch): waivers that have begun and not expired apply. */
export function effectiveFloors(floors: FloorsFile, nowMs: number): EffectiveFloor[] {
  return floors.cells.map((cell) => {
    const key = cellKey(cell.axis, cell.c);
    const waiver = floors.waivers
      .filter(({ axis: id, c }) => cellKey(id, c) === key)
      .filter(({ granted, expires }) => startOf(granted) <= nowMs && nowMs < endOf(expires))
      .sort((x, y) => x.floor - y.floor)[0];
    if (waiver === undefined || waiver.floor >= cell.floor) return { ...cell, key };
    return { ...cell, key, floor: waiver.floor, waiver };
  });
}

/** The keys of the cells that a record must hold. */
export function requiredCells(floors: FloorsFile): string[] {
  const cells =
    floors.required === 'all'
      ? floors.cells.filter(({ mode }) => mode === 'gated')
      : floors.required;
  return cells.map(({ axis: id, c }) => cellKey(id, c));
}

function contradictions(floors: FloorsFile): string[] {
  const problems: string[] = [];
  const keys = floors.cells.map(({ axis: id, c }) => cellKey(id, c));
  for (const key of new Set(keys)) {
    if (keys.filter((other) => other === key).length > 1) problems.push(`cell ${key} occurs twice`);
  }
  for (const key of requiredCells(floors)) {
    if (!keys.includes(key)) problems.push(`required cell ${key} has no floor`);
  }
  for (const waiver of floors.waivers) {
    const key = cellKey(waiver.axis, waiver.c);
    if (!keys.includes(key)) problems.push(`the waiver for ${key} has no floor to lower`);
  }
  const rising = floors.family.looks.every((n, i, all) => n % 2 === 0 && n > (all[i - 1] ?? 0));
  if (!rising) problems.push('family.looks: give even numbers of pairs that rise');
  return problems;
}

function startOf(date: string): number {
  return Date.parse(`${date}T00:00:00Z`);
}

/** The day of expiry is the last one on which a waiver holds. */
function endOf(date: string): number {
  return startOf(date) + DAY_MS;
}

function daysBetween(from: string, to: string): number {
  return (startOf(to) - startOf(from)) / DAY_MS;
}
