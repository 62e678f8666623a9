import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logRatio } from './log-ratio.ts';
import { geometricMeanRatio, medianRatio, plainSd, robustSd } from './spread.ts';
import {
  launchInterval,
  launchMeans,
  studentInterval,
  unitOfAnalysis,
  varianceComponents,
} from './student-interval.ts';

function close(actual: number, expected: number, tolerance = 1e-9) {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);
}

test('a log ratio points up when ours is better, whichever way the axis runs', () => {
  close(logRatio('higher', 110, 100) ?? 0, Math.log(1.1));
  close(logRatio('lower', 110, 100) ?? 0, -Math.log(1.1));
  close(logRatio('higher', 1e-300, 1e300) ?? 0, Math.log(1e-300) - Math.log(1e300));
});

test('a zero, a missing value, a negative or non-finite one has no ratio', () => {
  for (const bad of [0, -1, null, undefined, Number.NaN, Infinity]) {
    assert.equal(logRatio('higher', bad, 1), undefined);
    assert.equal(logRatio('lower', 1, bad), undefined);
  }
});

test('the t interval of 1, 2, 3, 4 at 2.5 % is 2.5 -+ 3.1824 x 1.2910 / 2', () => {
  const { estimate, lower, upper } = studentInterval([1, 2, 3, 4], 0.025);
  assert.equal(estimate, 2.5);
  close(upper - estimate, 3.182446305284263 * Math.sqrt(5 / 3) * 0.5);
  close(estimate - lower, upper - estimate);
});

test('one value has no bounds', () => {
  assert.deepEqual(studentInterval([1], 0.025), {
    estimate: 1,
    lower: -Infinity,
    upper: Infinity,
  });
});

test('by launch, pairs that share a launch count once', () => {
  const values = [
    { launch: 0, d: 1 },
    { launch: 0, d: 3 },
    { launch: 1, d: 4 },
    { launch: 2, d: 6 },
  ];
  assert.deepEqual(launchMeans(values), [
    { launch: 0, mean: 2 },
    { launch: 1, mean: 4 },
    { launch: 2, mean: 6 },
  ]);
  assert.deepEqual(launchInterval(values, 0.025), studentInterval([2, 4, 6], 0.025));
});

test('the spread splits into pair and launch by analysis of variance', () => {
  // Three launches of two: within variance (2 x 0.5) each, mean squares 0.5 and 8, so launch variance is 7.5 / 2.
  const values = [
    [0, 1],
    [0, 2],
    [1, 3],
    [1, 4],
    [2, 5],
    [2, 6],
  ].map(([launch = 0, d = 0]) => ({ launch, d }));
  const parts = varianceComponents(values);
  assert.ok(parts);
  close(parts.pairSd, Math.sqrt(0.5));
  close(parts.launchSd, Math.sqrt(3.75));
  assert.equal(parts.launches, 3);
  assert.equal(unitOfAnalysis(parts), 'launch');
  assert.equal(unitOfAnalysis({ pairSd: 0.01, launchSd: 0.0019, launches: 8 }), 'pair');
  assert.equal(unitOfAnalysis({ pairSd: 0.01, launchSd: 0.0021, launches: 8 }), 'launch');
});

test('the spread cannot be split from one launch, nor from launches of one pair', () => {
  assert.equal(
    varianceComponents([
      { launch: 0, d: 1 },
      { launch: 0, d: 2 },
    ]),
    null,
  );
  assert.equal(
    varianceComponents([
      { launch: 0, d: 1 },
      { launch: 1, d: 2 },
    ]),
    null,
  );
});

test('geometric mean, median and both standard deviations of a small sample', () => {
  const d = [Math.log(2), Math.log(8), Math.log(4)];
  close(geometricMeanRatio(d), 4);
  close(medianRatio(d), 4);
  close(plainSd([1, 2, 3, 4]) ?? 0, Math.sqrt(5 / 3));
  // The median absolute deviation of 1, 1, 2, 2, 4, 6, 9 is 1.
  close(robustSd([1, 1, 2, 2, 4, 6, 9]) ?? 0, 1.482602218505602);
  assert.equal(plainSd([1]), null);
  assert.throws(() => geometricMeanRatio([]), /at least 1/);
});
