import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Axis, findAxis } from './axis.ts';
import { campaignVoids, cellPairs, type MeasuredPair, repairablePairs } from './pairs.ts';
import { VOID_CODES, type VoidCode, voidCode } from './void-codes.ts';

function axis(id: string): Axis {
  const found = findAxis(id);
  assert.ok(found);
  return found;
}

function pair(index: number, change: Partial<MeasuredPair> = {}): MeasuredPair {
  return {
    id: `p${index}`,
    concurrency: 2,
    quad: index >> 1,
    launch: index >> 1,
    lead: index % 2 === 0 ? 'ours' : 'reference',
    ours: { output_throughput: 110, 'tpot.mean': 10 },
    reference: { output_throughput: 100, 'tpot.mean': 11 },
    voids: [],
    ...change,
  };
}

const ten = (change: (index: number) => Partial<MeasuredPair> = () => ({})) =>
  Array.from({ length: 10 }, (_, index) => pair(index, change(index)));

const THROUGHPUT = axis('output_throughput');
const codes = (pairs: MeasuredPair[], of = THROUGHPUT) =>
  cellPairs(of, 2, pairs).reasons.map(({ code }) => code);

test('ratios of ten pairs point up on both axes and keep their launch', () => {
  const throughput = cellPairs(THROUGHPUT, 2, ten());
  const tpot = cellPairs(axis('tpot.mean'), 2, ten());
  assert.equal(throughput.values.length, 10);
  assert.ok(throughput.values.every(({ d }) => Math.abs(d - Math.log(1.1)) < 1e-12));
  assert.ok(tpot.values.every(({ d }) => Math.abs(d - Math.log(1.1)) < 1e-12));
  assert.deepEqual(throughput.values.map(({ launch }) => launch).slice(0, 3), [0, 0, 1]);
  assert.equal(cellPairs(THROUGHPUT, 4, ten()).measured, 0);
});

test('a pair that was disturbed from outside is left out, counted and may be measured again', () => {
  const pairs = ten((index) => (index === 3 ? { voids: [{ code: 'contended' }] } : {}));
  const again = [...pairs, pair(10, { replaces: 'p3' })];
  assert.deepEqual(
    repairablePairs(pairs).map(({ id }) => id),
    ['p3'],
  );
  assert.deepEqual(repairablePairs(again), []);
  const cell = cellPairs(THROUGHPUT, 2, again);
  assert.deepEqual([cell.values.length, cell.measured, cell.voided], [10, 11, 1]);
  assert.deepEqual(cell.reasons, []);
});

test('four of ten void pairs are borne, five are too many', () => {
  const voided = (count: number) =>
    ten((index) => (index < count ? { voids: [{ code: 'throttled' }] } : {}));
  assert.deepEqual(codes(voided(4)), []);
  assert.deepEqual(codes(voided(5)), ['over_voided']);
});

test('what an arm can cause itself voids the cell, names the arm, and is never measured again', () => {
  for (const code of VOID_CODES.filter((each) => voidCode(each).class === 'endogenous')) {
    const pairs = ten((index) => (index === 0 ? { voids: [{ code, arm: 'ours' }] } : {}));
    const { reasons } = cellPairs(THROUGHPUT, 2, pairs);
    assert.deepEqual(reasons[0], { code, arm: 'ours' });
    assert.deepEqual(repairablePairs(pairs), []);
  }
});

test('a saturated client voids the cell, for another try would change nothing', () => {
  const pairs = ten((index) => (index === 0 ? { voids: [{ code: 'client_saturated' }] } : {}));
  assert.deepEqual(codes(pairs), ['client_saturated']);
  assert.deepEqual(repairablePairs(pairs), []);
});

test('only a void pair may be replaced, only from outside causes, and only once', () => {
  const replacing = (code: VoidCode | undefined, times: number, of = 'p0') => [
    ...ten((index) => (index === 0 && code ? { voids: [{ code }] } : {})),
    ...Array.from({ length: times }, (_, index) => pair(10 + index, { replaces: of })),
  ];
  assert.deepEqual(codes(replacing('contended', 1)), []);
  assert.deepEqual(codes(replacing(undefined, 1)), ['replacement_refused']);
  assert.deepEqual(codes(replacing('contended', 2)), ['replacement_refused']);
  assert.deepEqual(codes(replacing('contended', 1, 'p99')), ['replacement_refused']);
  assert.ok(codes(replacing('requests_failed', 1)).includes('replacement_refused'));
  assert.deepEqual(codes([...ten(), pair(0)]), ['replacement_refused']);
});

test('a zero, a null, a missing or non-finite value voids the cell instead of making a ratio', () => {
  for (const bad of [0, null, Number.NaN, Infinity, -1, undefined]) {
    const values = bad === undefined ? {} : { output_throughput: bad };
    const { reasons } = cellPairs(
      THROUGHPUT,
      2,
      ten((i) => (i === 5 ? { reference: values } : {})),
    );
    assert.equal(reasons[0]?.code, 'value_unusable');
    assert.equal(reasons[0]?.arm, 'reference');
    assert.match(reasons[0]?.detail ?? '', /output_throughput of pair p5 is/);
  }
});

test('seconds in place of milliseconds are caught, in one arm by the ratio and in both by the range', () => {
  const tpot = axis('tpot.mean');
  const one = ten(() => ({ ours: { 'tpot.mean': 0.02 }, reference: { 'tpot.mean': 20 } }));
  assert.deepEqual(codes(one, tpot), ['value_unusable']);
  assert.match(cellPairs(tpot, 2, one).reasons[0]?.detail ?? '', /differs 1.00e\+3 times/);
  const both = ten(() => ({ ours: { 'tpot.mean': 0.002 }, reference: { 'tpot.mean': 0.002 } }));
  assert.match(cellPairs(tpot, 2, both).reasons[0]?.detail ?? '', /0.002 ms: no such value/);
});

test('session codes are found wherever they were marked, and a dirty tree voids nothing', () => {
  const pairs = ten((index) => (index === 7 ? { voids: [{ code: 'boot_changed' }] } : {}));
  assert.deepEqual(campaignVoids(pairs), [{ code: 'boot_changed' }]);
  const dirty = ten(() => ({ voids: [{ code: 'dirty_tree' }] }));
  assert.deepEqual(campaignVoids(dirty), []);
  assert.equal(cellPairs(THROUGHPUT, 2, dirty).values.length, 10);
});

test('every void code has a sentence and a hint that end as sentences do', () => {
  for (const code of VOID_CODES) {
    const { sentence, hint } = voidCode(code);
    assert.match(sentence, /^[A-Z].*\.$/, code);
    assert.match(hint, /^[A-Z].*(\.|--aa|doctor)$/, code);
  }
});
