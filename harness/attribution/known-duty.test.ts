import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { missingSentence, probeRights, type Rights } from './rights.ts';
import {
  buildKnownDuty,
  type Comparison,
  compareOnCpu,
  compareSched,
} from './testing/known-duty.ts';

let built: ReturnType<typeof buildKnownDuty>;
let rights: Rights;
before(async () => {
  built = buildKnownDuty();
  rights = await probeRights();
});
/** Where a right is missing there is nothing to measure, and the product must say which one. */
function told(missing: boolean): boolean {
  if (missing) assert.ok((missingSentence(rights) ?? '').length > 20);
  return missing;
}
after(() => built.remove());

const outside = (list: Comparison[]) =>
  list
    .filter(({ truth, low, high }) => truth < low || truth > high)
    .map((one) => JSON.stringify(one));

test('busy is what each thread says of itself, and function shares lie in their intervals', async () => {
  if (told(rights.perf === null || !rights.kernelSamples)) return;
  const comparisons = await compareOnCpu(built.program, built.folder, 1, 1.2);
  assert.equal(comparisons.filter((one) => one.what.startsWith('busy')).length, 4);
  assert.deepEqual(outside(comparisons), []);
});

test('a hand-off with a known sleep is told from work, and its states close within 1 us', async () => {
  if (told(rights.perf === null || !rights.scheduler)) return;
  const { comparisons, closureUs, inconsistent, bracket } = await compareSched(
    built.program,
    built.folder,
    2,
    1,
  );
  assert.deepEqual(outside(comparisons), []);
  assert.equal(inconsistent, 0);
  assert.ok(closureUs <= 1, `${closureUs} us`);
  assert.ok(bracket.total > 0 && bracket.inside === bracket.total, JSON.stringify(bracket));
});
