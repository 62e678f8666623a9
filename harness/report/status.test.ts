import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { SweepRecord } from '../record/record.ts';
import { readRecord } from '../record/store.ts';
import { STATUS_LIMIT_BYTES, type StatusInput, statusPage } from './status.ts';

const GOLDEN = fileURLToPath(
  new URL('../../../harness/record/fixtures/sweep-1.0.json', import.meta.url),
);

function golden(change: Partial<SweepRecord> = {}): SweepRecord {
  const { record } = readRecord(GOLDEN);
  assert.ok(record.kind === 'sweep');
  return { ...record, ...change };
}

function page(input: Partial<StatusInput>): string {
  const nothing = { sweeps: [], comparisons: [], calibrations: [], attributions: [], aaRuns: [] };
  return statusPage({ ...nothing, ...input });
}

test('what was never measured is said to be so', () => {
  assert.equal(page({}).match(/- not measured yet/g)?.length, 5);
});

test('the newest record of an arm and its work decides the line', () => {
  const old = golden({ id: 'a'.repeat(64), createdUtc: '2026-01-01T00:00:00.000Z' });
  const interrupted = golden({
    id: 'b'.repeat(64),
    createdUtc: '2026-02-01T00:00:00.000Z',
    interrupted: true,
  });
  const text = page({ sweeps: [interrupted, old] });
  assert.match(text, /interrupted \(2026-02-01, `bbbbbbbbbbbb`\)/);
  assert.doesNotMatch(text, /aaaaaaaaaaaa/);
  assert.equal(page({ sweeps: [old, interrupted] }), text);
});

test('a void sweep names its codes and what to do', () => {
  const [cell] = golden().cells;
  assert.ok(cell);
  const voided = { ...cell, voids: [{ code: 'contended' as const, message: 'Others.' }] };
  const text = page({ sweeps: [golden({ cells: [voided] })] });
  assert.match(text, /0 of 1 cells hold; contended: Stop what else runs/);
});

test('many arms keep the budget and the page says how many are left out', () => {
  const sweeps = Array.from({ length: 300 }, (_, index) => {
    const { arm } = golden();
    return golden({
      id: index.toString(16).padStart(64, '0'),
      arm: { ...arm, label: `arm ${index}` },
    });
  });
  const text = page({ sweeps });
  assert.ok(Buffer.byteLength(text) <= STATUS_LIMIT_BYTES);
  assert.match(text, /- and 288 more: `bench records list`/);
});
