import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stored } from '../stats/domain.ts';
import { findAxis, PRIMARY_AXES } from './axis.ts';
import { judgeCampaign } from './family.ts';
import { makePlan } from './plan.ts';
import { NOISE, simulate } from './simulated-arms.ts';
import { storedVerdict } from './stored-verdict.ts';

function campaign(looks: number[]) {
  const concurrencies = [1, 2, 4, 8];
  const plan = makePlan({ seed: 1, concurrencies, residency: 'co-resident', slice: 'leg', looks });
  const questions = concurrencies.flatMap((concurrency) =>
    PRIMARY_AXES.map((id) => {
      const axis = findAxis(id);
      assert.ok(axis);
      const look = { alpha: 0.011, last: true };
      const cell = { axis, concurrency, floor: 1, margin: 0.01, look };
      return { ...cell, unit: 'pair' as const, gated: true };
    }),
  );
  const pairs = simulate(plan, { noise: NOISE.gpu, seed: 1 });
  return judgeCampaign(questions, pairs, { alpha: 0.01, method: 'maxT', seed: 1, draws: 999 });
}

test('sixteen cells of a full campaign are plain JSON, take the same bytes twice and fit a record', () => {
  const bytes = JSON.stringify(storedVerdict(campaign([8, 16, 24])));
  assert.equal(bytes, JSON.stringify(storedVerdict(campaign([8, 16, 24]))));
  assert.ok(bytes.length < 20_000, `${bytes.length} bytes`);
  assert.ok(!bytes.includes('"units"'));
  for (const [number] of bytes.matchAll(/-?\d+\.\d+/g))
    assert.equal(stored(Number(number)), +number);
});

test('a bound that does not exist is null, not infinity', () => {
  const six = campaign([8]);
  const cell = { ...six.cells[0], ratio: { estimate: 1, lower: 0, upper: Infinity } };
  const json = JSON.stringify(
    storedVerdict({ ...six, cells: [{ ...six.cells[1], ...cell } as never] }),
  );
  assert.match(json, /"upper":null/);
});
