import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hodgesLehmann, walshAverages } from './hodges-lehmann.ts';
import { seededRandom } from './random.ts';
import { criticalCount, signedRankCdf, signedRankTest } from './signed-rank.ts';

/** The statistic with mid-ranks of |d|, zeros ranked but unsigned, straight from the definition. */
function statistic(d: readonly number[], signs: readonly number[]): number {
  let sum = 0;
  for (const [index, value] of d.entries()) {
    if (value === 0 || signs[index] !== 1) continue;
    const size = Math.abs(value);
    const below = d.filter((other) => Math.abs(other) < size).length;
    const equal = d.filter((other) => Math.abs(other) === size).length;
    sum += below + (equal + 1) / 2;
  }
  return sum;
}

/** Every assignment of signs, one by one. */
function bruteForce(d: readonly number[]) {
  const observed = statistic(d, d.map(Math.sign));
  let [less, greater] = [0, 0];
  for (let bits = 0; bits < 2 ** d.length; bits += 1) {
    const w = statistic(
      d,
      d.map((_, index) => ((bits >> index) & 1 ? 1 : -1)),
    );
    if (w <= observed) less += 1;
    if (w >= observed) greater += 1;
  }
  return { less: less / 2 ** d.length, greater: greater / 2 ** d.length, observed };
}

function close(actual: number, expected: number, tolerance = 1e-12) {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);
}

test('the distribution for three pairs is 1, 2, 3, 5, 6, 7, 8 eighths', () => {
  assert.deepEqual(
    [...signedRankCdf(3)].map((share) => share * 8),
    [1, 2, 3, 5, 6, 7, 8],
  );
});

test('p values equal those of all sign assignments, for samples with and without ties and zeros', () => {
  const random = seededRandom(11, 'signed-rank');
  for (let n = 1; n <= 10; n += 1) {
    for (const grid of [0, 2]) {
      const d = Array.from({ length: n }, () => {
        const value = random.unit() * 6 - 3;
        return grid === 0 ? value : Math.round(value * grid) / grid;
      });
      const expected = bruteForce(d);
      const found = signedRankTest(d);
      close(found.statistic, expected.observed);
      close(found.pLess, expected.less);
      close(found.pGreater, expected.greater);
    }
  }
});

test('the p value of a sample of ten equals that of scipy.stats.wilcoxon', () => {
  const found = signedRankTest([1.2, -0.3, 0.7, 2.5, -1.1, 0.4, 0.9, -0.05, 1.6, 0.33]);
  close(found.statistic, 45);
  close(found.pLess, 0.9677734375);
  close(found.pGreater, 0.0419921875);
});

test('a sample of zeros is no evidence', () => {
  assert.deepEqual(signedRankTest([0, 0, 0]), { statistic: 0, pLess: 1, pGreater: 1 });
});

test('at 200 pairs the distribution is still exact: it starts at 2^-200 and ends at one', () => {
  const cdf = signedRankCdf(200);
  assert.equal(cdf.length, 20101);
  assert.equal(cdf[0], 2 ** -200);
  close(cdf[20100] ?? 0, 1, 1e-12);
  // Symmetry about the middle: P(W <= m - 1) + P(W <= m) = 1 around total / 2 = 10050.
  close((cdf[10049] ?? 0) + (cdf[10050] ?? 0), 1, 1e-12);
});

test('the published critical values are met: five of ten pairs outside at 2.5 % is W <= 8', () => {
  // Tables: two-sided 5 % critical values 0, 2, 3, 5, 8, 52 for n = 6, 7, 8, 9, 10, 20.
  const tables = [
    [6, 0],
    [7, 2],
    [8, 3],
    [9, 5],
    [10, 8],
    [20, 52],
  ] as const;
  for (const [n, largest] of tables) assert.equal(criticalCount(n, 0.025), largest + 1);
  assert.equal(criticalCount(5, 0.025), 0);
  // A probability of exactly the level is still within it.
  assert.equal(criticalCount(6, 1 / 64), 1);
});

test('the interval inverts the test: a bound is where the exact p value crosses the level', () => {
  const random = seededRandom(12, 'interval');
  for (let n = 6; n <= 12; n += 1) {
    const d = Array.from({ length: n }, () => random.unit() * 2 - 0.7);
    const { lower, upper } = hodgesLehmann(d, 0.025);
    const p = (shift: number) => signedRankTest(d.map((value) => value - shift));
    assert.ok(p(lower - 1e-9).pGreater <= 0.025, 'below L the hypothesis is rejected');
    assert.ok(p(lower + 1e-9).pGreater > 0.025, 'above L it is not');
    assert.ok(p(upper + 1e-9).pLess <= 0.025);
    assert.ok(p(upper - 1e-9).pLess > 0.025);
  }
});

test('Hodges-Lehmann of 1, 2, 6 is the median of 1, 1.5, 2, 3.5, 4, 6', () => {
  assert.deepEqual([...walshAverages([1, 2, 6])], [1, 1.5, 2, 3.5, 4, 6]);
  assert.equal(hodgesLehmann([6, 1, 2], 0.2).estimate, 2.75);
  assert.equal(hodgesLehmann([4], 0.2).estimate, 4);
});

test('no bound is claimed where none exists', () => {
  const { lower, upper } = hodgesLehmann([1, 2, 3, 4, 5], 0.025);
  assert.deepEqual([lower, upper], [-Infinity, Infinity]);
});

test('empty and non-finite samples are refused', () => {
  assert.throws(() => signedRankTest([]), RangeError);
  assert.throws(() => hodgesLehmann([1, Number.NaN], 0.025), /value 1 is NaN/);
  assert.throws(() => hodgesLehmann([1], 0), /level of a bound is 0/);
});
