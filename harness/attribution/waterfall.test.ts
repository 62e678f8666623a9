import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StepRecord } from '../../server/protocol/step-trace.ts';
import type { RequestTimeline } from '../client/timeline.ts';
import { type GapSide, gapAgainst } from './gap.ts';
import { injectionSlope } from './injection.ts';
import { stepPeriods, waterfall } from './waterfall.ts';

const near = (actual: number | undefined, expected: number, by = 1e-9) =>
  assert.ok(Math.abs((actual ?? Number.NaN) - expected) <= by, `${actual} is not ${expected}`);

const PERIOD = 10_000_000;
const ORIGIN = 5_000_000_000;
function step(id: number, over: Partial<StepRecord> = {}): StepRecord {
  const begin = ORIGIN + id * PERIOD;
  return {
    step: id,
    prefillTokens: 0,
    decodeTokens: 8,
    sequences: 8,
    waiting: 0,
    kvBlocksFree: 1,
    preempted: 0,
    sleptNs: 0,
    beginNs: begin,
    scheduledNs: begin + 200_000,
    forwardNs: begin + 8_200_000,
    sampledNs: begin + 9_000_000,
    postedNs: begin + 9_500_000,
    receivedNs: begin + 9_800_000,
    detokenisedNs: begin + 10_300_000,
    writtenNs: begin + 11_000_000,
    ...over,
  };
}
const steps = Array.from({ length: 60 }, (_, i) => step(i));
function request(first: number, tokens: number, wireNs: (i: number) => number): RequestTimeline {
  const contentNs = Array.from(
    { length: tokens },
    (_, i) => (steps[first + i]?.writtenNs ?? 0) + wireNs(i) - ORIGIN,
  );
  return {
    index: 0,
    slot: 0,
    phase: 'measured',
    intendedNs: 0,
    sentNs: 0,
    contentNs,
    outputTokens: tokens,
    text: '',
    bytesReceived: 1,
    reconnects: 0,
  };
}

test('the stages of a step close exactly from one post to the next', () => {
  for (const period of stepPeriods(steps)) {
    const sum = Object.values(period.stages).reduce((a, b) => a + b, 0);
    assert.equal(sum, period.periodNs);
  }
});

test('the loop stages and what is unexplained sum to the measured TPOT', () => {
  const fall = waterfall(
    steps,
    [request(3, 20, () => 50_000), request(10, 30, () => 90_000)],
    ORIGIN,
  );
  near(fall.tpot.measuredMs, 10);
  const of = (stage: string) => fall.tpot.parts.find((part) => part.stage === stage)?.ms;
  near(of('gap'), 0.5);
  near(of('schedule'), 0.2);
  near(of('forward'), 8);
  near(of('sample'), 0.8);
  near(of('post'), 0.5);
  near(fall.tpot.wayChangeMs, 0);
  near(fall.tpot.unexplainedMs, 0);
  assert.equal(fall.tpot.requests, 2);
  assert.equal(fall.missing, 0);
});

test('a constant way out is shown per token but is not part of TPOT', () => {
  const fall = waterfall(steps, [request(3, 20, () => 400_000)], ORIGIN);
  const ms = Object.fromEntries(fall.way.map((stage) => [stage.stage, stage.ms]));
  near(ms['hand-off'], 0.3);
  near(ms['front-end compute'], 0.5);
  near(ms['write'], 0.7);
  near(ms['wire and client'], 0.4);
  near(fall.tpot.wayChangeMs, 0);
});

test('a way out that grows is in TPOT, spread over the tokens', () => {
  const fall = waterfall(steps, [request(3, 21, (i) => i * 100_000)], ORIGIN);
  near(fall.tpot.measuredMs, 10.1);
  near(fall.tpot.wayChangeMs, 0.1);
  near(fall.tpot.unexplainedMs, 0);
});

test('a client that reads one step late is still given the right steps', () => {
  const late = request(3, 20, (i) => (i === 19 ? 9_900_000 : 50_000));
  const fall = waterfall(steps, [late], ORIGIN);
  near(
    fall.tpot.parts.reduce((sum, part) => sum + part.ms, 0),
    10,
  );
  near(fall.tpot.unexplainedMs, 0, 1e-6);
});

test('missing steps are counted, and requests across them are unmatched, not guessed', () => {
  const holed = steps.filter((one) => one.step !== 12);
  const fall = waterfall(holed, [request(3, 20, () => 50_000)], ORIGIN);
  assert.equal(fall.missing, 1);
  assert.deepEqual([fall.tpot.requests, fall.tpot.unmatched], [0, 1]);
});

test('steps with prefill are kept apart, and sleep for want of work is no step time', () => {
  const mixed = steps.map((one, i) =>
    i === 20 ? { ...one, prefillTokens: 512 } : i === 30 ? { ...one, sleptNs: 1 } : one,
  );
  const fall = waterfall(mixed, [], ORIGIN);
  assert.deepEqual([fall.decodeOnly.steps, fall.withPrefill.steps], [57, 1]);
});

test('a server without front-end stamps still has its loop', () => {
  const bare = steps.map(({ receivedNs: _, detokenisedNs: __, writtenNs: ___, ...rest }) => rest);
  const fall = waterfall(bare, [request(3, 20, () => 0)], ORIGIN);
  assert.deepEqual(fall.way, []);
  near(fall.tpot.unexplainedMs, 0);
});

const side = (name: string, runs: [number, number][], over: Partial<GapSide> = {}): GapSide => ({
  name,
  method: 'engine step stamps',
  steps: 'decode',
  runs: runs.map(([periodMs, spanMs]) => ({ periodMs, spanMs })),
  ...over,
});

test('the gap splits into span and residual, with intervals paired within runs', () => {
  // Periods wander by whole milliseconds, residuals by hundredths: pairing keeps the residual narrow.
  const ours = side('ours', [
    [40, 38],
    [42, 40.02],
    [38, 35.99],
    [41, 39.01],
  ]);
  const reference = side('reference', [
    [39, 37.3],
    [41, 39.29],
    [37, 35.31],
    [40, 38.3],
  ]);
  const gap = gapAgainst(ours, reference);
  near(gap.residual.ms, 0.295, 1e-6);
  assert.ok(gap.residual.interval.low > 0.27 && gap.residual.interval.high < 0.32);
  assert.ok(gap.total.interval.low < 0 && gap.total.interval.high > 0);
  assert.equal(gap.residualShare, undefined);
});

test('a clear gap has a residual share with draws', () => {
  const gap = gapAgainst(
    side('ours', [
      [45, 40],
      [45.1, 40.1],
      [44.9, 39.9],
    ]),
    side('reference', [
      [40, 39],
      [40.1, 39.1],
      [39.9, 38.9],
    ]),
  );
  near(gap.residualShare?.estimate, 0.8);
  assert.ok((gap.residualShare?.sorted.length ?? 0) > 900);
});

test('one run a side supports no gap', () => {
  const gap = gapAgainst(side('ours', [[40, 38]]), side('reference', [[39, 37]]));
  assert.equal(gap.residual.interval.high, Infinity);
});

test('figures of two tools, or of two kinds of steps, are not subtracted', () => {
  const ours = side('ours', [[40, 38]]);
  assert.throws(
    () => gapAgainst(ours, side('vllm', [[40, 38]], { method: 'torch profiler' })),
    /ours was measured by engine step stamps and vllm by torch profiler/,
  );
  assert.throws(
    () => gapAgainst(ours, side('vllm', [[40, 38]], { steps: 'prefill' })),
    /equal kinds/,
  );
});

test('the injection slope tells a seam on the path from a hidden one', () => {
  const runs = (slope: number) =>
    [0, 0, 0, 2, 2, 2, 4, 4, 4].map((delayMs, i) => ({
      delayMs,
      tpotMs: 20 + slope * delayMs + (i % 3) * 0.05,
    }));
  assert.equal(injectionSlope(runs(1.03))?.verdict, 'on the path');
  assert.equal(injectionSlope(runs(0.01))?.verdict, 'hidden');
  assert.equal(injectionSlope(runs(0.5))?.verdict, 'partial');
  assert.equal(injectionSlope(runs(1).slice(0, 3)), undefined);
});
