import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { SweepRecord } from '../record/record.ts';
import { readRecord, readRows } from '../record/store.ts';
import { htmlReport } from './html.ts';
import { escapeHtml, forest, histogram, lineChart, timeline } from './svg.ts';

const GOLDEN = fileURLToPath(
  new URL('../../../harness/record/fixtures/sweep-1.0.json', import.meta.url),
);

function golden(): SweepRecord {
  const { record } = readRecord(GOLDEN);
  assert.ok(record.kind === 'sweep');
  return record;
}

test('the page asks nothing of any other place and runs nothing', () => {
  const record = golden();
  const rows = readRows('', record) ?? [];
  const page = htmlReport([{ record, href: 'records/a.json', rows }], []);
  assert.doesNotMatch(page, /<script|https?:\/\/|@import|url\(/);
  assert.match(page, /^<!doctype html>\n<html lang="en">/);
  assert.match(page, /prefers-color-scheme:dark/);
  assert.match(page, /width=device-width/);
});

test('every record that is charted is linked, and its figures stand in the table', () => {
  const record = golden();
  const page = htmlReport([{ record, href: 'records/a%20b.json' }], []);
  assert.ok(page.includes('<a href="records/a%20b.json">'));
  assert.ok(page.includes(`<td>${record.cells[0]?.metrics?.tpotMs?.mean.toFixed(2)}</td>`));
  assert.equal(page.match(/<svg /g)?.length, 3, 'TPOT, TTFT and throughput');
});

test('a void cell has no mark in any chart and no number in the table', () => {
  const record = golden();
  const cells = record.cells.map((cell) => ({
    ...cell,
    voids: [{ code: 'contended' as const, message: 'Others.' }],
  }));
  const page = htmlReport([{ record: { ...record, cells }, href: 'a', rows: [] }], []);
  assert.doesNotMatch(page, /<circle|<svg/);
  assert.match(page, /<tr class="void"><td>1<\/td><td>VOID<\/td><td>–<\/td>/);
});

test('names that hold markup stay text', () => {
  const record = golden();
  const label = '<img src=x onerror=alert(1)>';
  const page = htmlReport(
    [{ record: { ...record, arm: { ...record.arm, label } }, href: '"><b>' }],
    [],
  );
  assert.doesNotMatch(page, /<img|"><b>/);
  assert.equal(escapeHtml(`<&>"'`), '&lt;&amp;&gt;&quot;&#39;');
});

test('charts put larger values higher or further, whatever they are given', () => {
  const points = [1, 2, 8].map((x) => ({ x, y: 10 * x, title: `c${x}` }));
  const chart = lineChart('label', [{ name: 'a', points }]);
  const heights = [...chart.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)].map((m) => [
    Number(m[1]),
    Number(m[2]),
  ]);
  const [first, second, third] = heights;
  assert.ok(first && second && third);
  assert.ok((first[0] ?? 0) < (second[0] ?? 0) && (second[0] ?? 0) < (third[0] ?? 0));
  assert.ok((first[1] ?? 0) > (second[1] ?? 0) && (second[1] ?? 0) > (third[1] ?? 0));
  for (const odd of [
    lineChart('one', [{ name: 'a', points: [{ x: 4, y: 0, title: 't' }] }]),
    histogram('same', [3, 3, 3], 'ms'),
    histogram('none', [], 'ms'),
    forest('none', []),
    timeline('none', []),
  ]) {
    assert.doesNotMatch(odd, /NaN|Infinity|undefined/);
  }
});

test('a histogram counts every value once', () => {
  const values = Array.from({ length: 1000 }, (_, index) => (index * 7919) % 997);
  const counts = [...histogram('h', values, 'ms').matchAll(/ms: (\d+)<\/title>/g)];
  assert.equal(
    counts.reduce((sum, match) => sum + Number(match[1]), 0),
    1000,
  );
});
