import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  meanInterval,
  normalQuantile,
  poissonInterval,
  possibleRanks,
  studentWidth,
  wilsonInterval,
} from './intervals.ts';

const near = (actual: number, expected: number, by: number) =>
  assert.ok(Math.abs(actual - expected) <= by, `${actual} is not ${expected} +- ${by}`);

test('Poisson intervals are the exact ones of the published table', () => {
  const table: [number, number, number][] = [
    [0, 0, 3.689],
    [3, 0.619, 8.767],
    [30, 20.24, 42.83],
    [100, 81.36, 121.63],
    [186, 160.2, 214.7],
    [1000, 938.97, 1063.95],
  ];
  for (const [k, low, high] of table) {
    const interval = poissonInterval(k);
    near(interval.low, low, 0.05);
    near(interval.high, high, 0.05);
  }
  const large = poissonInterval(22_000);
  near(large.high / 22_000 - 1, 0.0133, 0.0002);
});

test('a share of zero has an upper bound, and no samples say nothing', () => {
  assert.deepEqual(wilsonInterval(0, 0), { low: 0, high: 1 });
  const none = wilsonInterval(0, 100);
  assert.equal(none.low, 0);
  near(none.high, 0.037, 0.001);
  const third = wilsonInterval(63, 186);
  near(third.low, 0.275, 0.002);
  near(third.high, 0.41, 0.002);
});

test('quantiles match the tables', () => {
  near(normalQuantile(0.95), 1.959964, 1e-5);
  near(studentWidth(1), 12.7062, 1e-3);
  near(studentWidth(2), 4.30265, 1e-4);
  near(studentWidth(9), 2.26216, 1e-4);
  near(studentWidth(30, 0.99), 2.74999, 1e-4);
});

test('one value has no interval, equal values have one of no width', () => {
  assert.equal(meanInterval([3]).interval.high, Infinity);
  assert.deepEqual(meanInterval([2, 2, 2]).interval, { low: 2, high: 2 });
});

test('overlapping intervals share their ranks', () => {
  const ranks = possibleRanks([
    { low: 5, high: 6 },
    { low: 2, high: 4 },
    { low: 3, high: 4.5 },
    { low: 0, high: 1 },
  ]);
  assert.deepEqual(ranks, [
    { best: 1, worst: 1 },
    { best: 2, worst: 3 },
    { best: 2, worst: 3 },
    { best: 4, worst: 4 },
  ]);
});
