// A comparison as data: its question before it runs, and the draft of its record afterwards. Pure.
import type { RunningArm } from '../arms/start-arm.ts';
import { findAxis, PRIMARY_AXES } from '../parity/axis.ts';
import { type Campaign, nextStep } from '../parity/campaign.ts';
import type { MeasuredPair } from '../parity/pairs.ts';
import { makePlan, orderString } from '../parity/plan.ts';
import { storedVerdict } from '../parity/stored-verdict.ts';
import {
  type Draft,
  PARITY_METHODOLOGY,
  type ParityRecord,
  RECORD_SCHEMA,
} from '../record/record.ts';
import { redact } from '../record/redaction.ts';
import type { SweepOptions } from '../scenario/sweep-options.ts';
import { type DraftFacts, recordedArm } from './draft.ts';
import { pairsOf } from './gate-input.ts';
import type { CampaignOutcome } from './run-campaign.ts';
import { defaultRequests } from './run-sweep.ts';

/** Chance of any false red in a campaign. */
const FAMILY_ALPHA = 0.01;
/** Enough launches at the first look, and not a start of both servers for every quad. */
const FEWEST_LAUNCHES = 4;

/** The campaign that the flags describe; a RangeError says which of them cannot give a sound one. */
export function campaignOf(options: SweepOptions): Campaign {
  const { seed, concurrency: concurrencies, looks } = options;
  const quads = (looks.at(-1) ?? 0) / 2;
  const plan = makePlan({
    seed,
    concurrencies,
    looks,
    quadsPerLaunch: Math.max(1, Math.min(2, Math.floor(quads / FEWEST_LAUNCHES))),
    residency: 'co-resident',
    slice: 'leg',
  });
  const questions = concurrencies.flatMap((concurrency) =>
    PRIMARY_AXES.map((id) => {
      const axis = findAxis(id);
      if (axis === undefined) throw new RangeError(`There is no axis ${id}.`);
      const fixed = { floor: 1, margin: options.margin / 100, unit: 'pair', gated: true } as const;
      return { axis, concurrency, ...fixed };
    }),
  );
  return { plan, questions, family: { alpha: FAMILY_ALPHA, method: 'maxT', seed } };
}

/** Memory cannot be compared where one server does not run on this machine. */
export function withoutMemory(campaign: Campaign): Campaign {
  const questions = campaign.questions.filter(({ axis }) => axis.kind !== 'memory');
  return { ...campaign, questions };
}

/** The name under which floors are kept: same work on the same model. */
export function scenarioOf(options: SweepOptions, model: string): string {
  const short = (model.split('/').at(-1) ?? model).replace(/\.gguf$/i, '');
  return `${short}-${options.inputTokens}x${options.outputTokens}`;
}

/** The record without id and place in the chain. */
export function draftParity(
  options: SweepOptions,
  campaign: Campaign,
  outcome: CampaignOutcome,
  facts: DraftFacts,
): Draft<ParityRecord> {
  const { arms, results, end, answers } = outcome;
  const { plan, family } = campaign;
  const recorded = { ours: recordedArm(arms.ours), reference: recordedArm(arms.reference) };
  const { value, removed } = redact({ arms: recorded, pairs: results }, facts.secrets);
  const { seed, inputTokens, outputTokens, concurrency } = options;
  const reasons = nonBinding(arms, facts, options);
  const verdict = end === undefined ? null : storedVerdict(end.verdict);
  return {
    schema: RECORD_SCHEMA,
    kind: 'parity',
    methodology: PARITY_METHODOLOGY,
    createdUtc: facts.createdUtc,
    complete: true,
    interrupted: end === undefined,
    binding: reasons.length === 0,
    nonBindingReasons: reasons,
    harness: facts.harness,
    environment: facts.environment,
    aa: options.aa,
    scenario: scenarioOf(options, arms.ours.identity.model.id),
    arms: value.arms,
    workload: {
      ...{ loop: 'closed', endpoint: 'completions', seed, inputTokens, outputTokens },
      concurrencies: concurrency,
      requestsPerCell: concurrency.map((c) => options.requests ?? defaultRequests(c)),
      ...{ temperature: 0, exactOutput: true, coldCache: true },
    },
    plan: {
      ...{ generator: plan.generator, seed: plan.seed, order: orderString(plan) },
      looks: plan.looks.map(({ pairs }) => pairs),
      ...{ launches: plan.launches, residency: plan.residency, slice: plan.slice },
    },
    family: { alpha: family.alpha, method: family.method },
    margin: options.margin / 100,
    foreignCpuLimit: options.foreignCpuLimit > 25 ? null : options.foreignCpuLimit / 100,
    pairs: value.pairs.map(storedPair),
    answers,
    end: end?.why ?? 'interrupted',
    lastLook: end?.look.last ?? false,
    verdict,
    raw: { kind: 'inline', requests: [] },
    redaction: removed,
  };
}

function storedPair({ ours, reference, modes: _, voids, ...rest }: MeasuredPair) {
  return { ...rest, ours: present(ours), reference: present(reference), voids: [...voids] };
}

function present(values: Readonly<Record<string, number | null>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([id, value]) => (value === null ? [] : [[id, value]])),
  );
}

function nonBinding(
  arms: Record<'ours' | 'reference', RunningArm>,
  { harness }: DraftFacts,
  options: SweepOptions,
): string[] {
  const reasons: string[] = [];
  if (harness.dirty === true) reasons.push('dirty_tree');
  if (harness.commit === null) reasons.push('no_commit');
  if (Object.values(arms).some(({ identity }) => identity.resolvedConfig === null)) {
    reasons.push('config_unproven');
  }
  if (options.foreignCpuLimit > 25) reasons.push('contention_not_judged');
  return reasons;
}

/** The verdict of a stored comparison once more, from its pairs and its question alone. */
export function judgeAgain(record: ParityRecord): ReturnType<typeof storedVerdict> {
  const { plan, workload, family, margin, pairs } = record;
  const options = {
    seed: plan.seed,
    concurrency: workload.concurrencies,
    looks: plan.looks,
    margin: margin * 100,
  } as SweepOptions;
  const whole = campaignOf(options);
  const hasMemory = pairs.some(({ ours }) => ours['peak_memory'] !== undefined);
  const campaign = hasMemory ? whole : withoutMemory(whole);
  const step = nextStep(
    { ...campaign, family: { ...campaign.family, ...family } },
    pairsOf(record),
  );
  return step.do === 'stop' ? storedVerdict(step.verdict) : null;
}
