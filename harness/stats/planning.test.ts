// The tables of the statistical protocol, cell by cell.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditNoise, flagsAllowed, noticeProbability } from './noise-audit.ts';
import {
  alphaPerLook,
  detectableLoss,
  halfWidthOf,
  pairsForHalfWidth,
  smallestPairs,
} from './planning.ts';

test('three looks are held at 1.1 % each, one at 2.5 %, and many share what is left', () => {
  assert.equal(alphaPerLook(3), 0.011);
  assert.equal(alphaPerLook(1), 0.025);
  assert.equal(alphaPerLook(10), 0.0025);
  assert.throws(() => alphaPerLook(0), /number of looks is 0/);
});

test('the smallest n that can reach alpha / m equals the protocol for every family size', () => {
  const table = [
    [0.05, [5, 7, 9, 11, 12]],
    [0.025, [6, 8, 10, 12, 13]],
    [0.01, [7, 9, 11, 13, 14]],
  ] as const;
  for (const [alpha, expected] of table) {
    assert.deepEqual(
      [1, 4, 16, 64, 124].map((m) => smallestPairs(alpha, m)),
      expected,
    );
  }
});

test('pairs for a half-width equal the protocol', () => {
  for (const [sd, halfWidth, pairs] of [
    [0.01, 0.005, 18],
    [0.01, 0.01, 7],
    [0.02, 0.01, 18],
    [0.02, 0.02, 7],
    [0.05, 0.03, 14],
    [0.05, 0.05, 7],
    [0.12, 0.1, 9],
    [0.12, 0.05, 25],
  ] as const) {
    assert.equal(pairsForHalfWidth(sd, halfWidth), pairs);
    assert.ok(halfWidthOf(sd, pairs, 0.025) <= halfWidth);
    assert.ok(halfWidthOf(sd, pairs - 1, 0.025) > halfWidth);
  }
  assert.equal(pairsForHalfWidth(0, 0.01), 2);
});

test('the detectable loss equals the protocol to its printed digits', () => {
  for (const [sd, n, alpha, percent] of [
    [0.003, 3, 0.025, 0.98],
    [0.01, 6, 0.025, 1.4],
    [0.01, 10, 0.025, 1.0],
    [0.01, 16, 0.025, 0.75],
    [0.02, 16, 0.025, 1.5],
    [0.05, 30, 0.025, 2.6],
    [0.2, 8, 0.025, 23],
    [0.01, 16, 0.01 / 16, 1.2],
    [0.05, 10, 0.01 / 16, 9.1],
    [0.12, 20, 0.01 / 16, 13],
    [0.003, 30, 0.01 / 16, 0.25],
  ] as const) {
    const found = 100 * detectableLoss(sd, n, alpha);
    assert.equal(Number(found.toPrecision(2)), percent, `sd ${sd}, n ${n}: ${found}`);
  }
  assert.equal(detectableLoss(0.01, 1, 0.025), Infinity);
  assert.equal(detectableLoss(0, 8, 0.025), 0);
});

test('an audit of 20, 50, 100, 200, 400 A/A cells allows 3, 4, 7, 11, 18 flags', () => {
  assert.deepEqual(
    [20, 50, 100, 200, 400].map((cells) => flagsAllowed(cells)),
    [3, 4, 7, 11, 18],
  );
});

test('the audit notices a true 10 % with the published probabilities', () => {
  assert.deepEqual(
    [20, 50, 100, 200, 400].map((cells) => Math.round(100 * noticeProbability(cells, 0.1))),
    [13, 57, 79, 98, 100],
  );
});

test('flags that all point one way are unsound even when their sum would pass for two sides', () => {
  assert.equal(auditNoise({ cells: 400, flaggedBelow: 18, flaggedAbove: 18 }).sound, true);
  assert.equal(auditNoise({ cells: 400, flaggedBelow: 19, flaggedAbove: 0 }).sound, false);
  assert.equal(auditNoise({ cells: 20, flaggedBelow: 0, flaggedAbove: 4 }).sound, false);
});

test('a spread that is no number is refused', () => {
  assert.throws(() => detectableLoss(Number.NaN, 8, 0.025), /deviation of NaN/);
  assert.throws(() => pairsForHalfWidth(0.01, 0), /half-width of 0/);
});
