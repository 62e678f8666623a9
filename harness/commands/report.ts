// `bench report`: makes the generated pages from the records; with --check it only says whether they are up to date.
import { EXIT, HarnessError } from '../errors.ts';
import { readPage, writePage } from '../record/pages.ts';
import { BENCHMARKS_LIMIT_BYTES } from '../report/markdown.ts';
import { benchmarksPath, pageOf } from './benchmarks-page.ts';

interface ReportOptions {
  records: string;
  benchmarks?: string;
  check?: boolean;
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
