// The long form of the acceptance checks: error rates of the protocol against its published tables, with thousands of runs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hodgesLehmann } from '../stats/hodges-lehmann.ts';
import { seededRandom } from '../stats/random.ts';
import {
  auditEqualArms,
  redShare,
  sequentialPasses,
  twoModeVerdicts,
  verdictShares,
  voidByForeignShare,
} from './protocol-experiments.ts';
import { ratchet, type SessionBound } from './ratchet.ts';
import { NOISE, normal } from './simulated-arms.ts';

/** Percent, within this many points of what the protocol publishes. */
function near(found: number, published: number, points: number, what: string) {
  const percent = 100 * found;
  assert.ok(Math.abs(percent - published) <= points, `${what}: ${percent.toFixed(1)} %`);
}

test('4,000 A/A cells of each noise stay within the allowance on both sides', () => {
  for (const noise of [NOISE.gpu, NOISE.vm, NOISE.badVm]) {
    const audit = auditEqualArms({ noise }, 4000, 100);
    assert.ok(audit.sound, JSON.stringify(audit));
  }
});

test('PASS / BELOW / inconclusive shares by true ratio are those of the published table', () => {
  const rows = [
    [NOISE.gpu, 0.01, 10, 1, 95, 0],
    [NOISE.gpu, 0.01, 10, 0.98, 0, 96],
    [NOISE.gpu, 0.01, 16, 0.965, 0, 100],
    [NOISE.vm, 0.05, 16, 1, 96, 0],
    [NOISE.vm, 0.05, 16, 0.965, 26, 0],
    [NOISE.vm, 0.05, 16, 0.95, 2, 2],
    [NOISE.vm, 0.05, 16, 0.9, 0, 96],
    [NOISE.badVm, 0.1, 24, 0.95, 63, 0],
  ] as const;
  for (const [noise, margin, pairs, ratio, pass, below] of rows) {
    const shares = verdictShares({ noise, ratio }, { pairs, margin }, 1500, 200);
    near(shares.PASS, pass, 4, `PASS at ${ratio}, n ${pairs}`);
    near(shares['BELOW-FLOOR'], below, 4, `BELOW at ${ratio}, n ${pairs}`);
  }
});

test('launch effects: pairs as the unit err as published, launches as the unit hold the level', () => {
  // At 0.6 % a launch, 8 launches of two pairs: 6.0 % with pairs, 2.4 % with launches.
  const truth = { noise: NOISE.gpu, ratio: 0.99, launchSd: 0.006 };
  const passed = (unit: 'pair' | 'launch') =>
    verdictShares(truth, { pairs: 16, margin: 0.01, unit }, 3000, 300).PASS;
  near(passed('pair'), 6, 1.5, 'pairs');
  near(passed('launch'), 2.4, 1, 'launches');
});

test('three looks spend 2.5 % at the margin, and at parity pass at least as often as t intervals do', () => {
  // Published for t intervals: 98.8 % and 93.9 %. The exact interval ignores spikes and does better on the VM.
  const rows = [
    [NOISE.gpu, 0.01, 0.978],
    [NOISE.vm, 0.05, 0.939],
  ] as const;
  for (const [noise, margin, least] of rows) {
    const atMargin = sequentialPasses({ noise, ratio: 1 - margin }, margin, 2500, 400);
    assert.ok(atMargin.passShare <= 0.032, `passed ${atMargin.passShare}`);
    const parity = sequentialPasses({ noise, ratio: 1 }, margin, 1000, 401);
    assert.ok(parity.passShare >= least, `parity passed ${parity.passShare}`);
  }
});

test('a family at its bound is red in about 1 %, and max-T finds what Holm finds', () => {
  const plan = { pairs: 16, margin: 0.01, draws: 999 };
  for (const method of ['maxT', 'holm'] as const) {
    const red = redShare({ noise: NOISE.gpu, ratio: () => 0.99 }, { ...plan, method }, 400, 500);
    assert.ok(red <= 0.022, `${method}: false red ${red}`);
  }
  const loss = (_: string, c: number) => (c === 2 ? 0.99 * 0.99 : 0.99);
  const found = redShare({ noise: NOISE.gpu, ratio: loss }, { ...plan, method: 'maxT' }, 150, 501);
  assert.ok(found >= 0.8, `max-T found ${found} of 1 % losses`);
});

test('a ratchet of twice-confirmed bounds gives a false red in under 1 of 1,000 sessions', () => {
  const random = seededRandom(600, 'ratchet');
  let falseReds = 0;
  for (let series = 0; series < 500; series += 1) {
    let floor: number | undefined;
    let sessions: SessionBound[] = [];
    for (let day = 0; day < 40; day += 1) {
      const d = Array.from({ length: 10 }, () => 0.0075 * normal(random));
      const { lower, upper } = hodgesLehmann(d, 0.01);
      if (floor !== undefined && Math.exp(upper) < floor) falseReds += 1;
      const bound = { record: `r${day}`, bootId: `b${day}`, lower: Math.exp(lower) };
      sessions = [...sessions, { ...bound, measuredAtMs: day }].slice(-2);
      floor = ratchet(floor, sessions)?.floor ?? floor;
    }
  }
  // A floor that follows the best point estimate has 330 of 1,000 after 40 sessions.
  assert.ok(falseReds <= 20, `${falseReds} of 20,000`);
});

test('voids by the neighbour stay unbiased, and two-mode cells stay off red, over many runs', () => {
  const { passShare, estimate } = voidByForeignShare(0.95, 3000, 700);
  assert.ok(Math.abs(estimate - 0.95) < 0.005, `estimate ${estimate}`);
  assert.ok(passShare <= 0.033, `passed ${passShare}`);
  const modes = twoModeVerdicts(1, 1000, 701);
  assert.ok(modes.every(({ verdict }) => verdict !== 'BELOW-FLOOR'));
});
