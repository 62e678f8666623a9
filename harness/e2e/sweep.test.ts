import assert from 'node:assert/strict';
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type EmitterProcess, startEmitterProcess } from '../emitter/emitter-process.ts';
import type { EmitterOptions } from '../emitter/options.ts';
import type { SweepRecord } from '../record/record.ts';
import { shortSweep, Workplace } from './bench-process.ts';

/** The machine's own load may void a cell; nothing else may here. */
const BY_LOAD = ['client_saturated'];

async function withEmitter(
  options: Partial<EmitterOptions>,
  use: (emitter: EmitterProcess, place: Workplace) => Promise<void>,
): Promise<void> {
  const place = new Workplace();
  const emitter = await startEmitterProcess(options);
  try {
    await use(emitter, place);
    assert.deepEqual(place.survivors(), []);
  } finally {
    await emitter.stop();
    place.remove();
  }
}

function codesOf(record: SweepRecord): string[] {
  return record.cells.flatMap(({ voids }) => voids.map(({ code }) => code));
}

test('a sweep of a running server writes one record whose numbers follow from its requests', async () => {
  await withEmitter({ ttftMs: 20, itlMs: 2 }, async (emitter, place) => {
    const sweep = shortSweep('--url', emitter.baseUrl, '--concurrency', '1,2', '--json');
    const { code, stdout, stderr } = await place.bench(...sweep);
    const record = JSON.parse(stdout) as SweepRecord;
    assert.deepEqual(
      codesOf(record).filter((void_) => !BY_LOAD.includes(void_)),
      [],
      stderr,
    );
    assert.equal(code, codesOf(record).length === 0 ? 0 : 3, stderr);
    assert.equal(record.schema, 'mxbench-record/1.0');
    assert.deepEqual(
      record.cells.map(({ concurrency }) => concurrency),
      [1, 2],
    );
    for (const { metrics, memory, cpu } of record.cells) {
      assert.equal(metrics?.succeeded, 4);
      assert.ok((metrics?.ttftMs?.min ?? 0) >= 19, 'the emitter waits 20 ms');
      assert.equal(metrics?.outputTokens, 32);
      assert.ok((memory?.peakPssBytes ?? 0) > 2 ** 20, 'the listener was found and watched');
      assert.ok((memory?.peakRssBytes ?? 0) >= (memory?.peakPssBytes ?? 0));
      assert.ok((cpu?.serverCpuSeconds ?? -1) >= 0);
    }
    assert.notEqual(record.cells[0]?.promptsSha256, record.cells[1]?.promptsSha256);
    const verified = await place.bench('records', 'verify', record.id.slice(0, 12));
    assert.match(verified.stdout, /all numbers follow from \d+ requests/);
    const page = readFileSync(join(place.folder, 'BENCHMARKS.md'), 'utf8');
    assert.ok(page.includes(record.id.slice(0, 12)));
    assert.equal((await place.bench('report', '--check')).code, 0);
  });
});

test('the same seed gives the same prompts, another seed others', async () => {
  await withEmitter({ ttftMs: 1, itlMs: 0 }, async (emitter, place) => {
    const hashes = async (seed: string) => {
      const flags = ['--url', emitter.baseUrl, '--concurrency', '1', '--json', '--seed', seed];
      const record = JSON.parse((await place.bench(...shortSweep(...flags))).stdout) as SweepRecord;
      return record.cells.map(({ promptsSha256 }) => promptsSha256);
    };
    const first = await hashes('7');
    assert.deepEqual(await hashes('7'), first);
    assert.notDeepEqual(await hashes('8'), first);
    const names = readdirSync(place.records, { recursive: true }).map(String);
    assert.equal(names.filter((name) => name.endsWith('.json')).length, 3);
    assert.match((await place.bench('records', 'check')).stdout, /3 of 3 records are whole/);
  });
});

const FAULTS = [
  { fault: 'cached', code: 'cache_mismatch' },
  { fault: 'short', code: 'length_mismatch' },
  { fault: 'miscount', code: 'length_mismatch' },
  { fault: 'cut', code: 'requests_failed' },
  { fault: 'no_done', code: 'requests_failed' },
] as const;

for (const { fault, code } of FAULTS) {
  test(`a server with the fault "${fault}" gives a VOID cell with ${code}, exit 3 and no number`, async () => {
    // The first generation must be right, or nothing would be measured at all.
    await withEmitter({ ttftMs: 1, itlMs: 0, fault, faultEvery: 3 }, async (emitter, place) => {
      const flags = shortSweep('--url', emitter.baseUrl, '--concurrency', '1');
      const { code: exit, stdout, stderr } = await place.bench(...flags);
      assert.equal(exit, 3, stderr);
      assert.match(stdout, new RegExp(`VOID c1 ${code}: \\d of 4 requests`));
      const page = readFileSync(join(place.folder, 'BENCHMARKS.md'), 'utf8');
      assert.match(
        page,
        new RegExp(`\\| 1 \\| emitter \\| VOID [a-z_, ]*${code}[a-z_, ]* \\|  \\|  \\|`),
      );
    });
  });
}

test('a server whose very first generation is wrong is refused with its fault, and no record is written', async () => {
  await withEmitter({ fault: 'no_usage' }, async (emitter, place) => {
    const flags = shortSweep('--url', emitter.baseUrl, '--concurrency', '1');
    const { code, stderr } = await place.bench(...flags);
    assert.equal(code, 3);
    assert.match(stderr, /error: no_usage: /);
    assert.deepEqual(readdirSync(place.records), []);
  });
});

test('a record that was edited, and a page that was edited, are found', async () => {
  await withEmitter({ ttftMs: 1, itlMs: 0 }, async (emitter, place) => {
    await place.bench(...shortSweep('--url', emitter.baseUrl, '--concurrency', '1'));
    const page = join(place.folder, 'BENCHMARKS.md');
    appendFileSync(page, 'One more number: 12.\n');
    const checked = await place.bench('report', '--check');
    assert.equal(checked.code, 2);
    assert.match(checked.stderr, /BENCHMARKS\.md is not what the records give/);
    const name = readdirSync(place.records, { recursive: true })
      .map(String)
      .find((path) => path.endsWith('.json'));
    const path = join(place.records, name ?? '');
    writeFileSync(path, readFileSync(path, 'utf8').replace('"seed":1', '"seed":2'));
    const broken = await place.bench('records', 'check');
    assert.equal(broken.code, 2);
    assert.match(broken.stderr, /its id is not the hash of its content/);
  });
});
