import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stored } from './domain.ts';
import { countModes, findModes } from './modes.ts';
import {
  fewestForUpperBound,
  percentile,
  percentileEligibility,
  percentileUpperBound,
} from './percentile.ts';
import { seededRandom } from './random.ts';

const range = (n: number) => Array.from({ length: n }, (_, index) => index + 1);

test('percentiles interpolate between order statistics as numpy does', () => {
  assert.equal(percentile([3, 1, 2, 4], 0.5), 2.5);
  assert.equal(percentile(range(101), 0.99), 100);
  assert.throws(() => percentile([], 0.5), /at least 1/);
});

test('a percentile may gate from 24, 192 and 400 requests a leg and from 2000 pooled', () => {
  for (const [share, requests] of [
    [0.5, 24],
    [0.9, 192],
    [0.95, 400],
  ] as const) {
    const eligible = (perLeg: number) =>
      percentileEligibility(share, { perLeg, pooled: 1e6 }).eligible;
    assert.equal(eligible(requests), true);
    assert.equal(eligible(requests - 1), false);
  }
  const pooled = (n: number) => percentileEligibility(0.99, { perLeg: 1, pooled: n }).eligible;
  assert.deepEqual([pooled(1999), pooled(2000)], [false, true]);
  assert.deepEqual(percentileEligibility(0.999, { perLeg: 1e9, pooled: 1e9 }), {
    eligible: false,
    needed: null,
    counted: 'pooled',
  });
});

test('an upper bound exists from 5, 29, 59, 299 and 2995 requests', () => {
  const shares = [0.5, 0.9, 0.95, 0.99, 0.999];
  assert.deepEqual(
    shares.map((share) => fewestForUpperBound(share)),
    [5, 29, 59, 299, 2995],
  );
  for (const share of shares.slice(0, 4)) {
    const n = fewestForUpperBound(share);
    assert.equal(percentileUpperBound(range(n), share), n);
    assert.equal(percentileUpperBound(range(n - 1), share), null);
  }
});

test('the bound of the median of ten is the ninth value: P(Bin(10, 1/2) <= 8) = 0.989', () => {
  // Eight would be reached with only P(Bin <= 7) = 0.945.
  assert.equal(percentileUpperBound(range(10), 0.5), 9);
});

test('the bound lies above the true percentile in at least 95 of 100 samples', () => {
  const random = seededRandom(31, 'coverage');
  let covered = 0;
  for (let sample = 0; sample < 1000; sample += 1) {
    const values = Array.from({ length: 120 }, random.unit);
    if ((percentileUpperBound(values, 0.9) ?? Infinity) >= 0.9) covered += 1;
  }
  assert.ok(covered >= 935, `covered ${covered} of 1000`);
});

test('two arrival phases are seen as two modes with their places and share', () => {
  const random = seededRandom(32, 'modes');
  const values = Array.from(
    { length: 60 },
    (_, index) => (index % 3 === 0 ? 900 : 450) * (1 + (random.unit() - 0.5) * 0.01),
  );
  const modes = findModes(values);
  assert.ok(modes);
  assert.ok(Math.abs(modes.low - 450) < 3 && Math.abs(modes.high - 900) < 6);
  assert.equal(modes.highShare, 20 / 60);
  assert.ok(modes.split > 460 && modes.split < 890);
});

test('one mode is split by chance in fewer than 1 of 100 samples of any shape and size', () => {
  const random = seededRandom(33, 'one-mode');
  const shapes = [
    random.unit,
    () => -Math.log(1 - random.unit()),
    () => Math.exp(random.unit() + random.unit() + random.unit()),
  ];
  for (const [index, shape] of shapes.entries()) {
    for (const n of [20, 60, 400, 2000]) {
      const samples = n > 100 ? 50 : 400;
      let found = 0;
      for (let sample = 0; sample < samples; sample += 1) {
        if (findModes(Array.from({ length: n }, shape)) !== null) found += 1;
      }
      assert.ok(found <= samples / 100, `shape ${index}, n ${n}: ${found} of ${samples}`);
    }
  }
});

test('a second mode of fewer than a tenth is an outlier, and 19 values show nothing', () => {
  const nearly = [...range(91).map((value) => 100 + value / 100), ...Array(9).fill(900)];
  assert.equal(findModes(nearly), null);
  assert.equal(findModes([...Array(9).fill(1), ...Array(10).fill(2)]), null);
});

test('a leg is described by the split of its arm', () => {
  assert.deepEqual(countModes([1, 2, 3, 9], 5), { low: 2, high: 9, lowCount: 3, highCount: 1 });
  assert.deepEqual(countModes([1], 5), { low: 1, high: null, lowCount: 1, highCount: 0 });
});

test('stored statistics keep twelve significant digits and at most twelve decimals', () => {
  assert.equal(stored(1.23456789012345e-5), 0.000012345679);
  assert.ok(Object.is(stored(-1e-15), 0));
  assert.equal(stored(1 / 3), 0.333333333333);
  assert.equal(stored(-123456.78901234567), -123456.789012);
  assert.equal(stored(Infinity), Infinity);
});
