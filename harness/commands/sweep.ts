// `bench sweep`: the main job. Reads flags, runs the sweep, writes one record, prints its table.
import { dirname, join, resolve } from 'node:path';
import { takeRunLock } from '../arms/run-lock.ts';
import { EXIT, HarnessError } from '../errors.ts';
import { captureEnvironment } from '../record/environment.ts';
import { harnessIdentity, privateNames } from '../record/harness-identity.ts';
import { writePage } from '../record/pages.ts';
import type { SweepCell, SweepRecord } from '../record/record.ts';
import { readAll, writeRecord } from '../record/store.ts';
import { requireWritable } from '../record/write-once.ts';
import { benchmarksPage } from '../report/markdown.ts';
import { progressOn, type RunProgress } from '../report/progress.ts';
import { figure, sweepTable } from '../report/table.ts';
import { sweepNotices } from '../report/warnings.ts';
import { parseFlags } from '../scenario/flags.ts';
import { type SweepOptions, sweepOptions } from '../scenario/sweep-options.ts';
import { draftSweep } from '../sweep/draft.ts';
import { sweepProgress } from '../sweep/estimate.ts';
import { planCells, runSweep, type SweepEvents } from '../sweep/run-sweep.ts';
import type { CommandContext } from './context.ts';

/** Runs the command; the exit code says whether the numbers may be used. */
export async function sweepCommand(given: unknown, context: CommandContext): Promise<number> {
  const options = parseFlags(sweepOptions, given);
  requireWritable(options.records);
  const lock = await takeRunLock(context.lockScope, 'sweep');
  const progress = progressOn(process.stderr);
  try {
    const outcome = await runSweep(options, eventsFor(options, progress), context);
    const draft = draftSweep(options, outcome, {
      createdUtc: context.now().toISOString(),
      environment: captureEnvironment(),
      harness: harnessIdentity(),
      secrets: privateNames(),
    });
    const { record, path } = writeRecord(options.records, draft, outcome.rows);
    progress.end();
    const page = writeBenchmarks(options.records, options.benchmarks);
    show(record as SweepRecord, options);
    progress.line(`record ${record.id.slice(0, 12)} in ${path}; page ${page}`);
    return exitCode(record as SweepRecord);
  } finally {
    progress.end();
    await lock.release();
  }
}

/** Makes the page from every record of the folder, and returns where it is. */
export function writeBenchmarks(records: string, benchmarks: string | undefined): string {
  const path = benchmarksPath(records, benchmarks);
  writePage(path, benchmarksPage(sweepsOf(records)).text);
  return path;
}

/** All readable sweeps of the folder, without their per-request data. */
export function sweepsOf(records: string): SweepRecord[] {
  const sweeps: SweepRecord[] = [];
  for (const found of readAll(records)) {
    if ('problem' in found) throw new HarnessError('INVALID_FILE', found.problem);
    const { record } = found;
    if (record.kind === 'sweep') sweeps.push({ ...record, raw: { kind: 'inline', requests: [] } });
  }
  return sweeps;
}

/** BENCHMARKS.md lies beside the records folder unless a file is named. */
export function benchmarksPath(records: string, benchmarks: string | undefined): string {
  return benchmarks ?? join(dirname(resolve(records)), 'BENCHMARKS.md');
}

function eventsFor(options: SweepOptions, progress: RunProgress): SweepEvents {
  const plans = planCells(options);
  return {
    onStage: (what) => progress.stage(what),
    onCellProgress(plan, cellProgress) {
      const current = plans.find(({ concurrency }) => concurrency === plan.concurrency) ?? plan;
      const { done, total, remainingSeconds } = sweepProgress(plans, current, cellProgress);
      progress.advance(done, total, remainingSeconds);
    },
    onCell: (cell) => progress.line(cellLine(cell)),
  };
}

function cellLine({ concurrency, metrics, voids, interrupted }: SweepCell): string {
  if (interrupted) return `c${concurrency}: interrupted`;
  if (voids.length > 0) return `c${concurrency}: VOID ${voids.map(({ code }) => code).join(', ')}`;
  const ttft = figure(metrics?.ttftMs?.p50);
  const tpot = figure(metrics?.tpotMs?.mean);
  return `c${concurrency}: TTFT ${ttft} ms, TPOT ${tpot} ms, ${figure(metrics?.outputTokensPerSecond)} output tokens/s`;
}

function show(record: SweepRecord, options: SweepOptions): void {
  if (options.json) {
    console.log(JSON.stringify(record));
    return;
  }
  console.log(sweepTable(record));
  for (const line of sweepNotices(record)) console.log(line);
}

function exitCode(record: SweepRecord): number {
  if (record.interrupted) return EXIT.interrupted;
  const whole = record.cells.length === record.workload.concurrencies.length;
  return whole && record.cells.every(({ voids }) => voids.length === 0) ? EXIT.ok : EXIT.void;
}
