import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXIT } from '../errors.ts';
import { detectableLoss } from '../stats/planning.ts';
import { findAxis, PRIMARY_AXES } from './axis.ts';
import { type AaRun, calibrateCells } from './calibration.ts';
import { type FloorsFile, parseFloors } from './floors.ts';
import { type GateInput, type GateRecord, runGate } from './gate.ts';
import type { MeasuredPair, VoidMark } from './pairs.ts';
import { makePlan } from './plan.ts';
import { NOISE, simulate, type Truth } from './simulated-arms.ts';

const CONCURRENCIES = [1, 4];
const NOW = Date.parse('2026-12-01T12:00:00Z');
const AXES = PRIMARY_AXES.map((id) => {
  const axis = findAxis(id);
  assert.ok(axis);
  return axis;
});

function plan(seed = 1) {
  return makePlan({
    ...{ seed, concurrencies: CONCURRENCIES },
    ...{ residency: 'co-resident' as const, slice: 'leg' as const },
  });
}

function pairs(truth: Partial<Truth> = {}, seed = 1): MeasuredPair[] {
  return simulate(plan(seed), { noise: NOISE.gpu, seed, ...truth });
}

function record(change: Partial<GateRecord> = {}): GateRecord {
  return {
    id: 'r1',
    scenario: 'mxfp4-1024-128',
    env: 'gpu-1',
    methodology: 'parity/2',
    harnessDigest: 'd1',
    residency: 'co-resident',
    seed: 1,
    unit: 'pair',
    last: true,
    requestsPerPair: { 1: 48, 4: 48 },
    voids: [],
    pairs: pairs(),
    ...change,
  };
}

const CELLS = CONCURRENCIES.flatMap((c) =>
  PRIMARY_AXES.map((axis) => ({ axis, c, floor: 1, margin: 0.01 })),
);

function floors(change: object = {}): FloorsFile {
  const parsed = parseFloors({
    schema: 'bench-floors/1.0',
    scenario: 'mxfp4-1024-128',
    env: 'gpu-1',
    methodology: 'parity/2',
    family: { alpha: 0.01, method: 'maxT', looks: [8, 16, 24] },
    cells: CELLS,
    required: 'all',
    ...change,
  });
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return parsed.floors;
}

function aa(change: Partial<AaRun> = {}): AaRun {
  return {
    env: 'gpu-1',
    scenario: 'mxfp4-1024-128',
    harnessDigest: 'd1',
    measuredAtMs: NOW - 1e9,
    ...{ pairs: 24, launches: 12, boots: 1, ephemeral: false },
    cells: calibrateCells(AXES, CONCURRENCIES, pairs({ seed: 99 }, 99)),
    ...change,
  };
}

function gate(change: Partial<GateInput> = {}) {
  const input = { records: [record()], floors: floors(), aa: aa(), history: () => [], nowMs: NOW };
  const result = runGate({ ...input, ...change });
  const codes = [...new Set(result.reasons.map(({ code }) => code))];
  return { ...result, codes };
}

const without = (cell: string) =>
  pairs().map((pair) => {
    const { [cell]: _, ...ours } = pair.ours;
    return { ...pair, ours };
  });

test('parity passes with exit 0 and no reason', () => {
  const { exitCode, reasons, campaign } = gate();
  assert.deepEqual([exitCode, reasons], [EXIT.ok, []]);
  assert.equal(campaign?.verdict, 'PASS');
  assert.equal(campaign?.cells.length, 8);
});

test('a proven loss in one cell is exit 1, and the reason carries the interval', () => {
  const slow = pairs({ ratio: (axis, c) => (axis === 'tpot.mean' && c === 4 ? 0.95 : 1) });
  const { exitCode, reasons } = gate({ records: [record({ pairs: slow })] });
  assert.equal(exitCode, EXIT.belowFloor);
  assert.deepEqual(
    reasons.map(({ code, cell }) => [code, cell]),
    [['below_floor', 'tpot.mean@c4']],
  );
  assert.match(
    reasons[0]?.message ?? '',
    /tpot.mean@c4 is 0\.9\d+ \[0\.9\d+, 0\.9\d+\], proven below/,
  );
});

test('the same loss before the last look is exit 4', () => {
  const slow = pairs({ ratio: () => 0.95 });
  const { exitCode, codes } = gate({ records: [record({ pairs: slow, last: false })] });
  assert.deepEqual([exitCode, codes], [EXIT.pending, ['below_at_early_look']]);
});

test('a loss in an informational cell is shown and decides nothing', () => {
  const cells = CELLS.map((cell) =>
    cell.axis === 'tpot.mean' ? { ...cell, mode: 'informational' } : cell,
  );
  const slow = pairs({ ratio: (axis) => (axis === 'tpot.mean' ? 0.9 : 1) });
  const { exitCode, reasons } = gate({
    floors: floors({ cells }),
    records: [record({ pairs: slow })],
  });
  assert.equal(exitCode, EXIT.ok);
  assert.ok(reasons.length > 0 && reasons.every(({ decides }) => !decides));
});

test('no record, records of different kinds, no shared cell: exit 2, each with its own sentence', () => {
  const other = { ...record(), id: 'r2', env: 'gpu-2' };
  const sentences = [
    gate({ records: [] }),
    gate({ records: [record(), other] }),
    gate({ records: [record(), record()] }),
    gate({ records: [record({ methodology: 'parity/1' })] }),
    gate({ floors: floors({ cells: [{ ...CELLS[0], c: 64 }] }) }),
  ].map(({ exitCode, reasons }) => {
    assert.equal(exitCode, EXIT.usage);
    return reasons[0]?.message;
  });
  assert.equal(new Set(sentences).size, sentences.length);
});

test('a required cell that was not measured, or an axis that is not in the record, is exit 3', () => {
  const one = pairs().filter(({ concurrency }) => concurrency === 1);
  const missing = gate({ records: [record({ pairs: one })] });
  assert.equal(missing.exitCode, EXIT.void);
  assert.ok(
    missing.reasons.some(({ code, cell }) => code === 'missing_cell' && cell === 'tpot.mean@c4'),
  );
  const renamed = gate({ records: [record({ pairs: without('tpot.mean') })] });
  assert.equal(renamed.exitCode, EXIT.void);
  assert.match(renamed.reasons[0]?.message ?? '', /tpot.mean of pair .* is missing/);
});

test('what a server did to itself is exit 3 in every attempt; what the machine did is 3 once, then 4', () => {
  const voided = (code: VoidMark['code']) =>
    pairs().map((pair, index) => (index % 2 === 0 ? { ...pair, voids: [{ code }] } : pair));
  const attempts = (code: VoidMark['code'], count: number) =>
    gate({
      records: Array.from({ length: count }, (_, index) =>
        record({ id: `r${index}`, pairs: voided(code) }),
      ),
    });
  assert.equal(attempts('contended', 1).exitCode, EXIT.void);
  assert.deepEqual(attempts('contended', 1).codes, ['over_voided']);
  assert.equal(attempts('contended', 2).exitCode, EXIT.pending);
  assert.equal(attempts('requests_failed', 2).exitCode, EXIT.void);
});

test('another boot or another binary voids all, and no number is quoted', () => {
  for (const code of ['boot_changed', 'arms_swapped', 'token_mismatch'] as const) {
    const { exitCode, codes, campaign } = gate({ records: [record({ voids: [{ code }] })] });
    assert.deepEqual([exitCode, codes], [EXIT.void, [code]]);
    assert.ok(campaign?.cells.every(({ ratio }) => ratio === undefined));
  }
});

test('a dirty tree and blocked order bind nobody: exit 4, even for a loss', () => {
  const slow = pairs({ ratio: () => 0.9 });
  const dirty = gate({ records: [record({ pairs: slow, voids: [{ code: 'dirty_tree' }] })] });
  assert.equal(dirty.exitCode, EXIT.pending);
  assert.ok(dirty.codes.includes('non_binding'));
  const blocked = pairs().map((pair) => ({ ...pair, lead: 'ours' as const }));
  const result = gate({ records: [record({ pairs: blocked })] });
  assert.equal(result.exitCode, EXIT.pending);
  assert.match(result.reasons[0]?.message ?? '', /order_blocked/);
});

test('an environment without floors, or without a valid calibration, is exit 4', () => {
  assert.deepEqual(
    [gate({ floors: undefined }).exitCode, gate({ floors: undefined }).codes],
    [EXIT.pending, ['no_floor']],
  );
  const old = gate({ aa: aa({ measuredAtMs: NOW - 31 * 24 * 3600 * 1000 }) });
  assert.deepEqual([old.exitCode, old.codes], [EXIT.pending, ['uncalibrated']]);
  const slow = record({ pairs: pairs({ ratio: () => 0.9 }) });
  assert.equal(gate({ aa: undefined, records: [slow] }).exitCode, EXIT.pending);
});

test('attempts are pooled: after a red one, good ones do not make it green by being chosen', () => {
  const red = record({ id: 'a', pairs: pairs({ ratio: () => 0.97 }, 5) });
  const again = (id: string, seed: number) =>
    record({ id, pairs: pairs({ ratio: () => 0.97 }, seed) });
  const { exitCode, attempts, campaign } = gate({
    records: [red, again('b', 6), again('c', 7), again('d', 8)],
  });
  assert.deepEqual([exitCode, attempts], [EXIT.belowFloor, 4]);
  assert.equal(campaign?.cells[0]?.measured, 4 * 24);
  // Each attempt has its own launches, and the 1 % of the family is spent once over all of them.
  const memory = campaign?.cells.find(({ key }) => key === 'peak_memory@c4');
  assert.deepEqual([memory?.statistics?.parts, campaign?.familyAlpha], [null, 0.0025]);
  const launches = campaign?.cells.find(({ key }) => key === 'tpot.mean@c4')?.statistics?.parts;
  assert.equal(launches?.launches, 4 * 12);
  // Four attempts of three looks: the level of each bound is that of twelve looks.
  assert.ok(Math.abs((campaign?.cells[0]?.alpha ?? 0) - 0.025 / 12) < 1e-12);
});

test('a lowered floor in a waiver is green and visible', () => {
  const waivers = CELLS.map(({ axis, c }) => ({
    ...{ axis, c, floor: 0.9, reason: 'A known loss of the rewrite.', approver: 'maintainer' },
    ...{
      link: 'https://example.org/1',
      granted: '2026-11-20',
      expires: '2026-12-20',
      record: 'r0',
    },
  }));
  const slow = [record({ pairs: pairs({ ratio: () => 0.95 }) })];
  assert.equal(gate({ records: slow }).exitCode, EXIT.belowFloor);
  const waived = gate({ records: slow, floors: floors({ waivers }) });
  assert.deepEqual([waived.exitCode, waived.codes], [EXIT.ok, ['waived']]);
  assert.match(waived.reasons[0]?.message ?? '', /0.9 until 2026-12-20 \(maintainer/);
});

test('strict judges without margins, so parity is open', () => {
  assert.equal(gate({ strict: true }).exitCode, EXIT.pending);
});

test('a floor that has been too low for a month reopens the question and names the raise', () => {
  const history = () =>
    [1, 2].map((n) => ({
      ...{ record: `h${n}`, bootId: `b${n}`, lower: 0.995 },
      measuredAtMs: NOW - (60 - n) * 24 * 3600 * 1000,
    }));
  const cells = CELLS.map((cell) => ({ ...cell, floor: 0.9 }));
  const { exitCode, codes, proposals } = gate({ floors: floors({ cells }), history });
  assert.deepEqual([exitCode, codes], [EXIT.pending, ['floor_stale']]);
  assert.equal(proposals['tpot.mean@c1']?.proposed.floor, 0.9463);
});

test('lint refuses gates that cannot fail, each with exit 2', () => {
  // Eight cells at 1 % need ten pairs under Holm.
  const family = { alpha: 0.01, method: 'holm', looks: [8] };
  const cases: [Partial<GateInput>, string][] = [
    [{ floors: floors({ family }) }, 'alpha_unreachable'],
    [
      { floors: floors({ cells: CELLS.map((cell) => ({ ...cell, margin: 0.001 })) }) },
      'loss_undetectable',
    ],
    [
      { floors: floors({ cells: CELLS.map((cell) => ({ ...cell, margin: 0.2 })) }) },
      'margin_too_wide',
    ],
    [{ records: [record({ requestsPerPair: { 1: 48, 4: 9 } })] }, 'percentile_ineligible'],
    [
      { floors: floors({ cells: CELLS.map((cell) => ({ ...cell, set_by: ['r1', 'r0'] })) }) },
      'floor_self_referential',
    ],
    [
      { floors: floors({ cells: CELLS.map((cell) => ({ ...cell, floor: 1.2 })) }) },
      'floor_without_evidence',
    ],
    [
      { floors: floors({ cells: CELLS.map((cell) => ({ ...cell, parity: 0.9 })) }) },
      'floor_above_parity',
    ],
    [
      {
        floors: floors({
          cells: CELLS.map((cell) => ({ ...cell, mode: 'informational' })),
          required: [{ axis: 'tpot.mean', c: 1 }],
        }),
      },
      'nothing_gated',
    ],
  ];
  for (const [change, code] of cases) {
    const result = gate(change);
    assert.deepEqual([result.exitCode, result.codes[0]], [EXIT.usage, code]);
  }
});

test('lint counts the family: a loss that one cell alone could show is not enough for eight', () => {
  const run = aa();
  const [known] = Object.values(run.cells);
  assert.ok(known);
  const even = { ...known, pairSd: 0.01, robustSd: 0.01 };
  const cells = Object.fromEntries(Object.keys(run.cells).map((key) => [key, even]));
  const [alone, family] = [0.01, 0.01 / 8].map((alpha) => detectableLoss(0.01, 24, alpha));
  const margin = ((alone ?? 0) + (family ?? 0)) / 2;
  const tight = floors({ cells: CELLS.map((cell) => ({ ...cell, margin })) });
  assert.equal(gate({ aa: { ...run, cells }, floors: tight }).codes[0], 'loss_undetectable');
});

test('a margin that hides what could be seen needs a waiver, and has it', () => {
  const cells = CELLS.map((cell) => ({ ...cell, margin: 0.2 }));
  const waivers = CELLS.map(({ axis, c }) => ({
    ...{ axis, c, floor: 0.99, reason: 'Noise of the new host is not known.', approver: 'm' },
    ...{
      link: 'https://example.org/1',
      granted: '2026-11-20',
      expires: '2026-12-20',
      record: 'r0',
    },
  }));
  assert.equal(gate({ floors: floors({ cells, waivers }) }).exitCode, EXIT.ok);
});

test('the same input gives the same bytes', () => {
  assert.equal(JSON.stringify(gate()), JSON.stringify(gate()));
});
