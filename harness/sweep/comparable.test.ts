import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { SweepRecord } from '../record/record.ts';
import { readRecord } from '../record/store.ts';
import { sideBySide } from '../report/side-by-side.ts';
import { firstDifference } from './comparable.ts';
import { axisValues, voidsOfPair } from './leg.ts';
import { unprovenFields } from './recompute.ts';

const GOLDEN = fileURLToPath(
  new URL('../../../harness/record/fixtures/sweep-1.0.json', import.meta.url),
);

function golden(): SweepRecord {
  const { record } = readRecord(GOLDEN);
  assert.ok(record.kind === 'sweep');
  return record;
}

test('equal work on the same class of machine may be compared, and a ratio without pairs is never called proof', () => {
  const record = golden();
  assert.equal(firstDifference(record, record), undefined);
  assert.match(sideBySide(record, record), /has no interval and proves nothing/);
});

test('what differs is named with both values', () => {
  const record = golden();
  const { workload, environment, arm } = record;
  const other = (change: Partial<SweepRecord>) => firstDifference(record, { ...record, ...change });
  assert.equal(other({ methodology: 'sweep/2' }), 'methodology: "sweep/1" and "sweep/2"');
  assert.equal(other({ workload: { ...workload, inputTokens: 64 } }), 'input tokens: 32 and 64');
  assert.match(
    other({ environment: { ...environment, envClass: 'x-1x-0' } }) ?? '',
    /^machine class/,
  );
  const hashed = (sha256: string) => ({
    ...record,
    arm: { ...arm, model: { ...arm.model, sha256 } },
  });
  const difference = firstDifference(hashed('a'.repeat(64)), hashed('b'.repeat(64)));
  assert.match(difference ?? '', /^model: aaaaaaaaaaaa and bbbbbbbbbbbb/);
});

test('a number that was changed with its id made new is still found: it does not follow from the requests', () => {
  const record = golden();
  assert.ok(record.raw.kind === 'inline');
  const rows = record.raw.requests;
  assert.deepEqual(unprovenFields(record, rows), []);
  const [cell, ...rest] = record.cells;
  assert.ok(cell?.metrics?.ttftMs);
  const ttftMs = { ...cell.metrics.ttftMs, p50: cell.metrics.ttftMs.p50 * 0.9 };
  const better = { ...record, cells: [{ ...cell, metrics: { ...cell.metrics, ttftMs } }, ...rest] };
  assert.deepEqual(unprovenFields(better, rows), ['c1 ttftMs']);
});

test('a leg gives every axis that it has, and none that it has not', () => {
  const [cell] = golden().cells;
  assert.ok(cell?.metrics);
  const values = axisValues(cell);
  assert.ok(Math.abs((values['ttft.p50'] ?? 0) - (cell.metrics.ttftMs?.p50 ?? 1)) < 1e-5);
  assert.equal(values['peak_memory'], cell.memory?.peakPssBytes);
  assert.equal('ttft.p99' in values, false, 'too few requests for it');
  assert.equal('goodput' in values, false);
  assert.deepEqual(axisValues({ ...cell, metrics: null }), {});
});

test('a client that is late because others hold the CPU makes a pair contended, not lost', () => {
  const [cell] = golden().cells;
  assert.ok(cell?.metrics && cell.cpu);
  const leg = (foreignCpuShare: number, eventLoopDelayP99Ms: number) => ({
    ...cell,
    concurrency: 1,
    cpu: { ...cell.cpu, foreignCpuShare } as NonNullable<typeof cell.cpu>,
    metrics: { ...cell.metrics, eventLoopDelayP99Ms } as NonNullable<typeof cell.metrics>,
  });
  const codes = (share: number, lateMs: number, limit: number | undefined) =>
    voidsOfPair(
      { ours: leg(share, lateMs), reference: leg(share, 0) },
      { concurrency: 1, foreignCpuShare: limit },
    ).map(({ code }) => code);
  assert.deepEqual(codes(0.01, 0, 0.05), []);
  assert.deepEqual(codes(0.01, 40, 0.05), ['client_saturated']);
  assert.deepEqual(codes(0.2, 40, 0.05), ['contended', 'contended']);
  assert.deepEqual(codes(0.2, 40, undefined), []);
});
