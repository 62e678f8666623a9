import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Workplace } from './bench-process.ts';
import { killAtRandom } from './kill-trial.ts';

test('a hundred kills of bench and its server leave no process, no lock and no half record', async () => {
  const place = new Workplace();
  try {
    const report = await killAtRandom(place, 100, 7);
    assert.deepEqual(report.survivors, []);
    assert.deepEqual(report.broken, []);
    assert.deepEqual(report.leftovers, []);
    assert.ok(report.serverKills >= 10, `${report.serverKills} kills of the server`);
    assert.ok(report.lastExit === 0 || report.lastExit === 3, report.lastWords);
  } finally {
    place.remove();
  }
});
