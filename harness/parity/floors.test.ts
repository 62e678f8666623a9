import assert from 'node:assert/strict';
import { test } from 'node:test';
import { effectiveFloors, parseFloors, requiredCells } from './floors.ts';
import { ratchet, type SessionBound, staleFloor } from './ratchet.ts';

const DAY = 24 * 3600 * 1000;
const at = (date: string) => Date.parse(`${date}T12:00:00Z`);

/** A documented example: two gated cells, one shown only, one exception that ends. */
const EXAMPLE = {
  schema: 'bench-floors/1.0',
  scenario: 'mxfp4-1024-128',
  env: 'h200-1x-a1b2',
  methodology: 'parity/2',
  family: { alpha: 0.01, method: 'maxT', looks: [8, 16, 24] },
  cells: [
    { axis: 'output_throughput', c: 2, floor: 0.958, margin: 0.01, set_by: ['r1', 'r2'] },
    { axis: 'tpot.mean', c: 2, floor: 0.97, margin: 0.01 },
    { axis: 'ttft.p50', c: 2, floor: 0.9, margin: 0.05, mode: 'informational' },
  ],
  required: 'all',
  waivers: [
    {
      axis: 'tpot.mean',
      c: 2,
      floor: 0.93,
      reason: 'The scheduler was rewritten; decode recovers with the next step.',
      approver: 'maintainer',
      link: 'https://example.org/issues/12',
      granted: '2026-11-01',
      expires: '2026-12-15',
      record: 'r3',
    },
  ],
};

function parsed(change: object = {}) {
  const result = parseFloors({ ...EXAMPLE, ...change });
  assert.ok(result.ok, JSON.stringify(result));
  return result.floors;
}

function problems(change: object): string {
  const result = parseFloors({ ...EXAMPLE, ...change });
  assert.ok(!result.ok);
  return result.problems.join('; ');
}

test('the example is read with its defaults, and "all" requires every gated cell', () => {
  const floors = parsed();
  assert.equal(floors.cells[0]?.parity, 1);
  assert.equal(floors.cells[0]?.mode, 'gated');
  assert.deepEqual(requiredCells(floors), ['output_throughput@c2', 'tpot.mean@c2']);
  assert.deepEqual(requiredCells(parsed({ required: [{ axis: 'ttft.p50', c: 2 }] })), [
    'ttft.p50@c2',
  ]);
});

test('what is wrong in a floors file is named with its place', () => {
  const [cell] = EXAMPLE.cells;
  assert.match(problems({ cells: [{ ...cell, axis: 'mean_us' }] }), /axis: unknown axis "mean_us"/);
  assert.match(problems({ cells: [{ ...cell, margin: 1 }] }), /cells.0.margin/);
  assert.match(problems({ cells: [{ ...cell, floor: 0 }] }), /cells.0.floor/);
  assert.match(problems({ cells: [{ ...cell, floor: Number.NaN }] }), /cells.0.floor/);
  assert.match(problems({ cells: [{ ...cell, tolerance: 1 }] }), /tolerance/);
  assert.match(problems({ cells: [] }), /cells/);
  assert.match(problems({ cells: [cell, cell] }), /output_throughput@c2 occurs twice/);
  assert.match(problems({ schema: 'bench-floors/2.0' }), /bench-floors\/1.x/);
  assert.match(problems({ required: [{ axis: 'tpot.mean', c: 8 }] }), /tpot.mean@c8 has no floor/);
  assert.match(problems({ family: { ...EXAMPLE.family, looks: [8, 4] } }), /looks/);
  for (const broken of [null, [], 'text', 12, {}]) assert.equal(parseFloors(broken).ok, false);
});

test('a waiver lowers a floor from the day it is granted to the day it ends, and is then gone', () => {
  const floorAt = (date: string) => effectiveFloors(parsed(), at(date))[1];
  assert.equal(floorAt('2026-10-31')?.floor, 0.97);
  assert.equal(floorAt('2026-11-01')?.floor, 0.93);
  assert.equal(floorAt('2026-12-15')?.floor, 0.93);
  assert.equal(floorAt('2026-12-15')?.waiver?.approver, 'maintainer');
  assert.equal(floorAt('2026-12-16')?.floor, 0.97);
});

test('a waiver of more than 90 days, without a reason or for no cell is refused; it never raises', () => {
  const [waiver] = EXAMPLE.waivers;
  const refused = (change: object) => problems({ waivers: [{ ...waiver, ...change }] });
  assert.match(refused({ expires: '2027-01-31' }), /at most 90 days/);
  assert.match(refused({ expires: '2026-11-01' }), /after it was granted/);
  assert.match(refused({ reason: 'x' }), /waivers.0.reason/);
  assert.match(refused({ c: 8 }), /no floor to lower/);
  const raised = parsed({ waivers: [{ ...waiver, floor: 0.99 }] });
  assert.equal(effectiveFloors(raised, at('2026-11-05'))[1]?.floor, 0.97);
});

const session = (record: string, lower: number, day: number, bootId = record): SessionBound => ({
  ...{ record, bootId, lower },
  measuredAtMs: day * DAY,
});

test('a floor rises by half of the way to the lower of two bounds from different boots', () => {
  const two = [session('a', 0.99, 1), session('b', 0.98, 2)];
  assert.deepEqual(ratchet(0.95, two), { floor: 0.9648, setBy: ['b', 'a'] });
  assert.deepEqual(ratchet(undefined, two), { floor: 0.98, setBy: ['b', 'a'] });
});

test('a floor never falls, and one session or one boot confirms nothing', () => {
  assert.equal(ratchet(0.985, [session('a', 0.99, 1), session('b', 0.98, 2)]), null);
  assert.equal(ratchet(0.9, [session('a', 0.99, 1)]), null);
  assert.equal(ratchet(0.9, [session('a', 0.99, 1, 'x'), session('b', 0.99, 2, 'x')]), null);
  assert.equal(ratchet(undefined, [session('a', 0, 1), session('b', 1, 2)]), null);
});

test('a floor three margins below two sessions is proposed to rise, and stale after 30 days', () => {
  const two = [session('a', 0.99, 1), session('b', 0.98, 2)];
  assert.equal(staleFloor(0.96, 0.01, two, 3 * DAY), null, 'within three margins');
  const fresh = staleFloor(0.9, 0.01, two, 3 * DAY);
  assert.deepEqual([fresh?.stale, fresh?.proposed.floor], [false, 0.9391]);
  assert.equal(staleFloor(0.9, 0.01, two, 33 * DAY)?.stale, true);
  assert.equal(staleFloor(0.9, 0.01, [...two, session('c', 0.91, 3)], 40 * DAY), null);
});
