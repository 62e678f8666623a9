// Tables for a terminal. It only formats what a record holds.
import Table from 'cli-table3';
import type { Check } from '../doctor/checks.ts';
import type { CalibrationRecord, RunRecord, SweepRecord } from '../record/record.ts';
import type { SweepCell } from '../record/record-parts.ts';

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

/** One line a record, in the order given. */
export function recordList(records: readonly RunRecord[]): string {
  const head = ['id', 'date (UTC)', 'kind', 'what', 'cells', 'state'];
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const record of records) table.push(recordRow(record));
  return table.toString();
}

function recordRow(record: RunRecord): string[] {
  const start = [
    record.id.slice(0, 12),
    record.createdUtc.slice(0, 16).replace('T', ' '),
    record.kind,
  ];
  if (record.kind === 'calibration') {
    return [...start, 'this harness', String(record.calibration.cells.length), 'complete'];
  }
  if (record.kind === 'parity') {
    const what = `${record.arms.ours.label} / ${record.arms.reference.label}`;
    return [...start, what, `${record.pairs.length} pairs`, record.end];
  }
  if (record.kind === 'attribution') {
    const { judgements, gates } = record.body;
    const failed = gates.filter(({ status }) => status === 'failed').length;
    const state = failed > 0 ? `${failed} gates failed` : 'complete';
    return [...start, 'where TPOT goes', `${judgements.length} claims`, state];
  }
  const { arm, cells, interrupted } = record;
  const voids = cells.filter((cell) => cell.voids.length > 0).length;
  const state = interrupted ? 'interrupted' : voids > 0 ? `${voids} VOID` : 'complete';
  const list = cells.map(({ concurrency }) => `c${concurrency}`).join(' ');
  return [...start, `${arm.label}: ${arm.model.id}`, list, state];
}

/** The harness's own errors, as a table with what it can take under it. */
export function calibrationTable({ calibration }: CalibrationRecord): string {
  const head = [
    'c',
    'n',
    'TTFT error',
    'ITL error',
    'TPOT error',
    'E2EL error',
    'stamp lag p50',
    'emitter late p99',
  ];
  const table = new Table({
    head,
    colAligns: head.map(() => 'right' as const),
    style: { head: [], border: [] },
  });
  for (const cell of calibration.cells) {
    table.push([
      String(cell.concurrency),
      String(cell.requests - cell.failed),
      figure(cell.ttftMeanAbsoluteErrorMs),
      figure(cell.itlMeanAbsoluteErrorMs),
      figure(cell.tpotMeanAbsoluteErrorMs),
      figure(cell.e2elMeanAbsoluteErrorMs),
      figure(cell.stampLagMs?.p50),
      figure(cell.emitterLatenessMs.p99),
    ]);
  }
  const { schedule, cost, capacity } = calibration;
  return [
    `Mean absolute errors in ms against a server of known schedule: TTFT ${schedule.ttftMs} ms, ITL ${schedule.itlMs} ms.`,
    table.toString(),
    `Client CPU ${figure(cost.cpuMicrosecondsPerToken)} us a token at c${cost.concurrency}; it takes ` +
      `${figure(capacity.tokensPerSecond)} tokens/s with ${figure(100 * capacity.clientCpuShareOfCore)} % of a core.`,
  ].join('\n');
}

/** One line a check, with what to do under those that need it. */
export function checkList(checks: readonly Check[]): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.flatMap(({ name, state, found, advice }) => {
    const line = `${state.padEnd(7)}  ${name.padEnd(width)}  ${found}`;
    return advice === undefined ? [line] : [line, `${' '.repeat(11 + width)}-> ${advice}`];
  });
  return lines.join('\n');
}
