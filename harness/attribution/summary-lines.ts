// The sentences under the tables of an attribution: pace of the streams, steps, loop membership, slope, gap, notes, gates
// and verdicts. It formats and decides nothing.
import type { AttributionBody } from './attribution-record.ts';

/** Milliseconds with three digits; '-' where there is none. */
export const ms = (value: number | null | undefined) =>
  value === null || value === undefined || !Number.isFinite(value) ? '-' : value.toFixed(3);
export const us = (value: number) => (Number.isFinite(value) ? value.toFixed(1) : '-');
export const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

function verdictLines(body: AttributionBody): string[] {
  return body.judgements.map(
    ({ premise, verdict, reason, wouldChange }) =>
      `${verdict}: "${premise.statement}" (${reason}${verdict === 'INCONCLUSIVE' || verdict === 'VOID' ? `; what would change it: ${wouldChange}` : ''})`,
  );
}

function gateLines(body: AttributionBody): string[] {
  const failed = body.gates.filter((gate) => gate.status === 'failed');
  if (failed.length > 0) return failed.map((gate) => `gate failed: ${gate.name}: ${gate.detail}`);
  const passed = body.gates.filter((gate) => gate.status === 'passed').length;
  return [`${passed} gates passed, ${body.gates.length - passed} not recorded`];
}

function streamLine({ streams }: AttributionBody): string {
  return `streams: median ITL ${ms(streams.medianItlMs)} ms, mean ITL ${ms(streams.meanItlMs)} ms, ${percent(streams.stallShare)} of the time in stalls of more than twice the median`;
}

function injectionLine({ injection }: AttributionBody): string[] {
  if (!injection) return [];
  const { seam, delayUs, slope, interval, verdict, runs } = injection;
  return [
    `injected ${delayUs} us a step at the ${seam}: TPOT moves ${slope.toFixed(3)} ms per ms [${interval.low.toFixed(3)}, ${interval.high.toFixed(3)}] over ${runs.length} runs, so it is ${verdict}`,
  ];
}

function gapLine({ gap }: AttributionBody): string[] {
  if (!gap) return [];
  const part = (
    name: string,
    { ms: value, interval }: NonNullable<AttributionBody['gap']>['total'],
  ) => `${name} ${ms(value)} [${ms(interval.low)}, ${ms(interval.high)}]`;
  const parts = [
    part('whole', gap.total),
    part('engine span', gap.span),
    part('residual', gap.residual),
  ];
  return [
    `gap to ${gap.reference}, ms per decode step over ${gap.runs[0]} and ${gap.runs[1]} runs: ${parts.join(', ')}`,
  ];
}

function hardwareLine({ hardware }: AttributionBody): string[] {
  return (hardware ?? [])
    .filter((one) => one.instructionsPerCycle !== null)
    .map(
      (one) =>
        `${one.role}: ${one.instructionsPerCycle?.toFixed(2)} instructions a cycle, ${one.cacheMissShare === null ? '-' : percent(one.cacheMissShare)} of cache references miss`,
    );
}

function stepsLine({ waterfall }: AttributionBody): string[] {
  if (!waterfall) return [];
  const { decodeOnly, withPrefill, missing } = waterfall;
  return [
    `steps: ${decodeOnly.steps} of decode only at ${ms(decodeOnly.periodMs)} ms, ${withPrefill.steps} with prefill at ${ms(withPrefill.periodMs)} ms, ${missing} missing`,
  ];
}

/** GC is a mechanism, not a thread: it is summed over all roles. */
function gcLine({ profile }: AttributionBody): string[] {
  const gc = profile
    .flatMap((one) => one.classes)
    .filter((one) => one.class === 'gc')
    .reduce((sum, one) => sum + one.msPerStep, 0);
  return gc > 0 ? [`garbage collection over all threads: ${ms(gc)} ms/step`] : [];
}

function loopLine({ waiting }: AttributionBody): string[] {
  if (!waiting) return [];
  if (waiting.engineSleep.length === 0) return ['the engine never slept while it was traced'];
  const parts = waiting.engineSleep.map(
    (one) => `${one.waker} ${one.count} times (${(one.sleptNs / 1e6).toFixed(1)} ms)`,
  );
  return [`the engine's sleep was ended by: ${parts.join(', ')}`];
}

/** All sentences of a record, the verdicts last. */
export function summaryLines(body: AttributionBody): string[] {
  return [
    streamLine(body),
    ...stepsLine(body),
    ...loopLine(body),
    ...gcLine(body),
    ...injectionLine(body),
    ...gapLine(body),
    ...hardwareLine(body),
    ...body.notes,
    ...gateLines(body),
    ...verdictLines(body),
  ];
}
