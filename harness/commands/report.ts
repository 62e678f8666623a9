// `bench report`: makes the generated pages from the records; with --check it only says whether they are up to date.
import { basename, dirname, relative, resolve } from 'node:path';
import { EXIT, HarnessError } from '../errors.ts';
import { readPage, writePage } from '../record/pages.ts';
import type { ParityRecord } from '../record/record.ts';
import { listPaths, readRecord, readRows } from '../record/store.ts';
import { htmlReport, type Linked, type LinkedSweep } from '../report/html.ts';
import { BENCHMARKS_LIMIT_BYTES } from '../report/markdown.ts';
import { benchmarksPath, pageOf } from './benchmarks-page.ts';

interface ReportOptions {
  records: string;
  benchmarks?: string;
  check?: boolean;
  html?: string;
}

/** Writes the page, or proves that it is what the records give and keeps its budget. */
export function reportCommand(options: ReportOptions): number {
  const path = benchmarksPath(options.records, options.benchmarks);
  const { text, droppedRows } = pageOf(options.records);
  const bytes = Buffer.byteLength(text);
  if (options.check === true) {
    if (readPage(path) !== text) {
      throw new HarnessError('INVALID_FILE', `${path} is not what the records give.`, {
        hint: 'Never edit it by hand; make it again with: bench report',
      });
    }
    console.log(`${path} is what the records give.`);
  } else {
    writePage(path, text);
    const dropped = droppedRows === 0 ? '' : `, ${droppedRows} superseded rows left out`;
    console.log(`${path}: ${bytes} of ${BENCHMARKS_LIMIT_BYTES} bytes${dropped}.`);
  }
  if (options.html !== undefined) {
    writePage(options.html, htmlOf(options.records, options.html));
    console.log(`${options.html}: open it in a browser.`);
  }
  if (bytes > BENCHMARKS_LIMIT_BYTES) {
    throw new HarnessError(
      'INVALID_FILE',
      `${path} needs ${bytes} bytes; ${BENCHMARKS_LIMIT_BYTES} is its budget.`,
      {
        hint: 'Keep records of retired models or machines in another folder.',
      },
    );
  }
  return EXIT.ok;
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
