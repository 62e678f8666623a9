// The verdicts of a comparison for people: one row a cell, with interval, bound and what it means. A void cell quotes no number.
import Table from 'cli-table3';
import type { CampaignCell, CampaignVerdict } from '../parity/family.ts';
import { voidCode } from '../parity/void-codes.ts';

/** What is printed of a comparison. */
export interface Comparison {
  ours: string;
  reference: string;
  aa: boolean;
  answers: { compared: number; equal: number };
  verdict: CampaignVerdict;
}

/** The table and the lines under it. Ratios of 1 and above mean that ours is as good or better. */
export function comparisonTable({ ours, reference, aa, answers, verdict }: Comparison): string {
  const head = ['cell', 'ratio', 'interval', 'bound', 'pairs', 'sees a loss of', 'verdict'];
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const cell of verdict.cells) table.push(row(cell));
  const lines = [
    `${ours} against ${reference}${aa ? ' (the same server: this is the noise)' : ''}; ratios of 1 and above: ours is as good or better.`,
    table.toString(),
    `${verdict.verdict}: of ${verdict.cells.length} cells ${counts(verdict)}.`,
  ];
  if (answers.compared > 0) {
    lines.push(`${answers.equal} of ${answers.compared} greedy answers are equal in both arms.`);
  }
  const seen = new Set<string>();
  for (const { code, arm, detail } of [
    ...verdict.voids,
    ...verdict.cells.flatMap(({ voids }) => voids),
  ]) {
    const text = `VOID ${code}${arm === undefined ? '' : ` (${arm})`}: ${detail ?? voidCode(code).sentence} ${voidCode(code).hint}`;
    if (!seen.has(text)) lines.push(text);
    seen.add(text);
  }
  return lines.join('\n');
}

function row(cell: CampaignCell): string[] {
  const { key, ratio, verdict, pending, bound } = cell;
  const state = pending === undefined ? verdict : `${verdict} ${pending}`;
  const pairs =
    cell.voided === 0 ? String(cell.measured) : `${cell.measured} (${cell.voided} void)`;
  if (ratio === undefined || verdict === 'VOID')
    return [key, '–', '–', bound.toFixed(3), pairs, '–', state];
  const interval = `${bounded(ratio.lower)} – ${bounded(ratio.upper)}`;
  return [key, ratio.estimate.toFixed(3), interval, bound.toFixed(3), pairs, visible(cell), state];
}

function bounded(value: number): string {
  return Number.isFinite(value) && value > 0 ? value.toFixed(3) : 'none';
}

function visible({ statistics }: CampaignCell): string {
  const loss = statistics?.detectableLoss;
  return loss === undefined || loss === null ? '–' : `${(100 * loss).toFixed(1)} %`;
}

function counts({ cells }: CampaignVerdict): string {
  const found = new Map<string, number>();
  for (const { verdict } of cells) found.set(verdict, (found.get(verdict) ?? 0) + 1);
  return [...found].map(([verdict, count]) => `${count} ${verdict}`).join(', ');
}
