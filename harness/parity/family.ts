// All cells of a campaign at once: which losses are proven when every cell could have shown one by chance (statistics
// section 2.7), and the verdict of the campaign. A campaign passes only when every gated cell does.
import { holm } from '../stats/holm.ts';
import { type MaxTCell, maxT } from '../stats/max-t.ts';
import { signedRankTest } from '../stats/signed-rank.ts';
import { campaignVoids, type MeasuredPair, type VoidMark } from './pairs.ts';
import { type CellQuestion, type CellVerdict, judgeCell, type Verdict } from './verdict.ts';

export interface Family {
  /** Chance of any false red in the whole campaign, such as 0.01. */
  alpha: number;
  method: 'maxT' | 'holm';
  /** Seed of the sign flips, stored in the record. */
  seed: number;
  /** Default 9,999. */
  draws?: number;
}

export interface CampaignQuestion extends CellQuestion {
  /** An informational cell is judged and shown, and decides nothing. */
  gated: boolean;
}

export interface CampaignCell extends CellVerdict {
  gated: boolean;
  /** One-sided p value that the cell lies at its bound or above, adjusted for the family; absent when not tested. */
  adjustedP?: number;
}

export interface CampaignVerdict {
  verdict: Verdict;
  cells: CampaignCell[];
  /** Chance of any false red that the family was held to. */
  familyAlpha: number;
  /** Codes that void everything, such as a change of boot. */
  voids: readonly VoidMark[];
  /** One-sided flags that point below and above parity, for the audit of an A/A campaign. */
  flaggedBelow: number;
  flaggedAbove: number;
}

/** Judges every cell, then the family. RangeError when no cell is gated or a cell is asked for twice. */
export function judgeCampaign(
  questions: readonly CampaignQuestion[],
  pairs: readonly MeasuredPair[],
  family: Family,
): CampaignVerdict {
  if (!questions.some(({ gated }) => gated)) {
    throw new RangeError('No cell is gated; a campaign that cannot fail is not judged.');
  }
  const voids = campaignVoids(pairs);
  const judged = questions.map((question): CampaignCell => {
    const cell = judgeCell(question, pairs);
    if (voids.length === 0) return { ...cell, gated: question.gated };
    return { ...withoutNumbers(cell), voids, gated: question.gated };
  });
  if (new Set(judged.map(({ key }) => key)).size !== judged.length) {
    throw new RangeError('A cell is asked for twice; each axis and concurrency counts once.');
  }
  const last = new Map(questions.map(({ look }, index) => [judged[index]?.key, look.last]));
  const adjusted = adjustedPValues(judged, family);
  const cells = judged.map((cell) =>
    withFamily(cell, adjusted.get(cell.key), family.alpha, last.get(cell.key) === true),
  );
  const shown = cells.filter(({ ratio }) => ratio !== undefined);
  return {
    verdict: combine(cells, voids),
    cells,
    familyAlpha: family.alpha,
    voids,
    flaggedBelow: shown.filter(({ position }) => position === 'below').length,
    flaggedAbove: shown.filter(({ position }) => position === 'above').length,
  };
}

function withoutNumbers(cell: CellVerdict): CellVerdict {
  const { key, axis, concurrency, floor, margin, bound, alpha, measured, voided, voids } = cell;
  const kept = { key, axis, concurrency, floor, margin, bound, alpha, measured, voided, voids };
  return { ...kept, verdict: 'VOID' };
}

/** Adjusted p values of the gated cells that a test of noise can judge; a two-mode cell enters once a mode. */
function adjustedPValues(cells: readonly CampaignCell[], family: Family): Map<string, number> {
  const entries = cells.flatMap((cell) =>
    cell.gated ? testable(cell).map((tested) => ({ cell: cell.key, tested })) : [],
  );
  const result = new Map<string, number>();
  if (entries.length === 0) return result;
  const tested = entries.map((entry) => entry.tested);
  const p = family.method === 'maxT' ? maxTOf(tested, family) : holmOf(tested);
  for (const { cell, tested: entry } of entries) {
    const own = p.get(entry.key) ?? 1;
    result.set(cell, Math.min(own, result.get(cell) ?? 1));
  }
  return result;
}

function maxTOf(cells: readonly MaxTCell[], { seed, draws }: Family): Map<string, number> {
  return maxT(cells, draws === undefined ? { seed } : { seed, draws });
}

function holmOf(cells: readonly MaxTCell[]): Map<string, number> {
  const p = cells.map(({ values }) => signedRankTest(values.map(({ d }) => d)).pLess);
  const adjusted = holm(p);
  return new Map(cells.map(({ key }, index) => [key, adjusted[index] ?? 1]));
}

function testable(cell: CampaignCell): MaxTCell[] {
  const { statistics, modes } = cell;
  if (statistics === undefined || !['pairs', 'launches'].includes(statistics.treatment)) return [];
  const parts =
    modes === undefined
      ? [{ key: cell.key, units: statistics.units }]
      : [
          { key: `${cell.key}/low`, units: modes.low?.units ?? [] },
          { key: `${cell.key}/high`, units: modes.high?.units ?? [] },
        ];
  const bound = Math.log(cell.bound);
  return parts
    .filter(({ units }) => units.length >= 2)
    .map(({ key, units }) => ({
      key,
      values: units.map(({ unit, d }) => ({ unit: unitKey(unit, cell), d: d - bound })),
    }));
}

/** A pair belongs to one concurrency by its id; a launch is shared by all and flips them together. */
function unitKey(unit: string, cell: CampaignCell): string {
  return cell.statistics?.treatment === 'launches' ? unit : `pair-${unit}`;
}

/** A loss counts when the family proves it, at the last look; nothing else turns a cell red. */
function withFamily(
  cell: CampaignCell,
  adjustedP: number | undefined,
  alpha: number,
  last: boolean,
): CampaignCell {
  if (adjustedP === undefined) return cell;
  const proven = adjustedP <= alpha;
  const held = cell.pending !== undefined && cell.pending !== 'inconclusive';
  if (proven && last && !held && cell.verdict !== 'PASS' && cell.verdict !== 'VOID') {
    const { pending: _, missingUnits: __, ...rest } = cell;
    return { ...rest, verdict: 'BELOW-FLOOR', adjustedP };
  }
  if (!proven && cell.verdict === 'BELOW-FLOOR') {
    return { ...cell, verdict: 'PENDING', pending: 'not_proven_in_family', adjustedP };
  }
  return { ...cell, adjustedP };
}

/** A proven loss is red whatever else is missing; after that VOID, then PENDING, and PASS only when all pass. */
function combine(cells: readonly CampaignCell[], voids: readonly VoidMark[]): Verdict {
  if (voids.length > 0) return 'VOID';
  const verdicts = cells.filter(({ gated }) => gated).map(({ verdict }) => verdict);
  for (const verdict of ['BELOW-FLOOR', 'VOID', 'PENDING'] as const) {
    if (verdicts.includes(verdict)) return verdict;
  }
  return 'PASS';
}
