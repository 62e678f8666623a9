// `bench report`: makes the generated pages from the records; with --check it only says whether they are up to date.
import { basename, dirname, relative, resolve } from 'node:path';
import { EXIT, HarnessError } from '../errors.ts';
import { readPage, writePage } from '../record/pages.ts';
import type { ParityRecord } from '../record/record.ts';
import { listPaths, readRecord, readRows } from '../record/store.ts';
import { htmlReport, type Linked, type LinkedSweep } from '../report/html.ts';
import { type GeneratedPage, pagesOf } from './generated-pages.ts';

interface ReportOptions {
  records: string;
  benchmarks?: string;
  check?: boolean;
  html?: string;
}

/** Writes the pages, or proves that they are what the records give and keep their budgets. */
export function reportCommand(options: ReportOptions): number {
  for (const page of pagesOf(options.records, options.benchmarks)) {
    if (options.check === true) requireUpToDate(page);
    else update(page);
    requireBudget(page);
  }
  if (options.html !== undefined) {
    writePage(options.html, htmlOf(options.records, options.html));
    console.log(`${options.html}: open it in a browser.`);
  }
  return EXIT.ok;
}

function requireUpToDate({ path, text }: GeneratedPage): void {
  if (readPage(path) !== text) {
    throw new HarnessError('INVALID_FILE', `${path} is not what the records give.`, {
      hint: 'Never edit it by hand; make it again with: bench report',
    });
  }
  console.log(`${path} is what the records give.`);
}

function update({ path, text, limitBytes, droppedRows }: GeneratedPage): void {
  writePage(path, text);
  const dropped = droppedRows === 0 ? '' : `, ${droppedRows} superseded rows left out`;
  console.log(`${path}: ${Buffer.byteLength(text)} of ${limitBytes} bytes${dropped}.`);
}

function requireBudget({ path, text, limitBytes }: GeneratedPage): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= limitBytes) return;
  throw new HarnessError(
    'INVALID_FILE',
    `${path} needs ${bytes} bytes; ${limitBytes} is its budget.`,
    {
      hint: 'Keep records of retired models or machines in another folder.',
    },
  );
}

/** So many of the newest records are charted: more lines than this nobody can tell apart. */
const CHARTED = 6;

function htmlOf(records: string, page: string): string {
  const folder = dirname(resolve(page));
  const sweeps: LinkedSweep[] = [];
  const comparisons: Linked<ParityRecord>[] = [];
  for (const path of newestFirst(records)) {
    const { record } = readRecord(path);
    const href = relative(folder, path).split('/').map(encodeURIComponent).join('/');
    if (record.kind === 'sweep' && sweeps.length < CHARTED) {
      const rows = readRows(records, record);
      sweeps.push({ record, href, ...(rows === undefined ? {} : { rows }) });
    }
    if (record.kind === 'parity' && comparisons.length < CHARTED)
      comparisons.push({ record, href });
  }
  return htmlReport(sweeps, comparisons);
}

function newestFirst(records: string): string[] {
  // Names begin with the time of writing.
  return listPaths(records).toSorted((a, b) => (basename(a) < basename(b) ? 1 : -1));
}
