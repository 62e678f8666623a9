import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMirrored, makePlan, orderString, type PlanOptions, runningOrder } from './plan.ts';

const OPTIONS: PlanOptions = {
  seed: 7,
  concurrencies: [1, 2, 4, 8],
  residency: 'co-resident',
  slice: 'leg',
};

test('the same seed gives the same plan, another seed another order', () => {
  assert.deepEqual(makePlan(OPTIONS), makePlan(OPTIONS));
  assert.notEqual(orderString(makePlan(OPTIONS)), orderString(makePlan({ ...OPTIONS, seed: 8 })));
});

test('three looks at 8, 16 and 24 pairs of each cell, each at 1.1 %, in 12 launches of one quad', () => {
  const plan = makePlan(OPTIONS);
  assert.deepEqual(plan.looks, [
    { pairs: 8, alpha: 0.011, last: false },
    { pairs: 16, alpha: 0.011, last: false },
    { pairs: 24, alpha: 0.011, last: true },
  ]);
  assert.equal(plan.pairs.length, 4 * 24);
  assert.equal(plan.launches, 12);
  assert.equal(new Set(plan.pairs.map(({ id }) => id)).size, 96);
});

test('every quad is ABBA or BAAB, both occur, and its pairs follow each other', () => {
  const { pairs } = makePlan(OPTIONS);
  const kinds = new Set<string>();
  for (let index = 0; index < pairs.length; index += 2) {
    const [one, two] = [pairs[index], pairs[index + 1]];
    assert.ok(one && two);
    assert.deepEqual([one.concurrency, one.quad], [two.concurrency, two.quad]);
    kinds.add([...one.slices, ...two.slices].map((role) => role.charAt(0)).join(''));
  }
  assert.deepEqual([...kinds].sort(), ['orro', 'roor']);
});

test('each repetition visits every concurrency once, in an order that is not always the same', () => {
  const { pairs } = makePlan(OPTIONS);
  const orders = new Set<string>();
  for (let quad = 0; quad < 12; quad += 1) {
    const visited = pairs.filter((pair) => pair.quad === quad).map((pair) => pair.concurrency);
    assert.deepEqual([...new Set(visited)].sort(), [1, 2, 4, 8]);
    orders.add(visited.join());
  }
  assert.ok(orders.size > 3);
});

test('fine slicing gives each arm its slices in mirrored groups', () => {
  const { pairs } = makePlan({ ...OPTIONS, slice: 'request' });
  for (const { slices } of pairs) {
    assert.equal(slices.length, 40);
    for (let group = 0; group < 40; group += 4) {
      const [a, b, c, d] = slices.slice(group, group + 4);
      assert.ok(a === d && b === c && a !== b);
    }
  }
});

test('arms that exclude each other start anew for every leg and slice by leg only', () => {
  const plan = makePlan({ ...OPTIONS, residency: 'exclusive' });
  assert.equal(plan.launches, plan.pairs.length);
  assert.throws(
    () => makePlan({ ...OPTIONS, residency: 'exclusive', slice: 'burst' }),
    /needs both servers resident/,
  );
});

test('blocked order runs one arm after the other and says that it does not bind', () => {
  const plan = makePlan({ ...OPTIONS, order: 'blocked', concurrencies: [1], looks: [8] });
  assert.deepEqual(plan.nonBinding, ['order_blocked']);
  const roles = runningOrder(plan).map(({ role }) => role);
  assert.deepEqual(roles, [...Array(8).fill('ours'), ...Array(8).fill('reference')]);
  assert.deepEqual(makePlan(OPTIONS).nonBinding, []);
});

test('mirrored order is recognised in what was measured, also where voids left a pair alone', () => {
  const pair = (quad: number, lead: 'ours' | 'reference') => ({ concurrency: 1, quad, lead });
  assert.equal(isMirrored([pair(0, 'ours'), pair(0, 'reference'), pair(1, 'ours')]), true);
  assert.equal(isMirrored([pair(0, 'ours'), pair(0, 'ours')]), false);
});

test('plans that cannot be sound are refused with the value and what to do', () => {
  const refused = (change: Partial<PlanOptions>, message: RegExp) =>
    assert.throws(() => makePlan({ ...OPTIONS, ...change }), message);
  refused({ quadsPerLaunch: 4 }, /3 launches; at least 4/);
  refused({ looks: [8, 8] }, /Looks at 8, 8/);
  refused({ looks: [7] }, /even numbers/);
  refused({ looks: [] }, /Looks at no pairs/);
  refused({ concurrencies: [] }, /Concurrency is missing/);
  refused({ concurrencies: [0] }, /Concurrency 0/);
  refused({ concurrencies: [2, 2] }, /repeat/);
  refused({ slice: 'burst', slicesPerArm: 3 }, /3 slices an arm/);
  refused({ seed: -1 }, /seed of -1/);
});
