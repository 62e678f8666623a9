import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holm } from './holm.ts';
import { maxT } from './max-t.ts';
import { seededRandom } from './random.ts';

function tStatistic(values: readonly number[]): number {
  const n = values.length;
  const mean = values.reduce((sum, d) => sum + d, 0) / n;
  const variance = values.reduce((sum, d) => sum + (d - mean) ** 2, 0) / (n - 1);
  return mean / Math.sqrt(variance / n);
}

test('with every sign pattern in mind, the p values lie within sampling error of the exhaustive truth', () => {
  const random = seededRandom(21, 'max-t-truth');
  const pairs = Array.from({ length: 8 }, (_, index) => `p${index}`);
  const cells = [-0.6, -0.2, 0].map((shift, cell) => ({
    key: `cell-${cell}`,
    values: pairs.map((unit) => ({ unit, d: shift + random.unit() * 2 - 1 })),
  }));
  const observed = cells.map(({ values }) => tStatistic(values.map(({ d }) => d)));
  const counts = [0, 0, 0];
  for (let bits = 0; bits < 256; bits += 1) {
    const lowest = Math.min(
      ...cells.map(({ values }) =>
        tStatistic(values.map(({ d }, index) => ((bits >> index) & 1 ? d : -d))),
      ),
    );
    for (const [cell, t] of observed.entries()) {
      if (lowest <= t + 1e-9) counts[cell] = (counts[cell] ?? 0) + 1;
    }
  }
  const found = maxT(cells, { seed: 5 });
  for (const [cell, count] of counts.entries()) {
    const truth = count / 256;
    const p = found.get(`cell-${cell}`) ?? Number.NaN;
    assert.ok(Math.abs(p - truth) < 0.02, `cell ${cell}: ${p}, truth ${truth}`);
  }
});

test('the same input gives the same p values, another seed gives others', () => {
  const cells = [
    { key: 'a', values: [0.1, -0.2, -0.3, -0.1, 0.05].map((d, i) => ({ unit: `p${i}`, d })) },
  ];
  const p = (seed: number) => maxT(cells, { seed, draws: 199 }).get('a');
  assert.equal(p(1), p(1));
  assert.notEqual(p(1), p(2));
});

test('units that are shared by cells are flipped together, so a copy of a cell costs nothing', () => {
  const values = [-0.5, -0.4, 0.1, -0.2, -0.6, -0.3].map((d, i) => ({ unit: `p${i}`, d }));
  const one = maxT([{ key: 'a', values }], { seed: 9 });
  const two = maxT(
    [
      { key: 'a', values },
      { key: 'b', values },
    ],
    { seed: 9 },
  );
  assert.equal(one.get('a'), two.get('a'));
  assert.equal(two.get('b'), two.get('a'));
});

test('a constant loss gets the smallest p value that the number of pairs allows', () => {
  const values = Array.from({ length: 12 }, (_, i) => ({ unit: `p${i}`, d: -0.1 }));
  const p = maxT([{ key: 'a', values }], { seed: 1 }).get('a') ?? 1;
  assert.ok(p <= 0.001, `p ${p}`);
});

test('a cell exactly at its bound has p = 1', () => {
  const values = Array.from({ length: 6 }, (_, i) => ({ unit: `p${i}`, d: 0 }));
  assert.equal(maxT([{ key: 'a', values }], { seed: 1, draws: 99 }).get('a'), 1);
});

test('an empty family, a short cell, a repeated cell and a repeated unit are refused by name', () => {
  const two = [
    { unit: 'p0', d: 1 },
    { unit: 'p1', d: 2 },
  ];
  assert.throws(() => maxT([], { seed: 1 }), /number of cells is 0/);
  assert.throws(
    () => maxT([{ key: 'x', values: two.slice(1) }], { seed: 1 }),
    /cell x.*at least 2/,
  );
  assert.throws(
    () => maxT(Array(2).fill({ key: 'x', values: two }), { seed: 1 }),
    /Cell x is in the family twice/,
  );
  assert.throws(
    () => maxT([{ key: 'x', values: [...two, { unit: 'p1', d: 3 }] }], { seed: 1 }),
    /Cell x holds a unit twice/,
  );
});

test('Holm adjusts 0.01, 0.04, 0.03, 0.005 to 0.03, 0.06, 0.06, 0.02', () => {
  assert.deepEqual(
    holm([0.01, 0.04, 0.03, 0.005]).map((p) => Number(p.toFixed(10))),
    [0.03, 0.06, 0.06, 0.02],
  );
  assert.deepEqual(holm([0.9, 0.8]), [1, 1]);
  assert.deepEqual(holm([]), []);
  assert.throws(() => holm([2]), /p value of 2/);
});
