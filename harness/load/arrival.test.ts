import assert from 'node:assert/strict';
import { test } from 'node:test';
import { constantArrivals, poissonArrivals, rampArrivals } from './arrival.ts';

function gaps(times: readonly number[]): number[] {
  return times.slice(1).map((time, index) => time - (times[index] ?? 0));
}

test('constant arrivals keep the rate without drift over a million requests', () => {
  const times = constantArrivals(3, 1_000_000);
  assert.equal(times[0], 0);
  assert.equal(times[300_000], 100_000e9);
  assert.equal(times[999_999], 333_333e9);
});

test('Poisson arrivals have the mean and the spread of an exponential distribution', () => {
  const between = gaps(poissonArrivals(50, 20_001, 7));
  const mean = between.reduce((sum, gap) => sum + gap, 0) / between.length;
  const variance = between.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / between.length;
  assert.ok(Math.abs(mean / 20e6 - 1) < 0.03, `mean ${mean}`);
  assert.ok(Math.abs(Math.sqrt(variance) / mean - 1) < 0.05);
  assert.ok(between.every((gap) => gap >= 0));
});

test('a seed gives the same schedule again, another seed another one', () => {
  assert.deepEqual(poissonArrivals(5, 100, 1), poissonArrivals(5, 100, 1));
  assert.notDeepEqual(poissonArrivals(5, 100, 1), poissonArrivals(5, 100, 2));
});

test('a ramp begins at the first rate and ends at the second', () => {
  const times = rampArrivals(10, 100, 10);
  assert.equal(times.length, 550);
  const between = gaps(times);
  assert.ok(Math.abs((between[0] ?? 0) / 100e6 - 1) < 0.1);
  assert.ok(Math.abs((between.at(-1) ?? 0) / 10e6 - 1) < 0.02);
  assert.ok((times.at(-1) ?? 0) <= 10e9);
  assert.deepEqual(gaps(rampArrivals(10, 10, 2)), Array(19).fill(100e6));
});

test('impossible rates are refused with their value', () => {
  assert.throws(() => constantArrivals(0, 1), /rate is 0/);
  assert.throws(() => poissonArrivals(Number.NaN, 1, 1), /NaN/);
  assert.throws(() => rampArrivals(-1, 5, 1), /-1/);
});
