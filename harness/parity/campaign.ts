// What a campaign does next, as a function of what has been measured: the loop that starts servers and sends requests asks
// here and decides nothing itself. Early looks may only stop for PASS; a concurrency that has passed is not run again.
import {
  type CampaignQuestion,
  type CampaignVerdict,
  type Family,
  judgeCampaign,
} from './family.ts';
import { campaignVoids, type MeasuredPair, repairablePairs } from './pairs.ts';
import type { Look, Plan, PlannedPair } from './plan.ts';
import { judgeCell } from './verdict.ts';

export interface Campaign {
  plan: Plan;
  /** Cells to judge; the look comes from the plan. */
  questions: readonly Omit<CampaignQuestion, 'look'>[];
  family: Family;
}

export type CampaignStep =
  | {
      do: 'measure';
      /** Order, concurrency and slices of the pair. */
      pair: PlannedPair;
      /** The id and launch that its result must carry. */
      id: string;
      launch: number;
      /** Start both servers anew first. */
      freshLaunch: boolean;
      /** The void pair that this one is measured again for. */
      replaces?: string;
    }
  | { do: 'stop'; why: 'passed' | 'last_look' | 'void'; look: Look; verdict: CampaignVerdict };

/**
 * The next step. The same results always give the same step, so an interrupted campaign goes on where it stopped. `results`
 * in measured order, void pairs included. RangeError for results that are not of this plan.
 */
export function nextStep(campaign: Campaign, results: readonly MeasuredPair[]): CampaignStep {
  checkResults(campaign.plan, results);
  const settled = new Set<number>();
  const isVoid = campaignVoids(results).length > 0;
  for (const look of campaign.plan.looks) {
    // What voids a campaign ends it at once, wherever it was seen.
    if (isVoid && !look.last) continue;
    const open = missing(campaign.plan, results, look, settled);
    const step = repairOrMeasure(campaign.plan, results, look, settled, open[0]);
    if (step !== undefined && !isVoid) return step;
    for (const concurrency of passed(campaign, results, look)) settled.add(concurrency);
    const all = gatedConcurrencies(campaign).every((concurrency) => settled.has(concurrency));
    const lost = isVoid || hasLostCell(campaign, results, look);
    if (!all && !lost && !look.last) continue;
    const why = lost ? 'void' : all ? 'passed' : 'last_look';
    return { do: 'stop', why, look, verdict: judge(campaign, results, look) };
  }
  throw new RangeError('The plan has no last look; make it with makePlan.');
}

export interface CampaignProgress {
  /** Pairs measured, void ones included. */
  measured: number;
  /** Planned pairs that are left until the next look, and at most until the last. */
  leftToLook: number;
  leftAtMost: number;
}

/** How far a campaign is; repairs come on top. */
export function campaignProgress(
  campaign: Campaign,
  results: readonly MeasuredPair[],
): CampaignProgress {
  const { plan } = campaign;
  const settled = new Set<number>();
  let leftToLook = 0;
  for (const look of plan.looks) {
    leftToLook = missing(plan, results, look, settled).length;
    if (leftToLook > 0) break;
    for (const concurrency of passed(campaign, results, look)) settled.add(concurrency);
  }
  const last = plan.looks.at(-1);
  const leftAtMost = last === undefined ? 0 : missing(plan, results, last, settled).length;
  return { measured: results.length, leftToLook, leftAtMost };
}

/** Planned pairs of the look that nothing was measured for yet, in running order. */
function missing(
  plan: Plan,
  results: readonly MeasuredPair[],
  look: Look,
  settled: ReadonlySet<number>,
): PlannedPair[] {
  const done = new Set(results.map(({ id }) => id));
  return plan.pairs.filter(
    ({ id, index, concurrency }) =>
      index < look.pairs && !settled.has(concurrency) && !done.has(id),
  );
}

/** Void pairs are measured again within their launch, before it ends; then the plan goes on. */
function repairOrMeasure(
  plan: Plan,
  results: readonly MeasuredPair[],
  look: Look,
  settled: ReadonlySet<number>,
  next: PlannedPair | undefined,
): CampaignStep | undefined {
  const current = results.at(-1)?.launch;
  const repair = repairs(plan, results).find(
    ({ planned }) => planned.index < look.pairs && !settled.has(planned.concurrency),
  );
  const launchEnds = next === undefined || next.launch !== current;
  if (repair !== undefined && launchEnds) {
    const { planned, result } = repair;
    const id = `${planned.id}-r${results.filter((each) => rootId(each.id) === planned.id).length}`;
    const same = plan.residency === 'co-resident' && result.launch === current;
    // A launch that has ended does not come back: the repair gets one of its own.
    const launch = same ? result.launch : plan.launches + results.length;
    const common = { do: 'measure', pair: planned, id, launch } as const;
    return { ...common, freshLaunch: !same, replaces: result.id };
  }
  if (next === undefined) return undefined;
  const { id, launch } = next;
  return { do: 'measure', pair: next, id, launch, freshLaunch: launch !== current };
}

/** Repairable pairs with their plan, while the cell's budget of voids (40 % in the end) still allows them. */
function repairs(plan: Plan, results: readonly MeasuredPair[]) {
  const planned = new Map(plan.pairs.map((pair) => [pair.id, pair]));
  const most = Math.floor(((plan.looks.at(-1)?.pairs ?? 0) * 2) / 3);
  return repairablePairs(results).flatMap((result) => {
    const pair = planned.get(rootId(result.id));
    const voids = results.filter(
      ({ concurrency, voids: marks }) => concurrency === result.concurrency && marks.length > 0,
    );
    return pair === undefined || voids.length > most ? [] : [{ planned: pair, result }];
  });
}

/** Concurrencies whose gated cells all pass on the pairs of this look. */
function passed(campaign: Campaign, results: readonly MeasuredPair[], look: Look): number[] {
  return gatedConcurrencies(campaign).filter((concurrency) =>
    verdicts(campaign, results, look, concurrency).every(({ verdict }) => verdict === 'PASS'),
  );
}

/** A gated cell is void for a reason that more pairs cannot mend; running out of the void budget may still mend. */
function hasLostCell(campaign: Campaign, results: readonly MeasuredPair[], look: Look): boolean {
  return gatedConcurrencies(campaign).some((concurrency) =>
    verdicts(campaign, results, look, concurrency).some(({ voids }) =>
      voids.some(({ code }) => code !== 'over_voided'),
    ),
  );
}

function verdicts(
  campaign: Campaign,
  results: readonly MeasuredPair[],
  look: Look,
  concurrency: number,
) {
  const pairs = upTo(campaign.plan, results, look);
  return campaign.questions
    .filter((question) => question.gated && question.concurrency === concurrency)
    .map((question) => judgeCell({ ...question, look }, pairs));
}

function judge(campaign: Campaign, results: readonly MeasuredPair[], look: Look): CampaignVerdict {
  const questions = campaign.questions.map((question) => ({ ...question, look }));
  return judgeCampaign(questions, upTo(campaign.plan, results, look), campaign.family);
}

function upTo(plan: Plan, results: readonly MeasuredPair[], look: Look): MeasuredPair[] {
  const inside = new Set(
    plan.pairs.filter(({ index }) => index < look.pairs).map((pair) => pair.id),
  );
  return results.filter(({ id }) => inside.has(rootId(id)));
}

function gatedConcurrencies({ questions }: Campaign): number[] {
  const gated = questions.filter((question) => question.gated);
  return [...new Set(gated.map(({ concurrency }) => concurrency))];
}

/** The planned pair that a repair such as "c4-p03-r2" goes back to. */
function rootId(id: string): string {
  return id.replace(/-r\d+$/, '');
}

function checkResults(plan: Plan, results: readonly MeasuredPair[]): void {
  const planned = new Map(plan.pairs.map((pair) => [pair.id, pair]));
  for (const { id, concurrency } of results) {
    const pair = planned.get(rootId(id));
    if (pair === undefined || pair.concurrency !== concurrency) {
      throw new RangeError(`Pair ${id} at concurrency ${concurrency} is not of this plan.`);
    }
  }
}
