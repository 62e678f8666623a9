// The acceptance checks of the statistical protocol through the real code, with arms whose truth is known; short and
// seeded. The same questions with thousands of runs are in acceptance.slow.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findAxis, PRIMARY_AXES } from './axis.ts';
import { judgeCampaign } from './family.ts';
import { makePlan } from './plan.ts';
import {
  auditEqualArms,
  biasUnderRamp,
  redShare,
  sequentialPasses,
  twoModeVerdicts,
  verdictShares,
  voidByForeignShare,
} from './protocol-experiments.ts';
import { NOISE, simulate } from './simulated-arms.ts';

test('check 1: of 400 A/A cells at most 18 are flagged on each side, on a GPU, a VM and a bad VM', () => {
  for (const [index, noise] of [NOISE.gpu, NOISE.vm, NOISE.badVm].entries()) {
    const { cells, allowed, sound, flaggedBelow, flaggedAbove } = auditEqualArms(
      { noise },
      400,
      index,
    );
    assert.deepEqual([cells, allowed], [400, 18]);
    assert.ok(sound, `profile ${index}: ${flaggedBelow} below, ${flaggedAbove} above`);
  }
});

test('check 1, the other way: pairs that share four launches are not independent, and the audit sees it', () => {
  const truth = { noise: NOISE.gpu, launchSd: 0.01 };
  assert.equal(auditEqualArms(truth, 400, 9, { quadsPerLaunch: 2 }).sound, false);
});

test('check 2: a planted loss of two margins is found on every axis, and slowing the reference is superior', () => {
  const plan = makePlan({ seed: 2, concurrencies: [1, 4], residency: 'co-resident', slice: 'leg' });
  for (const planted of PRIMARY_AXES) {
    for (const ratio of [0.98, 1 / 0.98]) {
      const truth = (axis: string) => (axis === planted ? ratio : 1);
      const pairs = simulate(plan, { noise: NOISE.gpu, seed: 20, ratio: truth });
      const questions = [1, 4].flatMap((concurrency) =>
        PRIMARY_AXES.map((id) => {
          const axis = findAxis(id);
          assert.ok(axis);
          const look = { alpha: 0.011, last: true };
          const cell = { axis, concurrency, floor: 1, margin: 0.01, look };
          return { ...cell, unit: 'pair' as const, gated: true };
        }),
      );
      const family = { alpha: 0.01, method: 'maxT' as const, seed: 3, draws: 1999 };
      const { cells, verdict } = judgeCampaign(questions, pairs, family);
      assert.equal(verdict, ratio < 1 ? 'BELOW-FLOOR' : 'PASS', `${planted} at ${ratio}`);
      for (const cell of cells) {
        const own = cell.axis === planted;
        assert.equal(cell.verdict, own && ratio < 1 ? 'BELOW-FLOOR' : 'PASS', cell.key);
        if (own) assert.equal(cell.superior, ratio > 1, cell.key);
      }
    }
  }
});

test('check 3: in GPU noise 16 pairs tell 0.965 from 1 and from 1.02 in at least 98 of 100 runs', () => {
  const share = (ratio: number) =>
    verdictShares({ noise: NOISE.gpu, ratio }, { pairs: 16, margin: 0.01 }, 200, 3);
  assert.ok(share(0.965)['BELOW-FLOOR'] >= 0.98);
  assert.ok(share(1).PASS >= 0.98);
  assert.ok(share(1.02).PASS >= 0.98);
});

test('check 5: a machine that slows by 0.4 % a leg biases mirrored pairs by under 0.1 %, blocked arms by 3.2 %', () => {
  for (let seed = 0; seed < 20; seed += 1) {
    assert.ok(Math.abs(biasUnderRamp('mirrored', 0.004, seed)) < 0.001);
  }
  assert.ok(Math.abs(biasUnderRamp('blocked', 0.004, 1) - 0.004 * 8) < 1e-9);
});

test('check 11: voiding pairs by the neighbour, not by their value, leaves the estimate and the error alone', () => {
  const { passShare, estimate } = voidByForeignShare(0.95, 300, 11);
  assert.ok(Math.abs(estimate - 0.95) < 0.01, `estimate ${estimate}`);
  assert.ok(passShare <= 0.05, `a loss of the whole margin passed in ${passShare}`);
});

test('check 14: identical two-mode servers are never below, their modes are reported, a slower mode is found', () => {
  const equal = twoModeVerdicts(1, 60, 14);
  assert.ok(equal.every(({ modes }) => modes?.low != null && modes.high != null));
  assert.ok(equal.every(({ verdict }) => verdict !== 'BELOW-FLOOR'));
  const passed = equal.filter(({ verdict }) => verdict === 'PASS').length;
  assert.ok(passed >= 54, `${passed} of 60 passed`);
  const slower = twoModeVerdicts(1.1, 20, 15);
  assert.ok(slower.every(({ verdict }) => verdict === 'BELOW-FLOOR'));
});

test('looking three times passes a loss of exactly the margin in no more than 2.5 % (here: 600 runs)', () => {
  const { passShare, belowShare } = sequentialPasses(
    { noise: NOISE.gpu, ratio: 0.99 },
    0.01,
    600,
    5,
  );
  // 600 runs of a true 2.5 % stay at or under 25 with 99 %.
  assert.ok(passShare <= 25 / 600, `passed ${passShare}`);
  assert.ok(belowShare <= 25 / 600, `below ${belowShare}`);
  const parity = sequentialPasses({ noise: NOISE.gpu, ratio: 1 }, 0.01, 200, 6);
  assert.ok(parity.passShare >= 0.95 && parity.meanPairs < 12, JSON.stringify(parity));
});

test('twelve cells exactly at their bound turn a gate red in about 1 % of campaigns, a real loss in most', () => {
  const plan = { pairs: 12, margin: 0.01, method: 'maxT' as const, draws: 499 };
  const atBound = redShare({ noise: NOISE.gpu, ratio: () => 0.99 }, plan, 100, 13);
  assert.ok(atBound <= 0.04, `false red ${atBound}`);
  const lossAtC4 = (_: string, concurrency: number) => (concurrency === 4 ? 0.97 : 0.99);
  const found = redShare({ noise: NOISE.gpu, ratio: lossAtC4 }, plan, 30, 14);
  assert.ok(found >= 0.8, `found ${found}`);
});
