import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SweepRecord } from '../record/record.ts';
import { listPaths, readRecord } from '../record/store.ts';
import { shortSweep, TINY_MODEL, Workplace } from './bench-process.ts';
import { killAtRandom } from './kill-trial.ts';

/** What the load of the machine, not the server, may do to a cell. */
const BY_LOAD = ['client_saturated', 'value_unusable'];

async function inWorkplace(use: (place: Workplace) => Promise<void>): Promise<void> {
  const place = new Workplace();
  try {
    await use(place);
    assert.deepEqual(await place.survivorsAtLast(), []);
  } finally {
    place.remove();
  }
}

test('a sweep starts the bundled server, measures it, stops it, and records what exactly ran', async () => {
  await inWorkplace(async (place) => {
    const flags = ['--model', TINY_MODEL, '--concurrency', '1,4', '--activations', 'f32', '--json'];
    const { code, stdout, stderr } = await place.bench(...shortSweep(...flags));
    assert.deepEqual(place.survivors(), [], 'the server is gone when bench ends');
    const record = JSON.parse(stdout) as SweepRecord;
    const voids = record.cells.flatMap((cell) => cell.voids.map((void_) => void_.code));
    assert.deepEqual(
      voids.filter((void_) => !BY_LOAD.includes(void_)),
      [],
      stderr,
    );
    assert.equal(code, voids.length === 0 ? 0 : 3, stderr);
    const { arm, cells } = record;
    assert.equal(arm.role, 'bundled');
    assert.equal(arm.activations, 'f32');
    assert.match(arm.model.sha256 ?? '', /^[0-9a-f]{64}$/);
    assert.equal(arm.model.synthetic, false);
    assert.equal(arm.resolvedConfig?.['maxNumSeqs'], 4);
    assert.ok((arm.startSeconds ?? 0) > 0);
    for (const { metrics, memory, cpu } of cells) {
      assert.equal(metrics?.failed, 0);
      assert.equal(metrics?.promptTokens, 4 * 32);
      assert.equal(metrics?.cachedTokensMax ?? 0, 0);
      assert.ok((memory?.peakPssBytes ?? 0) > 2 ** 20);
      assert.ok((cpu?.serverCpuSeconds ?? 0) > 0);
    }
    assert.ok(!stdout.includes(place.folder), 'no path of this machine is in the record');
  });
});

test('greedy answers are the same in two runs of one seed', async () => {
  await inWorkplace(async (place) => {
    const answers = async () => {
      const flags = ['--model', TINY_MODEL, '--concurrency', '2', '--json'];
      const record = JSON.parse((await place.bench(...shortSweep(...flags))).stdout) as SweepRecord;
      assert.ok(record.raw.kind === 'inline');
      return record.raw.requests
        .filter(({ phase }) => phase === 'measured')
        .map(({ index, tokensSha256 }) => [index, tokensSha256])
        .sort(([a], [b]) => Number(a) - Number(b));
    };
    const first = await answers();
    assert.equal(first.length, 4);
    assert.deepEqual(await answers(), first);
  });
});

test('a model that is not there is refused in one line with exit 2', async () => {
  await inWorkplace(async (place) => {
    const { code, stdout, stderr } = await place.bench('sweep', '--model', 'no-such-model');
    assert.equal(code, 2, stderr);
    assert.match(stderr, /^error: .*no-such-model/m);
    assert.doesNotMatch(stderr, /\n\s+at /);
    assert.equal(stdout, '');
  });
});

test('a server that dies in the run leaves a VOID record with the reason, and exit 3', async () => {
  await inWorkplace(async (place) => {
    const flags = ['--model', TINY_MODEL, '--concurrency', '1,2', '--requests', '5000'];
    const bench = place.start(...shortSweep(...flags));
    await bench.untilStderr('c1 ...');
    await new Promise((resolve) => setTimeout(resolve, 300));
    const [server] = place.survivorsLike('server/main.js');
    assert.ok(server !== undefined);
    process.kill(server, 'SIGKILL');
    const { code, stdout } = await bench.finished;
    assert.equal(code, 3);
    assert.match(stdout, /VOID c1 requests_failed: (?:\d+ of 5000 requests|The server could not)/);
    const [path = ''] = listPaths(place.records);
    const { record } = readRecord(path);
    assert.ok(record.kind === 'sweep' && record.cells.every(({ voids }) => voids.length > 0));
  });
});

test('killed at random moments, bench leaves no process, no lock and no half record', async () => {
  await inWorkplace(async (place) => {
    const report = await killAtRandom(place, 5, 11);
    assert.deepEqual(report.survivors, []);
    assert.deepEqual(report.broken, []);
    assert.deepEqual(report.leftovers, []);
    assert.ok(report.lastExit === 0 || report.lastExit === 3, report.lastWords);
  });
});

test('bench serve ends with its parent and its port is free again', async () => {
  await inWorkplace(async (place) => {
    const bench = place.start('serve', '--model', TINY_MODEL, '--port', '0');
    await new Promise<void>((resolve) => {
      bench.child.stdout?.on('data', (text: string) => {
        if (text.includes('ready on http://')) resolve();
      });
    });
    assert.equal(place.survivors().length, 2);
    bench.child.kill('SIGKILL');
    await bench.finished;
  });
});
