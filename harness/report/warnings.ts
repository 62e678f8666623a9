// Reasons to distrust a run, each with the next thing to do. The texts of void codes come from the one table of them.
import { voidCode } from '../parity/void-codes.ts';
import type { SweepRecord } from '../record/record.ts';

const ADVICE: Readonly<Record<string, string>> = {
  not_quiet: 'Stop what else runs, or compare only runs that are measured side by side.',
  client_late:
    'ITL and the largest TTFT carry it; medians of TTFT and TPOT move by less than a tenth.',
  few_requests: 'Ask for more with --requests.',
  burst_delivery:
    'Look for buffering between the server and here; TTFT and ITL are those of the bursts.',
  several_tokens_an_event: 'Compare TPOT, not ITL.',
};

/** Lines to print under a table: void cells first, then warnings; equal ones are told once. */
export function sweepNotices(record: SweepRecord): string[] {
  const lines: string[] = [];
  const seen = new Map<string, string[]>();
  const note = (text: string, concurrency: number) => {
    const places = seen.get(text);
    if (places === undefined) seen.set(text, [`c${concurrency}`]);
    else places.push(`c${concurrency}`);
  };
  for (const { concurrency, voids } of record.cells) {
    for (const { code, message } of voids) {
      lines.push(`VOID c${concurrency} ${code}: ${message} ${voidCode(code).hint}`);
    }
  }
  for (const { concurrency, warnings, memory, memoryAbsent } of record.cells) {
    for (const { code, message } of warnings) {
      note(
        `${code}: ${message}${ADVICE[code] === undefined ? '' : ` ${ADVICE[code]}`}`,
        concurrency,
      );
    }
    if (memory === null && memoryAbsent !== undefined) note(`memory: ${memoryAbsent}`, concurrency);
  }
  for (const [text, places] of seen) lines.push(`warning ${places.join(', ')} ${text}`);
  if (record.interrupted)
    lines.push('warning interrupted: the cells that are missing were not measured.');
  return lines;
}
