import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  agreement,
  busyBetween,
  busyByRole,
  parseSchedstat,
  parseStat,
  type ThreadTimes,
  type TreeSnapshot,
} from './schedstat.ts';

const thread = (tid: number, runNs: number, startTicks = 5): ThreadTimes => ({
  pid: 1,
  tid,
  comm: 'x',
  startTicks,
  runNs,
  waitNs: 0,
  slices: runNs / 100,
});
const at = (atNs: number, threads: ThreadTimes[], cpuTicks = 0): TreeSnapshot => ({
  atNs,
  processes: [{ pid: 1, cpuTicks, startTicks: 5, commandLine: 'server' }],
  threads,
});

test('a schedstat line gives exact ns, and anything else is refused with its text', () => {
  assert.deepEqual(parseSchedstat('1282349180 12 3\n'), {
    runNs: 1_282_349_180,
    waitNs: 12,
    slices: 3,
  });
  assert.throws(() => parseSchedstat('0 0'), /holds "0 0" instead of three numbers/);
});

test('thread names with spaces, brackets, slashes, parentheses and newlines do not shift the fields', () => {
  for (const comm of ['a/b c: (x)', '[eng core] 0:1', 'x) R 1 (y', 'two\nlines']) {
    const stat = parseStat(
      `7 (${comm}) S 1 7 7 0 -1 4194304 1 0 0 0 21 34 0 0 20 0 4 0 9876 100 1 18446744073709551615`,
    );
    assert.equal(stat.comm, comm);
    assert.equal(stat.utimeTicks, 21);
    assert.equal(stat.stimeTicks, 34);
    assert.equal(stat.startTicks, 9876);
    assert.equal(stat.ppid, 1);
  }
});

test('busy is the exact difference of the counters, and roles sum to threads', () => {
  const window = busyBetween(
    at(1_000, [thread(1, 1_000), thread(2, 50)]),
    at(11_000, [thread(1, 6_000), thread(2, 60), thread(3, 7)]),
    100,
  );
  assert.deepEqual(
    window.threads.map((t) => [t.tid, t.runNs, t.born]),
    [
      [1, 5_000, false],
      [2, 10, false],
      [3, 7, true],
    ],
  );
  const roles = busyByRole(window, (tid) => (tid === 1 ? 'engine-core' : 'frontend'));
  assert.deepEqual(
    roles.map((r) => [r.role, r.runNs, r.cores]),
    [
      ['engine-core', 5_000, 0.5],
      ['frontend', 17, 0.0017],
    ],
  );
});

test('a reused tid is a new thread, not a negative busy time', () => {
  const window = busyBetween(at(0, [thread(9, 5_000, 5)]), at(10, [thread(9, 30, 8)]), 100);
  assert.equal(window.threads[0]?.runNs, 30);
  assert.equal(window.threads[0]?.born, true);
  assert.equal(window.died.length, 1);
});

test('threads that die inside the window are found in the process total', () => {
  const window = busyBetween(
    at(0, [thread(1, 0), thread(2, 0)], 0),
    at(1e9, [thread(1, 1e8)], 50),
    100,
  );
  assert.equal(window.diedNs, 4e8);
});

test('a sampler that misses short slices is shown by kappa and ns per slice', () => {
  assert.deepEqual(agreement(770, { runNs: 1_000, slices: 10 }), {
    kappa: 0.77,
    missingNsPerSlice: 23,
  });
  assert.equal(agreement(0, { runNs: 0, slices: 0 }), undefined);
});
