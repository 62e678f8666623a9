import assert from 'node:assert/strict';
import { test } from 'node:test';
import { delayAt, spinFor } from './injection.ts';

test('a spin lasts at least as long as asked, and only at its seam', () => {
  const begin = process.hrtime.bigint();
  spinFor(3000);
  assert.ok(Number(process.hrtime.bigint() - begin) >= 3e6 * 0.99);
  const injection = { seam: 'engine', delayUs: 500 } as const;
  assert.equal(delayAt('engine', injection), 500);
  assert.equal(delayAt('frontend', injection), 0);
  assert.equal(delayAt('engine', undefined), 0);
});
