import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { SweepRecord } from '../record/record.ts';
import { readRecord } from '../record/store.ts';
import { BENCHMARKS_LIMIT_BYTES, benchmarksPage } from './markdown.ts';
import { bytesFigure, figure, sweepTable } from './table.ts';
import { sweepNotices } from './warnings.ts';

const GOLDEN = fileURLToPath(
  new URL('../../../harness/record/fixtures/sweep-1.0.json', import.meta.url),
);

function golden(change: Partial<SweepRecord> = {}): SweepRecord {
  const { record } = readRecord(GOLDEN);
  assert.ok(record.kind === 'sweep');
  const cells = record.cells.map((cell) => ({ ...cell, voids: [], warnings: [] }));
  return { ...record, cells, ...change };
}

function numbered(n: number, change: Partial<SweepRecord> = {}): SweepRecord {
  const minute = String(n % 60).padStart(2, '0');
  const hour = String(Math.floor(n / 60) % 24).padStart(2, '0');
  const day = String(1 + Math.floor(n / 1440)).padStart(2, '0');
  const createdUtc = `2026-01-${day}T${hour}:${minute}:00.000Z`;
  return golden({ id: n.toString(16).padStart(64, '0'), createdUtc, ...change });
}

test('the page depends on the records and not on their order', () => {
  const records = [numbered(1), numbered(2, { label: 'other' }), numbered(3)];
  const { text } = benchmarksPage(records);
  assert.equal(benchmarksPage(records.toReversed()).text, text);
  assert.equal(text.match(/^## /gm)?.length, 1, 'one table for one model, machine and load');
  assert.match(text, /\| 1 \| golden \(older\) \|/);
  assert.match(text, /\| 1 \| other \|/);
});

test('arms with the same model and load share a table, whatever name the server gives the file', () => {
  const record = numbered(1);
  const named = (id: string) => ({ ...record.arm, model: { ...record.arm.model, id } });
  const { text } = benchmarksPage([
    numbered(1, { arm: named('tiny') }),
    numbered(2, { label: 'llama.cpp', arm: named('/models/tiny.gguf') }),
  ]);
  assert.match(text, /^## tiny, 32 in, 8 out/m);
  assert.equal(text.match(/^## /gm)?.length, 1);
});

test('equal weights share a table under the shortest name, and other weights of that name do not', () => {
  const record = numbered(1);
  const model = (id: string, sha256: string) => ({
    ...record.arm,
    model: { ...record.arm.model, id, sha256: sha256.repeat(64) },
  });
  const { text } = benchmarksPage([
    numbered(1, { arm: model('tiny', 'a') }),
    numbered(2, { label: 'llama.cpp', arm: model('tiny-mxfp4.gguf', 'a') }),
    numbered(3, { label: 'other', arm: model('tiny', 'b') }),
  ]);
  assert.equal(text.match(/^## tiny, /gm)?.length, 2);
  assert.doesNotMatch(text, /tiny-mxfp4/);
});

test('a void or interrupted cell is shown with its reason and quotes no number', () => {
  const record = golden();
  const [cell] = record.cells;
  assert.ok(cell);
  const voided = { ...cell, voids: [{ code: 'contended' as const, message: 'Others ran.' }] };
  const { text } = benchmarksPage([{ ...record, cells: [voided] }]);
  assert.match(text, /\| 1 \| golden \| VOID contended \| {2}\| {2}\| {2}\| {2}\| 5 \|/);
  assert.match(sweepTable({ ...record, cells: [voided] }), /VOID/);
  const [notice] = sweepNotices({ ...record, cells: [voided] });
  assert.match(notice ?? '', /^VOID c1 contended: Others ran\. Stop what else runs/);
  const interrupted = { ...record, cells: [{ ...cell, interrupted: true }] };
  assert.match(benchmarksPage([interrupted]).text, /\| interrupted \|/);
});

test('thousands of records keep the budget: superseded rows go, the newest of each arm never', () => {
  const records = Array.from({ length: 2000 }, (_, n) => numbered(n));
  const { text, droppedRows } = benchmarksPage(records);
  assert.ok(Buffer.byteLength(text) <= BENCHMARKS_LIMIT_BYTES);
  assert.ok(droppedRows > 3000);
  assert.ok(text.includes(`\`${(1999).toString(16).padStart(64, '0').slice(0, 12)}\``));
  assert.match(text, new RegExp(`${droppedRows} superseded rows are left out`));
});

test('without records the page says so', () => {
  assert.match(benchmarksPage([]).text, /There is no sweep yet/);
});

test('figures have about three digits and an absent one is a dash', () => {
  assert.deepEqual([1234.5, 99.96, 12.34, 1.234, 0.1234, 0.01234, 0].map(figure), [
    '1235',
    '100.0',
    '12.3',
    '1.23',
    '0.12',
    '0.012',
    '0.000',
  ]);
  assert.equal(figure(null), '–');
  assert.equal(bytesFigure(3 * 2 ** 20), '3.00 MiB');
  assert.equal(bytesFigure(1.5 * 2 ** 30), '1.50 GiB');
});
