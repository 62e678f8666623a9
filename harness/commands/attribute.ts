// `bench attribute`: says where TPOT goes, by thread, function and step, and judges claims about it. Reads flags, runs one
// attribution, prints its summary or its record; the evidence stays in a folder of its own.
import { join } from 'node:path';
import Table from 'cli-table3';
import { takeRunLock } from '../arms/run-lock.ts';
import { attributeOptions } from '../attribution/attribute-options.ts';
import type { AttributionBody } from '../attribution/attribution-record.ts';
import { attribute } from '../attribution/run.ts';
import { summarise } from '../attribution/summary.ts';
import { EXIT } from '../errors.ts';
import { captureEnvironment } from '../record/environment.ts';
import { harnessIdentity, privateNames } from '../record/harness-identity.ts';
import {
  ATTRIBUTION_METHODOLOGY,
  type AttributionRecord,
  type Draft,
  RECORD_SCHEMA,
} from '../record/record.ts';
import { redact } from '../record/redaction.ts';
import { writeRecord } from '../record/store.ts';
import { requireWritable } from '../record/write-once.ts';
import { progressOn } from '../report/progress.ts';
import { parseFlags } from '../scenario/flags.ts';
import type { CommandContext } from './context.ts';
import { writePages } from './generated-pages.ts';

/** Runs the command; the exit code says whether the verdicts hold. */
export async function attributeCommand(given: unknown, context: CommandContext): Promise<number> {
  const options = parseFlags(attributeOptions, given);
  requireWritable(options.records);
  const lock = await takeRunLock(context.lockScope, 'attribute');
  const progress = progressOn(process.stderr);
  const stamp = context.now().toISOString().replaceAll(/[:.]/g, '-');
  try {
    const { body, folder } = await attribute(
      options,
      join(options.evidence, `attribution-${stamp}`),
      {
        onStage: (what) => progress.stage(what),
        onPhase: (name, seconds) => progress.stage(`phase "${name}", ${seconds} s`),
      },
      context.signal,
    );
    progress.end();
    const { value, removed } = redact(body, privateNames());
    const draft: Draft<AttributionRecord> = {
      schema: RECORD_SCHEMA,
      kind: 'attribution',
      methodology: ATTRIBUTION_METHODOLOGY,
      createdUtc: context.now().toISOString(),
      complete: true,
      interrupted: false,
      harness: harnessIdentity(),
      environment: captureEnvironment(),
      redaction: removed,
      body: value,
    };
    const { record, path } = writeRecord(options.records, draft);
    writePages(options.records, undefined);
    if (options.json) console.log(JSON.stringify(record));
    else print(body);
    progress.line(`record ${record.id.slice(0, 12)} in ${path}; evidence in ${folder}`);
    return exitCode(body);
  } finally {
    progress.end();
    await lock.release();
  }
}

function print(body: AttributionBody): void {
  const { tables, lines } = summarise(body);
  for (const { title, head, rows } of tables) {
    const table = new Table({ head, style: { head: [], border: [] } });
    table.push(...rows);
    console.log(`\n${title}\n${table.toString()}`);
  }
  console.log('');
  for (const line of lines) console.log(line);
}

/** VOID when a gate failed, pending when a claim could not be settled. */
function exitCode({ gates, judgements }: AttributionBody): number {
  if (gates.some((gate) => gate.status === 'failed')) return EXIT.void;
  return judgements.some((one) => one.verdict === 'INCONCLUSIVE') ? EXIT.pending : EXIT.ok;
}
