// The comparisons of BENCHMARKS.md: the newest one of each pair of arms on each load and machine class, one row a cell.
import type { ParityRecord } from '../record/record.ts';
import { readVerdict } from '../record/stored-bounds.ts';

const HEAD = [
  '| cell | ratio | interval | bound | pairs | verdict |',
  '|:--|--:|:--|--:|--:|:--|',
].join('\n');

const INTRODUCTION = `
## Comparisons

Mirrored pairs in one session; a ratio of 1 and above means that the first arm is as good or better, whatever the axis. PASS: not
worse than the bound for certain. Intervals are exact and hold for the look at which the comparison ended.
`;

/** The section, or nothing when there is no comparison. */
export function comparisonsSection(records: readonly ParityRecord[]): string {
  const newest = new Map<string, ParityRecord>();
  for (const record of records) {
    if (record.verdict === null) continue;
    const key = titleOf(record);
    const seen = newest.get(key);
    if (seen === undefined || isNewer(record, seen)) newest.set(key, record);
  }
  if (newest.size === 0) return '';
  const tables = [...newest]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([title, record]) => table(title, record));
  return `${INTRODUCTION}${tables.join('')}`;
}

function isNewer(a: ParityRecord, b: ParityRecord): boolean {
  return a.createdUtc === b.createdUtc ? a.id > b.id : a.createdUtc > b.createdUtc;
}

function titleOf({ arms, scenario, environment, aa }: ParityRecord): string {
  const against = aa ? 'itself (noise)' : arms.reference.label;
  return `${arms.ours.label} against ${against}: ${scenario}, on ${environment.envClass}`;
}

function table(title: string, record: ParityRecord): string {
  const { verdict, cells } = readVerdict(record) ?? { verdict: 'interrupted', cells: [] };
  const { compared, equal } = record.answers;
  const rows = cells.map(({ key, bound, measured, voided, voids, ratio, verdict: own }) => {
    const quoted = own !== 'VOID' && ratio !== undefined;
    const interval = quoted ? `${bounded(ratio.lower)} to ${bounded(ratio.upper)}` : '';
    const codes = [...new Set(voids.map(({ code }) => code))].join(' ');
    const pairs = voided === 0 ? String(measured) : `${measured} (${voided} void)`;
    const figures = [quoted ? ratio.estimate.toFixed(3) : '', interval, bound.toFixed(3), pairs];
    return `| ${[key, ...figures, `${own} ${codes}`.trim()].join(' | ')} |`;
  });
  const answers = compared === 0 ? '' : ` ${equal} of ${compared} greedy answers are equal.`;
  const binding = record.binding ? '' : ` Not binding: ${record.nonBindingReasons.join(', ')}.`;
  const facts = `${verdict}, ${record.createdUtc.slice(0, 10)}, record \`${record.id.slice(0, 12)}\`.${answers}${binding}`;
  return `\n### ${title.replaceAll('|', '/')}\n\n${facts}\n\n${HEAD}\n${rows.join('\n')}\n`;
}

function bounded(value: number | null): string {
  return value === null || value === 0 ? 'none' : value.toFixed(3);
}
