// BENCHMARKS.md out of a records folder: where it lies, what it says, and writing it.
import { dirname, join, resolve } from 'node:path';
import { HarnessError } from '../errors.ts';
import { writePage } from '../record/pages.ts';
import type { ParityRecord, SweepRecord } from '../record/record.ts';
import { readAll } from '../record/store.ts';
import { benchmarksPage, type Page } from '../report/markdown.ts';

/** Makes the page from every record of the folder, and returns where it is. */
export function writeBenchmarks(records: string, benchmarks: string | undefined): string {
  const path = benchmarksPath(records, benchmarks);
  writePage(path, pageOf(records).text);
  return path;
}

/** The page that the records of the folder give. INVALID_FILE names a record that cannot be read. */
export function pageOf(records: string): Page {
  const sweeps: SweepRecord[] = [];
  const comparisons: ParityRecord[] = [];
  for (const found of readAll(records)) {
    if ('problem' in found) throw new HarnessError('INVALID_FILE', found.problem);
    const { record } = found;
    // Per-request data of thousands of records would fill the memory for nothing.
    const raw = { kind: 'inline' as const, requests: [] };
    if (record.kind === 'sweep') sweeps.push({ ...record, raw });
    if (record.kind === 'parity') comparisons.push({ ...record, pairs: [], raw });
  }
  return benchmarksPage(sweeps, comparisons);
}

/** BENCHMARKS.md lies beside the records folder unless a file is named. */
export function benchmarksPath(records: string, benchmarks: string | undefined): string {
  return benchmarks ?? join(dirname(resolve(records)), 'BENCHMARKS.md');
}
