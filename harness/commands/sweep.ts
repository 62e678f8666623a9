// `bench sweep`: the main job. Reads flags, runs the sweep, writes one record, prints its table.
import { takeRunLock } from '../arms/run-lock.ts';
import { EXIT } from '../errors.ts';
import { captureEnvironment } from '../record/environment.ts';
import { harnessIdentity, privateNames } from '../record/harness-identity.ts';
import type { SweepRecord } from '../record/record.ts';
import type { SweepCell } from '../record/record-parts.ts';
import { writeRecord } from '../record/store.ts';
import { requireWritable } from '../record/write-once.ts';
import { progressOn, type RunProgress } from '../report/progress.ts';
import { figure, sweepTable } from '../report/table.ts';
import { sweepNotices } from '../report/warnings.ts';
import { parseFlags } from '../scenario/flags.ts';
import { type SweepOptions, sweepOptions } from '../scenario/sweep-options.ts';
import { draftSweep } from '../sweep/draft.ts';
import { sweepProgress } from '../sweep/estimate.ts';
import { planCells, runSweep, type SweepEvents } from '../sweep/run-sweep.ts';
import type { CommandContext } from './context.ts';
import { writePages } from './generated-pages.ts';
import { parityCommand } from './parity.ts';

/** Runs the command; the exit code says whether the numbers may be used. */
export async function sweepCommand(given: unknown, context: CommandContext): Promise<number> {
  const options = parseFlags(sweepOptions, given);
  if (options.aa || options.reference !== undefined) return parityCommand(options, context);
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
    const page = writePages(options.records, options.benchmarks);
    show(record as SweepRecord, options);
    progress.line(`record ${record.id.slice(0, 12)} in ${path}; page ${page}`);
    return exitCode(record as SweepRecord);
  } finally {
    progress.end();
    await lock.release();
  }
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
