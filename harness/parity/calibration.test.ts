import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findAxis, PRIMARY_AXES } from './axis.ts';
import {
  type AaRun,
  auditRuns,
  calibrateCells,
  calibrationProblem,
  marginFromCalibration,
} from './calibration.ts';
import { makePlan } from './plan.ts';
import { NOISE, simulate, type Truth } from './simulated-arms.ts';

const DAY = 24 * 3600 * 1000;
const AXES = PRIMARY_AXES.map((id) => {
  const axis = findAxis(id);
  assert.ok(axis);
  return axis;
});

function cells(truth: Partial<Truth> = {}, quadsPerLaunch = 1) {
  const plan = makePlan({
    ...{ seed: 1, concurrencies: [1, 2], quadsPerLaunch, looks: [64] },
    ...{ residency: 'co-resident' as const, slice: 'leg' as const },
  });
  return calibrateCells(AXES, [1, 2], simulate(plan, { noise: NOISE.gpu, seed: 5, ...truth }));
}

const RUN: AaRun = {
  ...{ env: 'e', scenario: 's', harnessDigest: 'd', measuredAtMs: 100 * DAY },
  ...{ pairs: 24, launches: 12, boots: 1, ephemeral: false, cells: {} },
};
const WANTED = { env: 'e', scenario: 's', harnessDigest: 'd' };

test('the spread of pairs and of launches is found apart, and decides the unit of analysis', () => {
  const independent = { ...NOISE.none, independent: 0.01 };
  const quiet = cells({ noise: independent, ownNoise: 0 }, 4)['output_throughput@c1'];
  // A pair is a difference of two legs of 1 %.
  assert.ok(quiet && Math.abs(quiet.pairSd - 0.0141) < 0.003, `${quiet?.pairSd}`);
  const shaken = cells({ noise: independent, ownNoise: 0, launchSd: 0.03 }, 4)[
    'output_throughput@c1'
  ];
  assert.ok(shaken && Math.abs(shaken.launchSd - 0.0424) < 0.025, `${shaken?.launchSd}`);
  assert.equal(shaken.unit, 'launch');
  assert.equal(shaken.pairs, 64);
});

test('every axis of every concurrency is calibrated, a void cell is not', () => {
  assert.equal(Object.keys(cells()).length, 8);
  assert.deepEqual(calibrateCells(AXES, [8], []), {});
});

test('a calibration holds for its environment, its harness and 30 days', () => {
  const problem = (change: Partial<AaRun>, days = 0) =>
    calibrationProblem({ ...RUN, ...change }, WANTED, (100 + days) * DAY);
  assert.equal(problem({}, 30), null);
  assert.equal(problem({}, 31), 'expired');
  assert.equal(problem({ env: 'f' }), 'other_environment');
  assert.equal(problem({ pairs: 19 }), 'too_few_pairs');
  assert.equal(problem({ launches: 3 }), 'too_few_launches');
  assert.equal(problem({ harnessDigest: 'x' }), 'other_harness');
  assert.equal(calibrationProblem(undefined, WANTED, 0), 'missing');
});

test('machines that are made anew each time need five boots, and then do not expire', () => {
  const problem = (boots: number) =>
    calibrationProblem({ ...RUN, ephemeral: true, boots }, WANTED, 500 * DAY);
  assert.deepEqual([problem(4), problem(5)], ['too_few_boots', null]);
});

test('flags of all runs are counted by direction', () => {
  const [cell] = Object.values(cells());
  assert.ok(cell);
  const flagged = (side: 'below' | 'above' | null) => ({ ...cell, flagged: side });
  const run = (sides: ('below' | 'above' | null)[]) => ({
    ...RUN,
    cells: Object.fromEntries(sides.map((side, index) => [`c${index}`, flagged(side)])),
  });
  const audit = auditRuns([run(['below', null, 'above']), run(['below'])]);
  assert.deepEqual([audit.cells, audit.flaggedBelow, audit.flaggedAbove], [4, 2, 1]);
  assert.equal(auditRuns([]).sound, true);
});

test('the margin of a noisy environment is 1.5 half-widths, rounded up to half a percent, or the least', () => {
  const [cell] = Object.values(cells());
  assert.ok(cell);
  const margin = (sd: number) =>
    marginFromCalibration({ ...cell, robustSd: sd, pairSd: 0 }, 16, 0.025, 0.01);
  assert.equal(margin(0.001), 0.01);
  // t(0.975, 15) = 2.131; 1.5 x 2.131 x 0.05 / 4 = 0.03996, a loss of 3.92 %.
  assert.equal(margin(0.05), 0.04);
  assert.ok(margin(100) < 1);
});
