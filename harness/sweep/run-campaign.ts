// A comparison of two arms: asks the campaign what to do next, starts both servers anew for every launch, measures the legs of
// each pair one after the other with the same prompts, and stops when the campaign says so. It decides and prints nothing.
import { prepareArm, type RunningArm, startArm } from '../arms/start-arm.ts';
import type { Campaign, CampaignStep } from '../parity/campaign.ts';
import { campaignProgress, nextStep } from '../parity/campaign.ts';
import type { MeasuredPair } from '../parity/pairs.ts';
import type { Role } from '../parity/plan.ts';
import type { RequestRow, SweepCell } from '../record/record-parts.ts';
import type { Arm } from '../scenario/arm.ts';
import type { SweepOptions } from '../scenario/sweep-options.ts';
import { measureOneCell } from './cell.ts';
import { axisValues, voidsOfPair } from './leg.ts';
import { contextOf, defaultRequests, demandOf, type SweepPlace } from './run-sweep.ts';

export interface CampaignEvents {
  onStage(what: string): void;
  /** Pairs measured, and at most how many more. */
  onPair(pair: MeasuredPair, measured: number, leftAtMost: number): void;
}

/** Answers of both arms to the same prompts, compared as texts. */
export interface AnswerAgreement {
  compared: number;
  equal: number;
}

export interface CampaignOutcome {
  arms: Record<Role, RunningArm>;
  results: MeasuredPair[];
  rows: RequestRow[];
  answers: AnswerAgreement;
  /** Absent when the campaign was interrupted. */
  end?: Extract<CampaignStep, { do: 'stop' }>;
}

/** Runs the campaign to its end or until the signal. Both servers are gone afterwards, however it ends. */
export async function runCampaign(
  options: SweepOptions,
  arms: Readonly<Record<Role, Arm>>,
  campaign: Campaign,
  events: CampaignEvents,
  place: SweepPlace,
): Promise<CampaignOutcome> {
  const outcome = {
    results: [] as MeasuredPair[],
    rows: [] as RequestRow[],
    answers: { compared: 0, equal: 0 },
  };
  let running: Record<Role, RunningArm> | undefined;
  let last: Record<Role, RunningArm> | undefined;
  try {
    const demand = demandOf(options, events, place);
    const prepared = {
      ours: await prepareArm(arms.ours, demand),
      reference: await prepareArm(arms.reference, demand),
    };
    for (;;) {
      const step = nextStep(campaign, outcome.results);
      if (step.do === 'stop') return { ...outcome, arms: required(last), end: step };
      if (place.signal.aborted) return { ...outcome, arms: required(last) };
      if (step.freshLaunch || running === undefined) {
        await stopBoth(running);
        running = undefined;
        running = await startBoth(prepared, options, events, place);
        last = running;
      }
      const measured = await measurePair(options, running, step, place.signal);
      if (place.signal.aborted) return { ...outcome, arms: running };
      outcome.results.push(measured.pair);
      outcome.rows.push(...measured.rows);
      outcome.answers.compared += measured.answers.compared;
      outcome.answers.equal += measured.answers.equal;
      const { measured: done, leftAtMost } = campaignProgress(campaign, outcome.results);
      events.onPair(measured.pair, done, leftAtMost);
    }
  } finally {
    events.onStage('stopping the servers');
    await stopBoth(running);
  }
}

function required(arms: Record<Role, RunningArm> | undefined): Record<Role, RunningArm> {
  if (arms === undefined) throw new Error('The campaign ended before it began.');
  return arms;
}

async function startBoth(
  arms: Readonly<Record<Role, Arm>>,
  options: SweepOptions,
  events: CampaignEvents,
  place: SweepPlace,
): Promise<Record<Role, RunningArm>> {
  const demand = demandOf(options, events, place);
  const ours = await startArm(arms.ours, demand);
  try {
    return { ours, reference: await startArm(arms.reference, demand) };
  } catch (error) {
    await ours.stop();
    throw error;
  }
}

async function stopBoth(arms: Record<Role, RunningArm> | undefined): Promise<void> {
  if (arms !== undefined) await Promise.all([arms.ours.stop(), arms.reference.stop()]);
}

type Measure = Extract<CampaignStep, { do: 'measure' }>;

async function measurePair(
  options: SweepOptions,
  arms: Record<Role, RunningArm>,
  step: Measure,
  signal: AbortSignal,
) {
  const { concurrency, index, quad, slices } = step.pair;
  const legs: Partial<Record<Role, SweepCell>> = {};
  const rows: RequestRow[] = [];
  for (const role of slices) {
    const other = role === 'ours' ? arms.reference : arms.ours;
    const context = {
      ...contextOf(options, arms[role], signal),
      idlePids: other.pid === undefined || other.pid === arms[role].pid ? [] : [other.pid],
    };
    const requests = options.requests ?? defaultRequests(concurrency);
    // Prompts of pair 0 belong to plain sweeps.
    const plan = { concurrency, requests, warmUpRequests: concurrency, pair: index + 1 };
    const { cell, rows: own } = await measureOneCell(context, plan);
    legs[role] = cell;
    rows.push(...own.map((row) => ({ ...row, arm: role, pair: step.id })));
  }
  const { ours, reference } = legs;
  if (ours === undefined || reference === undefined)
    throw new Error(`Pair ${step.id} lacks a leg.`);
  const foreignCpuShare = options.foreignCpuLimit > 25 ? undefined : options.foreignCpuLimit / 100;
  const pair: MeasuredPair = {
    id: step.id,
    concurrency,
    quad,
    launch: step.launch,
    lead: slices[0] ?? 'ours',
    ours: axisValues(ours),
    reference: axisValues(reference),
    requests: Math.min(ours.metrics?.succeeded ?? 0, reference.metrics?.succeeded ?? 0),
    voids: voidsOfPair({ ours, reference }, { concurrency, foreignCpuShare }),
    ...(step.replaces === undefined ? {} : { replaces: step.replaces }),
  };
  return { pair, rows, answers: agreement(rows) };
}

function agreement(rows: readonly RequestRow[]): AnswerAgreement {
  const texts = new Map<number, string>();
  const result = { compared: 0, equal: 0 };
  for (const { index, phase, failure, textSha256 } of rows) {
    if (phase !== 'measured' || failure !== null || textSha256 === undefined) continue;
    const seen = texts.get(index);
    if (seen === undefined) {
      texts.set(index, textSha256);
      continue;
    }
    result.compared += 1;
    if (seen === textSha256) result.equal += 1;
  }
  return result;
}
