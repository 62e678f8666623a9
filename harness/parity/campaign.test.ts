import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findAxis } from './axis.ts';
import { type Campaign, campaignProgress, nextStep } from './campaign.ts';
import type { MeasuredPair, VoidMark } from './pairs.ts';
import { makePlan, type PlanOptions } from './plan.ts';
import { NOISE, simulate, type Truth } from './simulated-arms.ts';

function campaignOf(options: Partial<PlanOptions> = {}): Campaign {
  const axis = findAxis('output_throughput');
  assert.ok(axis);
  const concurrencies = options.concurrencies ?? [1, 4];
  return {
    plan: makePlan({
      ...{ seed: 4, residency: 'co-resident', slice: 'leg', ...options },
      concurrencies,
    }),
    questions: concurrencies.map((concurrency) => ({
      ...{ axis, concurrency, floor: 1, margin: 0.01, gated: true },
      unit: 'pair' as const,
    })),
    family: { alpha: 0.01, method: 'maxT', seed: 4, draws: 1999 },
  };
}

interface Run {
  results: MeasuredPair[];
  launches: number;
  stop: Extract<ReturnType<typeof nextStep>, { do: 'stop' }>;
}

/** The loop that a command runs, with simulated legs; `voids` says what disturbs which attempt. */
function run(
  campaign: Campaign,
  ratio: Truth['ratio'],
  voids: (id: string, attempt: number) => VoidMark[] = () => [],
): Run {
  const axes = ['output_throughput'];
  const simulated = simulate(campaign.plan, {
    noise: NOISE.gpu,
    seed: 4,
    axes,
    ...(ratio && { ratio }),
  });
  const byId = new Map(simulated.map((pair) => [pair.id, pair]));
  const results: MeasuredPair[] = [];
  let launches = 0;
  for (;;) {
    const step = nextStep(campaign, results);
    if (step.do === 'stop') return { results, launches, stop: step };
    assert.ok(results.length < 500, 'the campaign ends');
    if (step.freshLaunch) launches += 1;
    const measured = byId.get(step.pair.id);
    assert.ok(measured);
    const { id, launch, replaces } = step;
    results.push({
      ...measured,
      ...{ id, launch, voids: voids(step.pair.id, results.length) },
      ...(replaces === undefined ? {} : { replaces }),
    });
  }
}

test('equal arms pass at the first look: 8 pairs of each cell in 4 launches, in the order of the plan', () => {
  const campaign = campaignOf();
  const { results, launches, stop } = run(campaign, () => 1);
  assert.deepEqual([stop.why, stop.look.pairs, stop.verdict.verdict], ['passed', 8, 'PASS']);
  assert.equal(launches, 4);
  assert.deepEqual(
    results.map(({ id }) => id),
    campaign.plan.pairs.slice(0, 16).map(({ id }) => id),
  );
});

test('a loss runs to the last look and is red only there; what passed is not run again', () => {
  const { results, launches, stop } = run(campaignOf(), (_, c) => (c === 4 ? 0.95 : 1));
  assert.deepEqual(
    [stop.why, stop.look.last, stop.verdict.verdict],
    ['last_look', true, 'BELOW-FLOOR'],
  );
  const count = (c: number) => results.filter(({ concurrency }) => concurrency === c).length;
  assert.deepEqual([count(1), count(4)], [8, 24]);
  assert.equal(launches, 12);
});

test('a disturbed pair is measured again in its own launch, before the next one starts', () => {
  const { results, launches, stop } = run(campaignOf(), undefined, (id, attempt) =>
    id === 'c4-p02' && attempt < 8 ? [{ code: 'contended' }] : [],
  );
  const again = results.find(({ replaces }) => replaces === 'c4-p02');
  assert.equal(again?.id, 'c4-p02-r1');
  assert.equal(again.launch, results.find(({ id }) => id === 'c4-p02')?.launch);
  assert.deepEqual([stop.verdict.verdict, launches, results.length], ['PASS', 4, 17]);
});

test('with exclusive residency a repair is a launch of its own', () => {
  const campaign = campaignOf({ residency: 'exclusive' });
  const { results, stop } = run(campaign, undefined, (id, attempt) =>
    id === 'c1-p01' && attempt < 6 ? [{ code: 'throttled' }] : [],
  );
  assert.equal(stop.verdict.verdict, 'PASS');
  assert.equal(new Set(results.map(({ launch }) => launch)).size, results.length);
});

test('a machine that never becomes quiet ends as over_voided after a bounded number of tries', () => {
  const { results, stop } = run(campaignOf({ concurrencies: [4] }), undefined, () => [
    { code: 'contended' },
  ]);
  assert.equal(stop.verdict.verdict, 'VOID');
  assert.equal(stop.verdict.cells[0]?.voids[0]?.code, 'over_voided');
  assert.ok(results.length <= 24 + 17, `${results.length} pairs`);
});

test('a noisy start may be made good: too many voids at the first look are fewer at the second', () => {
  const { stop } = run(campaignOf({ concurrencies: [4] }), undefined, (_, attempt) =>
    attempt < 16 && attempt % 2 === 0 ? [{ code: 'contended' }] : [],
  );
  assert.deepEqual([stop.why, stop.look.pairs, stop.verdict.verdict], ['passed', 16, 'PASS']);
});

test('failed requests are never measured again and stop the campaign at the next look', () => {
  const { results, stop } = run(campaignOf(), undefined, (id) =>
    id === 'c1-p03' ? [{ code: 'requests_failed', arm: 'ours' }] : [],
  );
  assert.deepEqual([stop.why, stop.verdict.verdict, results.length], ['void', 'VOID', 16]);
});

test('a new boot stops the campaign at once, before the first look and after it', () => {
  for (const at of [2, 20]) {
    const slow = (_: string, concurrency: number) => (concurrency === 4 ? 0.95 : 1);
    const { results, stop } = run(campaignOf(), slow, (_, attempt) =>
      attempt === at ? [{ code: 'boot_changed' }] : [],
    );
    assert.deepEqual([stop.why, stop.verdict.verdict, results.length], ['void', 'VOID', at + 1]);
  }
});

test('an interrupted campaign goes on where it stopped', () => {
  const campaign = campaignOf();
  const { results } = run(campaign, () => 0.95);
  for (const length of [0, 1, 7, 16, 31]) {
    const step = nextStep(campaign, results.slice(0, length));
    assert.equal(step.do === 'measure' && step.id, results[length]?.id);
  }
});

test('progress counts down to the look and to the end', () => {
  const campaign = campaignOf();
  const { results } = run(campaign, () => 0.95);
  assert.deepEqual(campaignProgress(campaign, []), { measured: 0, leftToLook: 16, leftAtMost: 48 });
  assert.deepEqual(campaignProgress(campaign, results.slice(0, 20)), {
    ...{ measured: 20, leftToLook: 12, leftAtMost: 28 },
  });
  assert.equal(campaignProgress(campaign, results).leftAtMost, 0);
});

test('results of another plan are refused', () => {
  const [pair] = simulate(campaignOf().plan, { noise: NOISE.none, seed: 1 });
  assert.ok(pair);
  assert.throws(
    () => nextStep(campaignOf(), [{ ...pair, id: 'c9-p00' }]),
    /c9-p00 .* not of this plan/,
  );
});
