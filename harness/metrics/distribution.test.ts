import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describe, samplesFor } from './distribution.ts';

test('a percentile needs 64, 130 or 662 samples', () => {
  assert.deepEqual([0.9, 0.95, 0.99].map(samplesFor), [64, 130, 662]);
});

test('a percentile that the sample cannot carry is null, the maximum is always there', () => {
  const values = (n: number) => Array.from({ length: n }, (_, index) => index);
  const supported = (n: number) => {
    const seen = describe(values(n));
    return [seen?.p90, seen?.p95, seen?.p99].map((value) => value !== null);
  };
  assert.deepEqual(supported(63), [false, false, false]);
  assert.deepEqual(supported(64), [true, false, false]);
  assert.deepEqual(supported(129), [true, false, false]);
  assert.deepEqual(supported(130), [true, true, false]);
  assert.deepEqual(supported(661), [true, true, false]);
  assert.deepEqual(supported(662), [true, true, true]);
  assert.equal(describe(values(63))?.max, 62);
});

test('mean, median and extremes of a shuffled sample', () => {
  const values = [5, 1, 4, 2];
  assert.deepEqual(describe(values), {
    n: 4,
    mean: 3,
    min: 1,
    p50: 3,
    p90: null,
    p95: null,
    p99: null,
    max: 5,
  });
  assert.deepEqual(values, [5, 1, 4, 2]);
});

test('nothing measured is null, not zero', () => {
  assert.equal(describe([]), null);
});
