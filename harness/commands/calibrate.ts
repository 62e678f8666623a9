// `bench calibrate`: how wrong this harness is on this machine, now, against a server that says when each token left.

import { takeRunLock } from '../arms/run-lock.ts';
import { watchServer } from '../arms/server-watch.ts';
import { calibrate } from '../emitter/calibrate.ts';
import { EXIT, HarnessError } from '../errors.ts';
import { captureEnvironment } from '../record/environment.ts';
import { harnessIdentity } from '../record/harness-identity.ts';
import {
  CALIBRATION_METHODOLOGY,
  type CalibrationRecord,
  type Draft,
  RECORD_SCHEMA,
} from '../record/record.ts';
import { writeRecord } from '../record/store.ts';
import { requireWritable } from '../record/write-once.ts';
import { progressOn } from '../report/progress.ts';
import { calibrationTable, figure } from '../report/table.ts';
import { calibrateOptions } from '../scenario/calibrate-options.ts';
import { parseFlags } from '../scenario/flags.ts';
import type { CommandContext } from './context.ts';
import { writePages } from './generated-pages.ts';

/** Calibrates, writes a record, prints its table. */
export async function calibrateCommand(given: unknown, context: CommandContext): Promise<number> {
  const options = parseFlags(calibrateOptions, given);
  requireWritable(options.records);
  const lock = await takeRunLock(context.lockScope, 'calibrate');
  const progress = progressOn(process.stderr);
  const watch = watchServer(process.pid);
  try {
    const calibration = await calibrate({
      concurrencies: options.concurrency,
      outputTokens: options.outputTokens,
      requestsPerSlot: options.requestsPerSlot,
      signal: context.signal,
      onProgress: ({ what }) => progress.stage(what),
    });
    const { cpu } = await watch.stop();
    const draft: Draft<CalibrationRecord> = {
      schema: RECORD_SCHEMA,
      kind: 'calibration',
      methodology: CALIBRATION_METHODOLOGY,
      createdUtc: context.now().toISOString(),
      complete: true,
      interrupted: false,
      harness: harnessIdentity(),
      environment: captureEnvironment(),
      redaction: [],
      calibration,
      foreignCpuShare: null,
    };
    const { record, path } = writeRecord(options.records, draft);
    writePages(options.records, undefined);
    if (options.json) console.log(JSON.stringify(record));
    else console.log(calibrationTable(record as CalibrationRecord));
    progress.line(
      `the machine was ${figure((100 * cpu.machineBusyCpuSeconds) / (cpu.seconds * cpu.cores))} % busy; ` +
        `record ${record.id.slice(0, 12)} in ${path}`,
    );
    return EXIT.ok;
  } catch (error) {
    if (context.signal.aborted) {
      throw new HarnessError('INTERRUPTED', 'The calibration was interrupted.', {
        hint: 'Nothing was written: half a calibration proves nothing.',
        cause: error,
      });
    }
    throw error;
  } finally {
    progress.end();
    await lock.release();
  }
}
