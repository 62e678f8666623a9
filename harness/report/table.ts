// Tables for a terminal. It only formats what a record holds.
import Table from 'cli-table3';
import type { SweepCell, SweepRecord } from '../record/record.ts';

/** A figure with three significant digits or so, as people compare them. */
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  const size = Math.abs(value);
  if (size >= 100) return value.toFixed(0);
  return value.toFixed(size >= 10 ? 1 : size >= 0.1 ? 2 : 3);
}

/** Bytes in MiB or GiB. */
export function bytesFigure(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return '–';
  return bytes >= 2 ** 30 ? `${figure(bytes / 2 ** 30)} GiB` : `${figure(bytes / 2 ** 20)} MiB`;
}

export const SWEEP_HEAD = [
  'c',
  'TTFT p50 ms',
  'TPOT mean ms',
  'ITL p50 ms',
  'output tok/s',
  'peak PSS',
  'n',
  'failed',
];

/** One row of a cell. A void or interrupted cell quotes no number. */
export function sweepRow(cell: SweepCell): string[] {
  const { metrics, concurrency } = cell;
  const counts = [String(metrics?.succeeded ?? 0), String(metrics?.failed ?? 0)];
  const quoted = cell.voids.length === 0 && metrics !== null && metrics.succeeded > 0;
  if (!quoted || cell.interrupted) {
    const why = cell.voids.length > 0 ? 'VOID' : 'interrupted';
    return [String(concurrency), why, '–', '–', '–', '–', ...counts];
  }
  return [
    String(concurrency),
    figure(metrics.ttftMs?.p50),
    figure(metrics.tpotMs?.mean),
    figure(metrics.itlMs?.p50),
    figure(metrics.outputTokensPerSecond),
    bytesFigure(cell.memory?.peakPssBytes),
    ...counts,
  ];
}

/** The table of a sweep with the lines that belong under it. */
export function sweepTable(record: SweepRecord): string {
  const table = new Table({
    head: SWEEP_HEAD,
    colAligns: SWEEP_HEAD.map(() => 'right' as const),
    style: { head: [], border: [] },
  });
  for (const cell of record.cells) table.push(sweepRow(cell));
  const { arm, workload, environment } = record;
  const title = [
    `${arm.label}: ${arm.model.id}${arm.model.synthetic === true ? ' (synthetic weights)' : ''}`,
    [arm.isa, arm.activations, arm.threads === null ? undefined : `${arm.threads} threads`]
      .filter(Boolean)
      .join(', '),
    `${workload.inputTokens} tokens in, ${workload.outputTokens} out, greedy, on ${environment.envClass}`,
  ];
  return `${title.filter((line) => line !== '').join('\n')}\n${table.toString()}`;
}
