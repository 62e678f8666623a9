import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { canonicalJson, canonicalSha256 } from './canonical-json.ts';
import type { Draft, SweepRecord } from './record.ts';
import type { RequestRow } from './record-parts.ts';
import {
  findRecord,
  listPaths,
  RECORD_LIMIT_BYTES,
  readAll,
  readRecord,
  readRows,
  writeRecord,
} from './store.ts';
import { requireWritable } from './write-once.ts';

const GOLDEN = fileURLToPath(
  new URL('../../../harness/record/fixtures/sweep-1.0.json', import.meta.url),
);
const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mxbench-store-'));
  folders.push(folder);
  return folder;
}

function golden(): { draft: Draft<SweepRecord>; rows: RequestRow[] } {
  const { record } = readRecord(GOLDEN);
  assert.ok(record.kind === 'sweep' && record.raw.kind === 'inline');
  const { id: _, chain: __, ...draft } = record;
  return { draft, rows: record.raw.requests };
}

test('a record of schema 1.0 is read by every later 1.x, with its numbers unchanged', () => {
  const { record, newerMinor } = readRecord(GOLDEN);
  assert.equal(newerMinor, false);
  assert.ok(record.kind === 'sweep');
  const text = readFileSync(GOLDEN, 'utf8');
  const stored = JSON.parse(text) as SweepRecord;
  assert.equal(canonicalJson(record), text.trimEnd(), 'no field is lost or added');
  assert.equal(record.cells[0]?.metrics?.ttftMs?.p50, stored.cells[0]?.metrics?.ttftMs?.p50);
});

test('a written record is read back equal, is canonical on disk, and names its predecessor', () => {
  const folder = emptyFolder();
  const { draft, rows } = golden();
  const first = writeRecord(folder, draft, rows);
  const second = writeRecord(folder, { ...draft, createdUtc: '2027-01-01T00:00:00.000Z' }, rows);
  assert.deepEqual(readRecord(first.path).record, first.record);
  assert.equal(readFileSync(first.path, 'utf8'), `${canonicalJson(first.record)}\n`);
  assert.equal(first.record.chain.prev, null);
  assert.equal(second.record.chain.prev, first.record.id);
  const { id, ...content } = second.record;
  assert.equal(id, canonicalSha256(content));
  assert.deepEqual(listPaths(folder), [first.path, second.path]);
  assert.equal(findRecord(folder, first.record.id.slice(0, 8)).path, first.path);
  assert.deepEqual(readdirSync(folder), ['sweep'], 'nothing else lies about');
});

test('per-request data that would make a record large lies in a file of its own, by hash', () => {
  const folder = emptyFolder();
  const { draft, rows } = golden();
  const many = Array.from({ length: 400 }, (_, index) => ({ ...rows[0], index }) as RequestRow);
  const { path, record } = writeRecord(folder, draft, many);
  assert.ok(readFileSync(path).length <= RECORD_LIMIT_BYTES);
  assert.ok(record.kind === 'sweep' && record.raw.kind === 'file');
  assert.equal(record.raw.rows, 400);
  assert.deepEqual(readRows(folder, record), many);
  const rawFile = join(folder, 'raw', `${record.raw.sha256}.jsonl.gz`);
  writeFileSync(rawFile, 'other bytes');
  assert.throws(() => readRows(folder, record), /its hash is not the one in the record/);
  rmSync(rawFile);
  assert.equal(readRows(folder, record), undefined, 'expired raw data is no error');
});

test('a changed digit, a cut file and a file that is no record are each named', () => {
  const folder = emptyFolder();
  const { draft, rows } = golden();
  const { path } = writeRecord(folder, draft, rows);
  const whole = readFileSync(path, 'utf8');
  const problemOf = (text: string) => {
    writeFileSync(path, text);
    const [found] = [...readAll(folder)];
    return found !== undefined && 'problem' in found ? found.problem : 'none';
  };
  assert.match(problemOf(whole.replace('"seed":1', '"seed":3')), /changed after it was written/);
  assert.match(problemOf(whole.slice(0, 1000)), /cannot be read as JSON/);
  assert.match(problemOf(''), /cannot be read as JSON/);
  assert.match(problemOf('[]'), /not a JSON object/);
  const resealed = (change: object) => {
    const { id: _, ...content } = { ...JSON.parse(whole), ...change };
    return canonicalJson({ ...content, id: canonicalSha256(content) });
  };
  assert.match(problemOf(resealed({ schema: 'mxbench-record/2.0' })), /update bench/);
  assert.match(problemOf(resealed({ cells: 'none' })), /its field cells is wrong/);
  assert.equal(problemOf(resealed({ schema: 'mxbench-record/1.99', more: 1 })), 'none');
  assert.equal(problemOf(whole), 'none');
});

test('what a killed run left half written is removed by the next one; a living one is left alone', () => {
  const folder = emptyFolder();
  mkdirSync(join(folder, 'sweep'));
  const dead = join(folder, 'sweep', '.partial-999999999-1-record');
  const alive = join(folder, `.partial-1-${startOfInit()}-record`);
  writeFileSync(dead, '{"half":');
  writeFileSync(alive, '{"half":');
  assert.deepEqual(listPaths(folder), []);
  requireWritable(folder);
  assert.deepEqual(readdirSync(folder).sort(), [`.partial-1-${startOfInit()}-record`, 'sweep']);
  assert.deepEqual(readdirSync(join(folder, 'sweep')), []);
});

function startOfInit(): string {
  const stat = readFileSync('/proc/1/stat', 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}
