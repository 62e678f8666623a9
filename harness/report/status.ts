// STATUS.md out of all records: where things stand, one line each, newest first; no history and no narrative. Pure.
import { auditRuns } from '../parity/calibration.ts';
import { voidCode } from '../parity/void-codes.ts';
import type {
  AttributionRecord,
  CalibrationRecord,
  ParityRecord,
  SweepRecord,
} from '../record/record.ts';
import { readVerdict } from '../record/stored-bounds.ts';
import { workOf, workTitle } from './sweep-work.ts';
import { figure } from './table.ts';

export const STATUS_LIMIT_BYTES = 8 * 1024;

export interface StatusInput {
  sweeps: readonly SweepRecord[];
  comparisons: readonly ParityRecord[];
  calibrations: readonly CalibrationRecord[];
  attributions: readonly AttributionRecord[];
  /** A/A runs as the gate takes them, for the running count of false flags. */
  aaRuns: Parameters<typeof auditRuns>[0];
}

const INTRODUCTION = `# Status

Made by \`bench report\` from the records in \`records/\`; do not edit. The newest record of each kind decides a line.
`;

/** The page; lines that do not fit its budget are left out from the end of each section. */
export function statusPage(input: StatusInput): string {
  for (let most = 12; most > 0; most -= 1) {
    const text = render(input, most);
    if (Buffer.byteLength(text) <= STATUS_LIMIT_BYTES) return text;
  }
  return render(input, 0);
}

function render(input: StatusInput, most: number): string {
  const sections = [
    section('Comparisons', newest(input.comparisons, comparisonKey).map(comparisonLine), most),
    section('Sweeps', newest(input.sweeps, sweepKey).map(sweepLine), most),
    section('Noise', noiseLines(input), most),
    section('The harness itself', newest(input.calibrations, envOf).map(calibrationLine), most),
    section('Where TPOT goes', newest(input.attributions, envOf).map(attributionLine), most),
  ];
  return `${INTRODUCTION}${sections.join('')}`;
}

function section(title: string, lines: readonly string[], most: number): string {
  const shown = lines.slice(0, most);
  const left = lines.length - shown.length;
  const rest = left === 0 ? '' : `- and ${left} more: \`bench records list\`\n`;
  const body =
    lines.length === 0 ? '- not measured yet\n' : shown.map((line) => `- ${line}\n`).join('');
  return `\n## ${title}\n\n${body}${rest}`;
}

interface Dated {
  id: string;
  createdUtc: string;
}

/** The newest record of each key, newest first. */
function newest<R extends Dated>(records: readonly R[], keyOf: (record: R) => string): R[] {
  const byKey = new Map<string, R>();
  const ordered = records.toSorted((a, b) => order(b, a));
  for (const record of ordered) if (!byKey.has(keyOf(record))) byKey.set(keyOf(record), record);
  return [...byKey.values()];
}

function order(a: Dated, b: Dated): number {
  if (a.createdUtc !== b.createdUtc) return a.createdUtc < b.createdUtc ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

const envOf = ({ environment }: { environment: { envClass: string } }) => environment.envClass;
const sweepKey = (record: SweepRecord) => `${record.arm.label}/${workOf(record)}`;
const comparisonKey = ({ arms, scenario, environment, aa }: ParityRecord) =>
  JSON.stringify([arms.ours.label, arms.reference.label, scenario, environment.envClass, aa]);

function tail({ id, createdUtc }: Dated): string {
  return `(${createdUtc.slice(0, 10)}, \`${id.slice(0, 12)}\`)`;
}

function comparisonLine(record: ParityRecord): string {
  const { arms, scenario, environment, aa, binding } = record;
  const against = aa ? 'itself (A/A)' : arms.reference.label;
  const what = `${arms.ours.label} against ${against}, ${scenario} on ${environment.envClass}`;
  const verdict = readVerdict(record);
  if (verdict === undefined) return `${what}: interrupted ${tail(record)}`;
  const ratios = verdict.cells.flatMap(({ key, ratio, verdict: own }) =>
    own === 'VOID' || ratio === undefined ? [] : [{ key, estimate: ratio.estimate }],
  );
  const worst = ratios.toSorted((a, b) => a.estimate - b.estimate)[0];
  const gap =
    worst === undefined ? '' : `, lowest ratio ${worst.estimate.toFixed(3)} (${worst.key})`;
  const codes = new Set(verdict.cells.flatMap(({ voids }) => voids.map(({ code }) => code)));
  const why = codes.size === 0 ? '' : ` ${[...codes].join(', ')}`;
  return `${what}: **${verdict.verdict}**${why}${gap}${binding ? '' : ', not binding'} ${tail(record)}`;
}

function sweepLine(record: SweepRecord): string {
  const voids = new Set(record.cells.flatMap((cell) => cell.voids.map(({ code }) => code)));
  const good = record.cells.filter((cell) => cell.voids.length === 0 && !cell.interrupted);
  const state = record.interrupted
    ? 'interrupted'
    : `${good.length} of ${record.cells.length} cells hold`;
  const [first] = voids;
  const next = first === undefined ? '' : `; ${[...voids].join(', ')}: ${voidCode(first).hint}`;
  return `${record.arm.label}, ${workTitle(record)}: ${state}${next} ${tail(record)}`;
}

function noiseLines({ aaRuns }: StatusInput): string[] {
  const { cells, flaggedBelow, flaggedAbove, allowed, sound } = auditRuns(aaRuns);
  // Runs that were VOID throughout say nothing about noise.
  if (cells === 0) return [];
  const verdict = sound ? 'as the method promises' : 'MORE than the method promises';
  return [
    `${aaRuns.length} A/A runs, ${cells} cells: ${flaggedBelow} flagged below and ${flaggedAbove} above parity, at most ${allowed} allowed on each side: ${verdict}`,
  ];
}

function calibrationLine(record: CalibrationRecord): string {
  const { cells, cost } = record.calibration;
  const worst = (of: (cell: (typeof cells)[number]) => number) =>
    figure(Math.max(...cells.map(of)));
  const range = cells.map(({ concurrency }) => `c${concurrency}`).join(' ');
  return (
    `on ${envOf(record)}, ${range}: mean absolute error at most ${worst((cell) => cell.ttftMeanAbsoluteErrorMs)} ms in TTFT and ` +
    `${worst((cell) => cell.itlMeanAbsoluteErrorMs)} ms in ITL, ${figure(cost.cpuMicrosecondsPerToken)} us of CPU a token ${tail(record)}`
  );
}

function attributionLine(record: AttributionRecord): string {
  const { judgements, gates } = record.body;
  const failed = gates.filter(({ status }) => status === 'failed').length;
  const counts = new Map<string, number>();
  for (const { verdict } of judgements) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  const claims =
    [...counts].map(([verdict, count]) => `${count} ${verdict}`).join(', ') ||
    'no claim was judged';
  return `on ${envOf(record)}: ${claims}${failed === 0 ? '' : `, ${failed} gates failed`} ${tail(record)}`;
}
