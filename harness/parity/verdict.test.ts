import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Axis, findAxis } from './axis.ts';
import type { MeasuredPair } from './pairs.ts';
import { type CellQuestion, judgeCell } from './verdict.ts';

function axis(id: string): Axis {
  const found = findAxis(id);
  assert.ok(found);
  return found;
}

/** Pairs with these ratios on the axis, two to a launch, orders mirrored. */
function pairsOf(id: string, ratios: readonly number[], change: Partial<MeasuredPair> = {}) {
  const lower = axis(id).direction === 'lower';
  return ratios.map(
    (ratio, index): MeasuredPair => ({
      id: `p${index}`,
      concurrency: 4,
      quad: index >> 1,
      launch: index >> 1,
      lead: index % 2 === 0 ? 'ours' : 'reference',
      ours: { [id]: lower ? 1e6 / ratio : 1e6 * ratio },
      reference: { [id]: 1e6 },
      requests: 48,
      voids: [],
      ...change,
    }),
  );
}

/** n ratios spread evenly and symmetrically (on the log scale) around the centre. */
function around(centre: number, spread: number, n: number): number[] {
  return Array.from({ length: n }, (_, i) => centre * Math.exp(spread * ((2 * i) / (n - 1) - 1)));
}

const QUESTION: CellQuestion = {
  axis: axis('output_throughput'),
  concurrency: 4,
  floor: 1,
  margin: 0.01,
  look: { alpha: 0.011, last: true },
  unit: 'pair',
};

function verdictOf(ratios: readonly number[], change: Partial<CellQuestion> = {}) {
  const question = { ...QUESTION, ...change };
  return judgeCell(question, pairsOf(question.axis.id, ratios));
}

test('PASS, BELOW-FLOOR and PENDING follow from the bounds against floor x (1 - margin)', () => {
  assert.equal(verdictOf(around(1, 0.004, 16)).verdict, 'PASS');
  assert.equal(verdictOf(around(0.965, 0.004, 16)).verdict, 'BELOW-FLOOR');
  const pending = verdictOf(around(0.99, 0.04, 16));
  assert.deepEqual([pending.verdict, pending.pending], ['PENDING', 'inconclusive']);
  assert.ok((pending.missingUnits ?? 0) > 0);
});

test('the bounds of 16 pairs at 1.1 % are the 25th Walsh averages from outside: P(W <= 24) = 0.0107', () => {
  const ratios = around(1, 0.016, 16);
  const { ratio, statistics } = verdictOf(ratios);
  const averages = ratios
    .flatMap((x, i) => ratios.slice(i).map((y) => Math.log(x * y) / 2))
    .sort((x, y) => x - y);
  assert.ok(ratio && statistics);
  assert.ok(Math.abs(ratio.lower - Math.exp(averages[24] ?? 0)) < 1e-12);
  assert.ok(Math.abs(ratio.upper - Math.exp(averages[136 - 25] ?? 0)) < 1e-12);
  assert.ok(Math.abs(ratio.estimate - 1) < 1e-12);
  assert.equal(statistics.n, 16);
  assert.ok(Math.abs(statistics.min - Math.exp(-0.016)) < 1e-12);
});

test('a latency that rises is a loss and one that falls is a gain', () => {
  const change = { axis: axis('tpot.mean') };
  assert.equal(verdictOf(around(0.95, 0.004, 16), change).verdict, 'BELOW-FLOOR');
  const better = verdictOf(around(1.05, 0.004, 16), change);
  assert.deepEqual([better.verdict, better.superior, better.position], ['PASS', true, 'above']);
});

test('flags: at parity equivalent, above superior, slightly below a pass that is strictly below', () => {
  const at = verdictOf(around(1, 0.004, 16));
  assert.deepEqual(
    [at.position, at.equivalent, at.superior, at.strict],
    ['at', true, false, 'unresolved'],
  );
  const below = verdictOf(around(0.995, 0.002, 16));
  assert.deepEqual([below.verdict, below.position, below.strict], ['PASS', 'below', 'below']);
  const above = verdictOf(around(1.05, 0.004, 16));
  assert.deepEqual([above.equivalent, above.superior, above.strict], [false, true, 'above']);
});

test('without a margin parity itself is no longer a pass', () => {
  assert.equal(verdictOf(around(1, 0.004, 16), { margin: 0 }).verdict, 'PENDING');
});

test('red is decided only at the last look', () => {
  const early = verdictOf(around(0.9, 0.004, 8), { look: { alpha: 0.011, last: false } });
  assert.deepEqual([early.verdict, early.pending], ['PENDING', 'below_at_early_look']);
  const passes = verdictOf(around(1, 0.004, 8), { look: { alpha: 0.011, last: false } });
  assert.equal(passes.verdict, 'PASS');
});

test('six pairs can say nothing at 1.1 %, and no pair at all is no verdict', () => {
  const six = verdictOf(around(0.5, 0.004, 6));
  assert.deepEqual([six.verdict, six.pending], ['PENDING', 'too_few_pairs']);
  assert.equal(judgeCell(QUESTION, []).pending, 'too_few_pairs');
});

test('a void cell quotes no number', () => {
  const pairs = pairsOf('output_throughput', around(1, 0.01, 16), {
    voids: [{ code: 'length_mismatch', arm: 'reference' }],
  });
  const cell = judgeCell(QUESTION, pairs);
  assert.equal(cell.verdict, 'VOID');
  assert.deepEqual(cell.voids, [{ code: 'length_mismatch', arm: 'reference' }]);
  assert.deepEqual([cell.ratio, cell.statistics, cell.bound], [undefined, undefined, 0.99]);
});

test('with launches as the unit sixteen pairs are eight values, and three launches are too few', () => {
  const cell = verdictOf(around(1, 0.004, 16), { unit: 'launch' });
  assert.deepEqual([cell.statistics?.treatment, cell.statistics?.n], ['launches', 8]);
  const few = verdictOf(around(0.5, 0.0004, 6), { unit: 'launch' });
  assert.deepEqual([few.verdict, few.pending], ['PENDING', 'too_few_launches']);
});

test('memory counts once a launch: the peak of its pairs', () => {
  const memory = axis('peak_memory');
  const cell = verdictOf(around(1, 0.05, 16), { axis: memory });
  assert.deepEqual([cell.statistics?.treatment, cell.statistics?.n], ['launches', 8]);
});

test('memory that hardly varies gets the hard rule: worst of ours against best of the reference', () => {
  const calibration = { pairSd: 0.002, launchSd: 0 };
  const rule = (ratios: readonly number[]) =>
    verdictOf(ratios, { axis: axis('peak_memory'), calibration });
  const cell = rule([1, 1, 0.995, 1, 1, 1.01, 1, 1]);
  assert.equal(cell.statistics?.treatment, 'extremes');
  assert.ok(Math.abs((cell.ratio?.lower ?? 0) - 0.995) < 1e-12);
  assert.ok(Math.abs((cell.ratio?.upper ?? 0) - 1.01) < 1e-12);
  assert.equal(cell.verdict, 'PASS');
  assert.equal(rule([1, 1, 0.98, 1, 1, 1, 1, 1]).verdict, 'PENDING');
  assert.equal(rule(Array(8).fill(0.95)).verdict, 'BELOW-FLOOR');
});

test('an axis that never varies is compared exactly and without a margin', () => {
  const calibration = { pairSd: 0, launchSd: 0 };
  assert.equal(verdictOf(Array(8).fill(1), { calibration }).verdict, 'PASS');
  const worse = verdictOf(Array(8).fill(0.9999), { calibration });
  assert.deepEqual([worse.verdict, worse.margin], ['BELOW-FLOOR', 0]);
});

test('a percentile of too few requests is not gated', () => {
  const p50 = axis('ttft.p50');
  const judge = (requests: number) =>
    judgeCell({ ...QUESTION, axis: p50 }, pairsOf('ttft.p50', around(1, 0.004, 16), { requests }));
  assert.deepEqual([judge(23).verdict, judge(23).pending], ['PENDING', 'percentile_ineligible']);
  assert.equal(judge(24).verdict, 'PASS');
  const uneven = pairsOf('ttft.p50', around(1, 0.004, 16)).map((pair, index) =>
    index === 3 ? { ...pair, requests: 23 } : pair,
  );
  assert.equal(judgeCell({ ...QUESTION, axis: p50 }, uneven).pending, 'percentile_ineligible');
});

test('the loss that the run could have seen is printed with every verdict', () => {
  const { statistics } = verdictOf(around(1, 0.0186, 16), { look: { alpha: 0.025, last: true } });
  // The sample sd of these ratios is 1.18 %, for which the protocol gives 1.18 x 0.75 %.
  assert.ok(Math.abs((statistics?.sd ?? 0) - 0.0118) < 1e-4);
  assert.ok(Math.abs((statistics?.detectableLoss ?? 0) - 0.0088) < 2e-4);
});

test('a warning is set where the t interval would have decided otherwise', () => {
  // One spike of 30 % widens the t interval beyond the margin; the exact interval ignores it.
  const ratios = [...around(1, 0.003, 15), 0.7];
  assert.deepEqual([verdictOf(ratios).verdict, verdictOf(ratios).methodsDisagree], ['PASS', true]);
  assert.equal(verdictOf(around(1, 0.003, 16)).methodsDisagree, false);
});

test('a cell of two modes compares their places, and says when ours is in the slow one more often', () => {
  const p50 = axis('ttft.p50');
  const judge = (highOurs: number, highCount: number, n = 16) => {
    const pairs = pairsOf('ttft.p50', around(0.6, 0.4, n)).map((pair, index) => ({
      ...pair,
      modes: {
        'ttft.p50': {
          ours: {
            ...{ low: 450 + (index % 5), high: highOurs + (index % 3) },
            ...{ lowCount: 48 - highCount - (index % 2), highCount: highCount + (index % 2) },
          },
          reference: { low: 452, high: 901, lowCount: 24, highCount: 24 },
        },
      },
    }));
    return judgeCell({ ...QUESTION, axis: p50 }, pairs);
  };
  const same = judge(900, 23);
  assert.equal(same.verdict, 'PASS', 'although the medians are 40 % apart');
  assert.ok(same.modes && Math.abs(same.modes.highShare.reference - 0.5) < 1e-12);
  assert.equal(judge(1000, 23).verdict, 'BELOW-FLOOR');
  // Seven pairs reach 0.78 %, under 1.1 % but over the half of it that each of two modes has.
  assert.equal(judge(1000, 23, 7).verdict, 'PENDING');
  assert.deepEqual([judge(900, 40).verdict, judge(900, 40).pending], ['PENDING', 'mode_share']);
});

test('a floor or a margin that is no such thing is refused with its value', () => {
  assert.throws(() => judgeCell({ ...QUESTION, floor: 0 }, []), /floor of 0/);
  assert.throws(() => judgeCell({ ...QUESTION, margin: 1 }, []), /margin of 1/);
});
