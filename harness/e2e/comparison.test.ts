import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { ParityRecord } from '../record/record.ts';
import { readVerdict } from '../record/stored-bounds.ts';
import { shortSweep, Workplace } from './bench-process.ts';

const EMITTER = fileURLToPath(new URL('../emitter/main.js', import.meta.url));

/** An arm file whose server needs `itlMs` for each token. */
function emitterArm(place: Workplace, name: string, itlMs: number): string {
  const path = join(place.folder, `${name}.yaml`);
  const options = `{"port":{port},"ttftMs":20,"itlMs":${itlMs}}`;
  writeFileSync(
    path,
    `kind: command\ncommand: ["${process.execPath}", "${EMITTER}", '${options}']\n`,
  );
  return path;
}

async function inWorkplace(use: (place: Workplace) => Promise<void>): Promise<void> {
  const place = new Workplace();
  try {
    await use(place);
    assert.deepEqual(await place.survivorsAtLast(), []);
  } finally {
    place.remove();
  }
}

function comparison(ours: string, reference: string): string[] {
  const flags = ['--arm', ours, '--reference', reference, '--concurrency', '1', '--looks', '8'];
  return shortSweep(...flags, '--output-tokens', '16', '--requests', '3', '--json');
}

test('a slower reference is found in mirrored pairs, and the verdict follows from the stored pairs', async () => {
  await inWorkplace(async (place) => {
    const [fast, slow] = [emitterArm(place, 'fast', 5), emitterArm(place, 'slow', 10)];
    const { stdout, stderr } = await place.bench(...comparison(fast, slow));
    const record = JSON.parse(stdout) as ParityRecord;
    assert.equal(record.arms.ours.label, 'fast', stderr);
    assert.equal(record.pairs.length, 8);
    assert.deepEqual(
      [...record.plan.order].sort().join(''),
      'AAAABBBB',
      'each arm leads equally often',
    );
    assert.equal(new Set(record.pairs.map(({ launch }) => launch)).size, 4);
    const tpot = readVerdict(record)?.cells.find(({ key }) => key === 'tpot.mean@c1');
    assert.ok((tpot?.ratio?.lower ?? 0) > 1.5, 'the reference needs twice as long a token');
    const verified = await place.bench('records', 'verify', record.id.slice(0, 12));
    assert.match(verified.stdout, /the verdict follows from 8 pairs/);
    assert.equal((await place.bench('report', '--check')).code, 0);
    // Without floors nothing is protected, and the gate says so instead of passing.
    writeFileSync(join(place.folder, 'floors.json'), floors(record, 1));
    const gate = await place.bench('gate', '--floors', 'floors.json', '--junit', 'gate.xml');
    assert.notEqual(gate.code, 0, gate.stdout);
    assert.match(gate.stdout, /uncalibrated|margin|alpha/);
  });
});

function floors(record: ParityRecord, c: number): string {
  return JSON.stringify({
    schema: 'bench-floors/1.0',
    scenario: record.scenario,
    env: record.environment.envClass,
    methodology: record.methodology,
    family: { alpha: 0.01, method: 'maxT', looks: [8] },
    cells: [{ axis: 'tpot.mean', c, floor: 0.9, margin: 0.05 }],
    required: 'all',
  });
}

test('a program that is not there, and two equal arms, are refused', async () => {
  await inWorkplace(async (place) => {
    const missing = join(place.folder, 'missing.yaml');
    writeFileSync(missing, 'kind: command\ncommand: [no-such-engine, "{port}"]\n');
    const gone = await place.bench(...comparison(missing, emitterArm(place, 'other', 1)));
    assert.equal(gone.code, 3);
    assert.match(gone.stderr, /no-such-engine/);
    const arm = emitterArm(place, 'same', 1);
    const same = await place.bench(...comparison(arm, arm));
    assert.equal(same.code, 2);
    assert.match(same.stderr, /--aa/);
  });
});

test('an arm file with a mistake is refused with its field', async () => {
  await inWorkplace(async (place) => {
    const path = join(place.folder, 'bad.yaml');
    writeFileSync(path, 'kind: command\ncommand: []\n');
    const { code, stderr } = await place.bench(...comparison(path, path));
    assert.equal(code, 2);
    assert.match(stderr, /command is wrong/);
  });
});

test('the gate refuses to pass on nothing', async () => {
  await inWorkplace(async (place) => {
    writeFileSync(join(place.folder, 'floors.json'), '{"schema":"bench-floors/1.0"}');
    const broken = await place.bench('gate', '--floors', 'floors.json', '--lint');
    assert.equal(broken.code, 2);
    assert.match(broken.stderr, /floors\.json: scenario/);
    writeFileSync(join(place.folder, 'floors.json'), '{');
    assert.match((await place.bench('gate', '--floors', 'floors.json')).stderr, /is not JSON/);
  });
});
