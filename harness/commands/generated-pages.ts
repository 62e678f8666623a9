// The generated pages out of a records folder: where they lie, what they say, and writing them.
import { dirname, join, resolve } from 'node:path';
import { HarnessError } from '../errors.ts';
import { writePage } from '../record/pages.ts';
import type {
  AttributionRecord,
  CalibrationRecord,
  ParityRecord,
  SweepRecord,
} from '../record/record.ts';
import { readAll } from '../record/store.ts';
import { BENCHMARKS_LIMIT_BYTES, benchmarksPage } from '../report/markdown.ts';
import { STATUS_LIMIT_BYTES, statusPage } from '../report/status.ts';
import { aaRunOf } from '../sweep/gate-input.ts';

export interface GeneratedPage {
  path: string;
  text: string;
  limitBytes: number;
  /** Rows that were left out to keep the budget. */
  droppedRows: number;
}

/** Makes the pages from every record of the folder; returns where the first one is. */
export function writePages(records: string, benchmarks: string | undefined): string {
  const [first, ...rest] = pagesOf(records, benchmarks);
  for (const { path, text } of [first, ...rest]) writePage(path, text);
  return first.path;
}

/** BENCHMARKS.md and beside it STATUS.md, as the records give them. INVALID_FILE names a record that cannot be read. */
export function pagesOf(
  records: string,
  benchmarks: string | undefined,
): [GeneratedPage, GeneratedPage] {
  const { sweeps, comparisons, calibrations, attributions, aaRuns } = readEverything(records);
  const path = benchmarks ?? join(dirname(resolve(records)), 'BENCHMARKS.md');
  const { text, droppedRows } = benchmarksPage(sweeps, comparisons);
  const status = statusPage({ sweeps, comparisons, calibrations, attributions, aaRuns });
  return [
    { path, text, limitBytes: BENCHMARKS_LIMIT_BYTES, droppedRows },
    {
      path: join(dirname(path), 'STATUS.md'),
      text: status,
      limitBytes: STATUS_LIMIT_BYTES,
      droppedRows: 0,
    },
  ];
}

function readEverything(records: string) {
  const sweeps: SweepRecord[] = [];
  const comparisons: ParityRecord[] = [];
  const calibrations: CalibrationRecord[] = [];
  const attributions: AttributionRecord[] = [];
  const aaRuns: ReturnType<typeof aaRunOf>[] = [];
  for (const found of readAll(records)) {
    if ('problem' in found) throw new HarnessError('INVALID_FILE', found.problem);
    const { record } = found;
    // Per-request data of thousands of records would fill the memory for nothing.
    const raw = { kind: 'inline' as const, requests: [] };
    if (record.kind === 'sweep') sweeps.push({ ...record, raw });
    if (record.kind === 'calibration') calibrations.push(record);
    if (record.kind === 'attribution') attributions.push(record);
    if (record.kind !== 'parity') continue;
    if (record.aa && record.verdict !== null) aaRuns.push(aaRunOf(record));
    comparisons.push({ ...record, pairs: [], raw });
  }
  return { sweeps, comparisons, calibrations, attributions, aaRuns };
}
