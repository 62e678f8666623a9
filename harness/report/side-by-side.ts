// Two sweeps in one table. Without pairs a ratio has no interval, so none of them is called better or worse.
import Table from 'cli-table3';
import type { SweepRecord } from '../record/record.ts';
import type { SweepCell } from '../record/record-parts.ts';
import { figure } from './table.ts';

type Figure = (cell: SweepCell) => number | null | undefined;

/** Ratios are turned so that above 1 the second is the faster or smaller one. */
const ROWS: { name: string; of: Figure; higherIsBetter: boolean }[] = [
  { name: 'TTFT p50 ms', of: ({ metrics }) => metrics?.ttftMs?.p50, higherIsBetter: false },
  { name: 'TPOT mean ms', of: ({ metrics }) => metrics?.tpotMs?.mean, higherIsBetter: false },
  {
    name: 'output tok/s',
    of: ({ metrics }) => metrics?.outputTokensPerSecond,
    higherIsBetter: true,
  },
  {
    name: 'peak PSS MiB',
    of: ({ memory }) => mebibytes(memory?.peakPssBytes),
    higherIsBetter: false,
  },
];

/** The table, and what it does not say. */
export function sideBySide(a: SweepRecord, b: SweepRecord): string {
  const head = ['c', 'what', name(a), name(b), 'second to first'];
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const cell of a.cells) {
    const other = b.cells.find(({ concurrency }) => concurrency === cell.concurrency);
    if (other === undefined) continue;
    for (const row of ROWS) {
      const [left, right] = [quoted(cell, row.of), quoted(other, row.of)];
      const ratio = left && right ? (row.higherIsBetter ? right / left : left / right) : undefined;
      table.push([`${cell.concurrency}`, row.name, figure(left), figure(right), figure(ratio)]);
    }
  }
  return `${table.toString()}\nThe runs were at different times, so a ratio here has no interval and proves nothing; measure pairs with: bench sweep --reference ARM`;
}

function quoted(cell: SweepCell, of: Figure): number | undefined {
  return cell.voids.length > 0 || cell.interrupted ? undefined : (of(cell) ?? undefined);
}

function name({ id, arm, label }: SweepRecord): string {
  return `${label ?? arm.label} ${id.slice(0, 8)}`;
}

function mebibytes(bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : bytes / 2 ** 20;
}
