import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { buildKnownDuty, compareOnCpu, compareSched } from './testing/known-duty.ts';

const RUNS = 100;
let built: ReturnType<typeof buildKnownDuty>;
before(() => {
  built = buildKnownDuty();
});
after(() => built.remove());

test('every figure lies inside its stated interval in at least 95 of 100 seeded runs', async () => {
  const hits = new Map<string, number>();
  for (let seed = 1; seed <= RUNS; seed++) {
    const onCpu = await compareOnCpu(built.program, built.folder, seed, 0.6);
    const sched = await compareSched(built.program, built.folder, seed, 0.4);
    assert.ok(sched.closureUs <= 1, `seed ${seed}: closure ${sched.closureUs} us`);
    for (const { what, truth, low, high } of [...onCpu, ...sched.comparisons])
      hits.set(what, (hits.get(what) ?? 0) + (truth >= low && truth <= high ? 1 : 0));
  }
  const short = [...hits].filter(([, count]) => count < 0.95 * RUNS);
  assert.deepEqual(short, []);
});
