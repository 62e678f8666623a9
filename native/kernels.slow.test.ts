// The native test program under ASan and UBSan: the same checks, and no read or write out of bounds.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { buildProgram, checkCounts, KERNEL_CHECKS, runProgram } from './native-program.ts';

it('the native tests pass under ASan and UBSan', () => {
  buildProgram('--sanitize');
  const run = runProgram('native/build-sanitize/native_tests');
  assert.equal(run.status, 0, run.stdout + run.stderr);
  const counts = checkCounts(run.stdout);
  for (const [kernel, atLeast] of KERNEL_CHECKS) {
    assert.ok((counts.get(`${kernel} | portable`) ?? 0) >= atLeast, kernel);
  }
});
