import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findAxis, PRIMARY_AXES } from './axis.ts';
import { type CampaignQuestion, type Family, judgeCampaign } from './family.ts';
import { makePlan } from './plan.ts';
import { NOISE, simulate, type Truth } from './simulated-arms.ts';

const FAMILY: Family = { alpha: 0.01, method: 'maxT', seed: 1, draws: 1999 };
const PLAN = makePlan({
  ...{ seed: 1, concurrencies: [1, 2], looks: [16] },
  ...{ residency: 'co-resident' as const, slice: 'leg' as const },
});

function questions(change: Partial<CampaignQuestion> = {}): CampaignQuestion[] {
  return [1, 2].flatMap((concurrency) =>
    PRIMARY_AXES.filter((id) => id !== 'peak_memory').map((id): CampaignQuestion => {
      const axis = findAxis(id);
      assert.ok(axis);
      return {
        ...{ axis, concurrency, floor: 1, margin: 0.01, unit: 'pair', gated: true },
        look: { alpha: 0.025, last: true },
        ...change,
      };
    }),
  );
}

function pairs(ratio: Truth['ratio'] = () => 1) {
  return simulate(PLAN, { noise: NOISE.gpu, seed: 3, ratio });
}

const slowC2 = (_: string, concurrency: number) => (concurrency === 2 ? 0.95 : 1);

test('a campaign passes only when every gated cell does', () => {
  const { verdict, cells } = judgeCampaign(questions(), pairs(), FAMILY);
  assert.equal(verdict, 'PASS');
  assert.ok(cells.every(({ adjustedP }) => (adjustedP ?? 0) > 0.9));
});

test('a loss at one concurrency is proven there and nowhere else, by max-T and by Holm', () => {
  for (const method of ['maxT', 'holm'] as const) {
    const { verdict, cells } = judgeCampaign(questions(), pairs(slowC2), { ...FAMILY, method });
    assert.equal(verdict, 'BELOW-FLOOR', method);
    for (const { concurrency, adjustedP, verdict: own } of cells) {
      assert.equal(own, concurrency === 2 ? 'BELOW-FLOOR' : 'PASS');
      assert.equal((adjustedP ?? 1) <= 0.01, concurrency === 2);
    }
  }
});

test('before the last look nothing is red, however clear', () => {
  const early = questions({ look: { alpha: 0.011, last: false } });
  const { verdict, cells } = judgeCampaign(early, pairs(slowC2), FAMILY);
  assert.equal(verdict, 'PENDING');
  assert.ok(cells.some(({ pending }) => pending === 'below_at_early_look'));
});

test('an early look is not red even where the family would prove an open cell', () => {
  const early = questions({ look: { alpha: 0.011, last: false } });
  const anything = { ...FAMILY, alpha: 1 };
  const { cells } = judgeCampaign(
    early,
    pairs(() => 0.99),
    anything,
  );
  assert.ok(cells.some(({ pending }) => pending === 'inconclusive'));
  assert.ok(cells.every(({ verdict }) => verdict !== 'BELOW-FLOOR'));
});

test('a cell that reads below on its own is PENDING while the family does not prove it', () => {
  const strictest = { ...FAMILY, alpha: 1e-4, draws: 999 };
  const { verdict, cells } = judgeCampaign(questions(), pairs(slowC2), strictest);
  assert.equal(verdict, 'PENDING');
  assert.ok(cells.some(({ pending }) => pending === 'not_proven_in_family'));
});

test('an informational cell cannot turn a campaign', () => {
  const some = questions().map((question) => ({ ...question, gated: question.concurrency === 1 }));
  const { verdict, cells } = judgeCampaign(some, pairs(slowC2), FAMILY);
  assert.equal(verdict, 'PASS');
  assert.ok(cells.some(({ verdict: own, gated }) => own === 'BELOW-FLOOR' && !gated));
  assert.ok(cells.every(({ adjustedP, gated }) => (adjustedP !== undefined) === gated));
});

test('one void cell voids the campaign unless a loss is proven elsewhere', () => {
  const withVoid = (ratio?: Truth['ratio']) =>
    pairs(ratio).map((pair, index) =>
      index === PLAN.pairs.findIndex(({ concurrency }) => concurrency === 1)
        ? { ...pair, voids: [{ code: 'requests_failed' as const, arm: 'ours' as const }] }
        : pair,
    );
  assert.equal(judgeCampaign(questions(), withVoid(), FAMILY).verdict, 'VOID');
  assert.equal(judgeCampaign(questions(), withVoid(slowC2), FAMILY).verdict, 'BELOW-FLOOR');
});

test('a change of boot voids every cell and leaves no number', () => {
  const [first, ...rest] = pairs(slowC2);
  assert.ok(first);
  const moved = [{ ...first, voids: [{ code: 'boot_changed' as const }] }, ...rest];
  const { verdict, cells, voids } = judgeCampaign(questions(), moved, FAMILY);
  assert.deepEqual([verdict, voids], ['VOID', [{ code: 'boot_changed' }]]);
  assert.ok(
    cells.every(({ statistics, verdict: own }) => statistics === undefined && own === 'VOID'),
  );
});

test('a family without a gated cell, or with a cell twice, is refused', () => {
  assert.throws(
    () => judgeCampaign(questions({ gated: false }), pairs(), FAMILY),
    /No cell is gated/,
  );
  assert.throws(
    () => judgeCampaign([...questions(), ...questions()], pairs(), FAMILY),
    /asked for twice/,
  );
});
