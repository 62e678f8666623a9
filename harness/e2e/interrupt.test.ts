import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startEmitterProcess } from '../emitter/emitter-process.ts';
import { listPaths, readRecord } from '../record/store.ts';
import { shortSweep, Workplace } from './bench-process.ts';

async function withSlowEmitter(
  use: (url: string, place: Workplace) => Promise<void>,
): Promise<void> {
  const place = new Workplace();
  const emitter = await startEmitterProcess({ ttftMs: 20, itlMs: 5 });
  try {
    await use(emitter.baseUrl, place);
    assert.deepEqual(await place.survivorsAtLast(), []);
  } finally {
    await emitter.stop();
    place.remove();
  }
}

test('Ctrl-C keeps what was measured, marked, and ends with 130', async () => {
  await withSlowEmitter(async (url, place) => {
    const flags = shortSweep('--url', url, '--concurrency', '1,2', '--output-tokens', '400');
    const bench = place.start(...flags);
    // c1 takes about 10 s; the signal comes in the middle of it.
    await bench.untilStderr('c1 ...');
    await new Promise((resolve) => setTimeout(resolve, 3000));
    bench.child.kill('SIGINT');
    const { code, stdout, stderr } = await bench.finished;
    assert.equal(code, 130, stderr);
    assert.match(stdout, /interrupted/);
    const [path = ''] = listPaths(place.records);
    const { record } = readRecord(path);
    assert.ok(record.kind === 'sweep' && record.interrupted);
    assert.equal(record.cells.length, 1);
    assert.equal(record.cells[0]?.interrupted, true);
    assert.deepEqual(record.workload.concurrencies, [1, 2]);
  });
});

test('a second Ctrl-C ends at once', async () => {
  await withSlowEmitter(async (url, place) => {
    const bench = place.start(
      ...shortSweep('--url', url, '--concurrency', '1', '--output-tokens', '400'),
    );
    await bench.untilStderr('c1 ...');
    bench.child.kill('SIGINT');
    bench.child.kill('SIGINT');
    assert.equal((await bench.finished).code, 130);
  });
});

test('a second run at the same time is refused with the pid of the first, and the lock ends with its owner', async () => {
  await withSlowEmitter(async (url, place) => {
    const flags = shortSweep('--url', url, '--concurrency', '1', '--output-tokens', '400');
    const first = place.start(...flags);
    await first.untilStderr('c1 ...');
    const second = await place.bench(...flags);
    assert.equal(second.code, 2);
    assert.match(second.stderr, new RegExp(`process ${first.child.pid} \\(bench sweep\\)`));
    first.child.kill('SIGKILL');
    await first.finished;
    const third = await place.bench(...shortSweep('--url', url, '--concurrency', '1'));
    assert.ok(third.code === 0 || third.code === 3, third.stderr);
    assert.equal(listPaths(place.records).length, 1);
  });
});
