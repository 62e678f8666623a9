// BENCHMARKS.md out of all records: one table for each model, machine class and load, newest run of each arm first. Equal
// records give equal bytes. When the page would grow over its budget, the oldest superseded rows go first.
import type { ParityRecord, SweepRecord } from '../record/record.ts';
import type { SweepCell } from '../record/record-parts.ts';
import { comparisonsSection } from './parity-section.ts';
import { workOf, workTitle } from './sweep-work.ts';
import { bytesFigure, figure } from './table.ts';

export const BENCHMARKS_LIMIT_BYTES = 24 * 1024;

export interface Page {
  text: string;
  /** Rows left out to keep the budget. */
  droppedRows: number;
}

interface Row {
  record: SweepRecord;
  cell: SweepCell;
  /** A newer record has the same arm and cell. */
  superseded: boolean;
}

interface Group {
  title: string;
  rows: Row[];
}

/** The page for these sweeps; the order in which they are given does not matter. */
export function benchmarksPage(
  records: readonly SweepRecord[],
  comparisons: readonly ParityRecord[] = [],
): Page {
  const parity = comparisonsSection(comparisons);
  const render = (...args: Parameters<typeof renderSweeps>) => renderSweeps(...args) + parity;
  const groups = groupsOf(records);
  const active = (row: Row) => !row.superseded;
  const oldest = groups
    .flatMap(({ rows }) => rows)
    .filter(({ superseded }) => superseded)
    .toSorted((a, b) => compare(a.record.createdUtc, b.record.createdUtc));
  let kept = new Set(groups.flatMap(({ rows }) => rows));
  let text = render(groups, kept, 0);
  let dropped = 0;
  while (Buffer.byteLength(text) > BENCHMARKS_LIMIT_BYTES && dropped < oldest.length) {
    // A good step at a time: rendering once for every row would be slow with thousands of records.
    const over = Buffer.byteLength(text) - BENCHMARKS_LIMIT_BYTES;
    dropped = Math.min(oldest.length, dropped + Math.max(1, Math.ceil(over / 200)));
    const gone = new Set(oldest.slice(0, dropped));
    kept = new Set([...kept].filter((row) => active(row) || !gone.has(row)));
    text = render(groups, kept, dropped);
  }
  return { text, droppedRows: dropped };
}

function groupsOf(records: readonly SweepRecord[]): Group[] {
  const groups = new Map<string, Group>();
  const newest = new Set<string>();
  const ordered = records.toSorted(
    (a, b) => compare(b.createdUtc, a.createdUtc) || compare(a.id, b.id),
  );
  for (const record of ordered) {
    const title = workTitle(record);
    const work = workOf(record);
    const group = groups.get(work) ?? { title, rows: [] };
    groups.set(work, group);
    // Servers name one file differently; the shortest name is the plainest.
    if (title.length < group.title.length) group.title = title;
    for (const cell of record.cells) {
      const key = JSON.stringify([work, armName(record), cell.concurrency]);
      group.rows.push({ record, cell, superseded: newest.has(key) });
      newest.add(key);
    }
  }
  for (const { rows } of groups.values()) {
    rows.sort(
      (a, b) =>
        a.cell.concurrency - b.cell.concurrency ||
        compare(armName(a.record), armName(b.record)) ||
        compare(b.record.createdUtc, a.record.createdUtc),
    );
  }
  return [...groups.values()].toSorted((a, b) => compare(a.title, b.title));
}

function armName({ arm, label }: SweepRecord): string {
  return label ?? [arm.label, arm.activations].filter((part) => part !== null).join(' ');
}

const INTRODUCTION = `# Benchmarks

Made by \`bench report\` from the records in \`records/\`; do not edit. Every figure belongs to the record in its row:
\`bench records show ID\`. Times are ms. TTFT: request sent to first content. TPOT: (last token - first token) / (output tokens -
tokens in the first event), mean over requests. ITL: gaps between content events. Tok/s: output tokens in the steady window.
Memory: peak of the summed PSS of the server's process tree. n: requests that count. VOID rows are kept with their reason and
quote no number. Rows of one table ran the same load on the same class of machine, but at different times: a ratio needs
paired runs. Reproduce: \`npx bench sweep --concurrency 1,2,4,8 --model MODEL --input-tokens N --output-tokens N\`.
`;

const HEAD = [
  '| c | arm | TTFT p50 | TPOT mean | ITL p50 | tok/s | memory | n | date | record |',
  '|--:|:--|--:|--:|--:|--:|--:|--:|:--|:--|',
].join('\n');

function renderSweeps(groups: readonly Group[], kept: ReadonlySet<Row>, dropped: number): string {
  const sections = groups.map(({ title, rows }) => {
    const lines = rows.filter((row) => kept.has(row)).map(renderRow);
    return `\n## ${title}\n\n${HEAD}\n${lines.join('\n')}\n`;
  });
  const none = groups.length === 0 ? '\nThere is no sweep yet.\n' : '';
  const rest =
    dropped === 0 ? '' : `\n${dropped} superseded rows are left out; their records remain.\n`;
  return `${INTRODUCTION}${none}${sections.join('')}${rest}`;
}

function renderRow({ record, cell, superseded }: Row): string {
  const { metrics } = cell;
  const tail = [record.createdUtc.slice(0, 10), `\`${record.id.slice(0, 12)}\``];
  const name = `${armName(record)}${superseded ? ' (older)' : ''}`.replaceAll('|', '/');
  const start = [String(cell.concurrency), name];
  const n = String(metrics?.succeeded ?? 0);
  if (cell.voids.length > 0 || cell.interrupted || metrics === null || metrics.succeeded === 0) {
    const codes = [...new Set(cell.voids.map(({ code }) => code))].join(', ');
    const why = codes === '' ? 'interrupted' : `VOID ${codes}`;
    return `| ${[...start, why, '', '', '', '', n, ...tail].join(' | ')} |`;
  }
  const figures = [
    figure(metrics.ttftMs?.p50),
    figure(metrics.tpotMs?.mean),
    figure(metrics.itlMs?.p50),
    figure(metrics.outputTokensPerSecond),
    bytesFigure(cell.memory?.peakPssBytes),
  ];
  return `| ${[...start, ...figures, n, ...tail].join(' | ')} |`;
}

/** Plain order of code units: the same on every machine, whatever its language. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
