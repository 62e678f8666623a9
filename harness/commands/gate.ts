// `bench gate`: holds stored comparisons against floors; the exit code is the answer. It measures nothing itself.
import { HarnessError } from '../errors.ts';
import { effectiveFloors, type FloorsFile } from '../parity/floors.ts';
import { type GateResult, runGate } from '../parity/gate.ts';
import { lintGate } from '../parity/lint.ts';
import { floorsAtBase, floorsHere } from '../record/floors-file.ts';
import { writePage } from '../record/pages.ts';
import type { ParityRecord } from '../record/record.ts';
import { findRecord, readAll } from '../record/store.ts';
import { gateAnnotations, gateJunit, gateLines } from '../report/gate-text.ts';
import { parseFlags } from '../scenario/flags.ts';
import { type GateOptions, gateOptions } from '../scenario/gate-options.ts';
import { aaRunFor, gateRecord, historyOf } from '../sweep/gate-input.ts';
import type { CommandContext } from './context.ts';

/** Judges; the exit code is that of DESIGN section 3. */
export async function gateCommand(given: unknown, context: CommandContext): Promise<number> {
  const options = parseFlags(gateOptions, given);
  const nowMs = context.now().getTime();
  if (options.lint) return lint(options, floorsHere(options.floors), nowMs);
  const comparisons = comparisonsOf(options.records);
  const records = chosen(options, comparisons).map(gateRecord);
  const { floors, commit } = floorsAtBase(options.floors, options.base);
  const [first] = records;
  const result = runGate({
    records,
    floors,
    aa: first === undefined ? undefined : aaRunFor(first, comparisons, options.ephemeral),
    history: first === undefined ? () => [] : historyOf(first, comparisons),
    nowMs,
    strict: options.strict,
  });
  const from = commit === undefined ? 'the working tree' : commit.slice(0, 12);
  show(result, options, `floors from ${from}`, context.onGitHub);
  return result.exitCode;
}

function comparisonsOf(folder: string): ParityRecord[] {
  const found: ParityRecord[] = [];
  for (const item of readAll(folder)) {
    // A record that cannot be read might be the one that turns the gate red.
    if ('problem' in item) throw new HarnessError('INVALID_FILE', item.problem);
    if (item.record.kind === 'parity') found.push(item.record);
  }
  return found;
}

function chosen(
  { record, records }: GateOptions,
  comparisons: readonly ParityRecord[],
): ParityRecord[] {
  if (record === undefined) {
    const real = comparisons.filter(({ aa }) => !aa);
    return real.toSorted((a, b) => (a.createdUtc < b.createdUtc ? 1 : -1)).slice(0, 1);
  }
  return record.split(',').map((id) => {
    const { record: found } = findRecord(records, id);
    if (found.kind === 'parity') return found;
    throw new HarnessError('USAGE', `Record ${id} is a ${found.kind}, not a comparison.`, {
      hint: 'Make one with: bench sweep --reference ARM',
    });
  });
}

function lint(options: GateOptions, floors: FloorsFile, nowMs: number): number {
  const comparisons = comparisonsOf(options.records);
  const like = comparisons.find(
    ({ scenario, environment }) =>
      scenario === floors.scenario && environment.envClass === floors.env,
  );
  const wanted = like === undefined ? undefined : gateRecord(like);
  const aa = wanted === undefined ? undefined : aaRunFor(wanted, comparisons, options.ephemeral);
  const problems = lintGate({
    floors,
    effective: effectiveFloors(floors, nowMs),
    aa,
    calibration: aa === undefined ? 'missing' : null,
    requestsPerPair: (concurrency) => wanted?.requestsPerPair[concurrency] ?? 0,
    judging: [],
  });
  for (const { code, cell, message } of problems)
    console.log(`${code}${cell === undefined ? '' : ` ${cell}`}: ${message}`);
  if (problems.length === 0) console.log(`${options.floors}: this gate can fail, and need not.`);
  return problems.length === 0 ? 0 : 2;
}

function show(result: GateResult, options: GateOptions, source: string, onGitHub: boolean): void {
  if (options.junit !== undefined) writePage(options.junit, gateJunit(result));
  if (options.json) {
    console.log(JSON.stringify({ exitCode: result.exitCode, reasons: result.reasons }));
    return;
  }
  for (const line of gateLines(result)) console.log(line);
  console.log(source);
  if (onGitHub) for (const line of gateAnnotations(result)) console.log(line);
}
