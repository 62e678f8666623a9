// Expected values are those of scipy 1.x (scipy.stats: norm, t, nct, binom), to its printed digits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  binomialCdf,
  noncentralUpperTail,
  normalCdf,
  studentCdf,
  studentQuantile,
} from './special-functions.ts';

function close(actual: number, expected: number, relative: number) {
  const error = Math.abs(actual - expected) / Math.abs(expected);
  assert.ok(error <= relative, `${actual} is not ${expected} (relative error ${error})`);
}

test('the normal distribution agrees with scipy far into both tails', () => {
  for (const [z, p] of [
    [-8, 6.22096057427174e-16],
    [-3, 0.0013498980316300933],
    [-1, 0.15865525393145707],
    [-0.2, 0.42074029056089696],
    [0, 0.5],
    [0.7, 0.758036347776927],
    [2.5, 0.9937903346742238],
    [6, 0.9999999990134123],
  ] as const) {
    close(normalCdf(z), p, 1e-12);
  }
});

test("Student's distribution agrees with scipy", () => {
  for (const [t, v, p] of [
    [-3.5, 1, 0.08858553278290476],
    [-1, 2, 0.2113248654051871],
    [0.5, 5, 0.6808505641795355],
    [2, 9, 0.9617235881146495],
    [-2.2, 23, 0.019060462116348213],
    [4, 100, 0.9999392381778496],
    [-12, 7, 3.179155189092549e-6],
  ] as const) {
    close(studentCdf(t, v), p, 1e-11);
  }
});

test('t quantiles agree with scipy, up to a family of sixteen at 1 %', () => {
  for (const [p, v, t] of [
    [0.975, 1, 12.706204736174694],
    [0.975, 2, 4.302652729749462],
    [0.975, 9, 2.262157162798205],
    [0.989, 7, 2.930775302838203],
    [0.999375, 15, 3.9629928793325484],
    [0.01, 23, -2.499866739494668],
    [0.9999, 3, 22.203742273205],
    [0.6, 100, 0.25402218245822766],
  ] as const) {
    close(studentQuantile(p, v), t, 1e-10);
  }
});

test('the noncentral t agrees with scipy', () => {
  for (const [t, v, delta, p] of [
    [2.26, 9, 3, 0.7617709755506703],
    [2.13, 15, 1, 0.15348538311699103],
    [4, 2, 5, 0.7649084818307861],
    [3.99, 15, 6.5, 0.980663334864898],
  ] as const) {
    close(noncentralUpperTail(t, v, delta), p, 1e-7);
  }
  // Without a shift it is the central distribution.
  close(noncentralUpperTail(2, 9, 0), 1 - 0.9617235881146495, 1e-7);
});

test('the binomial distribution agrees with scipy and with a coin counted by hand', () => {
  close(binomialCdf(3, 20, 0.025), 0.9986272425539062, 1e-11);
  close(binomialCdf(18, 400, 0.025), 0.9935090867107984, 1e-11);
  close(binomialCdf(990, 1000, 0.99), 0.5426994078251104, 1e-9);
  close(binomialCdf(1, 3, 0.5), 4 / 8, 1e-12);
  assert.equal(binomialCdf(-1, 3, 0.5), 0);
  assert.equal(binomialCdf(3, 3, 0.5), 1);
});

test('arguments outside of the domain are refused', () => {
  assert.throws(() => studentCdf(1, 0), RangeError);
  assert.throws(() => studentQuantile(1, 5), RangeError);
  assert.throws(() => binomialCdf(1, 2, 1.5), RangeError);
});
