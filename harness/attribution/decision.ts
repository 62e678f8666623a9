// Judges premises by the stated rule: CONFIRMED and REFUTED need a measured quantity whose bound clears the threshold,
// VOID means a gate failed, INCONCLUSIVE is everything else. Pure. Several premises of one capture are Holm-corrected.

import { z } from 'zod';
import { failedGates, type Gate, gateSchema } from './gates.ts';
import type { Interval } from './intervals.ts';
import { type Premise, premiseSchema, valueMs } from './premise.ts';
import { type Quantity, quantityInterval, quantitySchema } from './quantity.ts';

const verdictSchema = z.enum(['CONFIRMED', 'REFUTED', 'INCONCLUSIVE', 'VOID']);

/** What was measured about a premise's subject; a missing part is a part that was not measured. */
export interface PremiseEvidence {
  /** CPU of the subject, ms per step. */
  cost?: Quantity;
  /** Waiting on the path (woken, preempted, asleep), ms per step. */
  latency?: Quantity;
  /** The subject's share of the gap against the reference, 0 to 1. */
  gapShare?: Quantity;
  /** Change of TPOT per injected ms at the subject's seam. */
  slope?: Quantity;
  /** Engine sleep ended by the subject, ms per step: bounds what removing its delay can give. */
  engineSleep?: Quantity;
  /** Step period, ms. */
  stepMs: number;
  /** Standard error of the gap, ms. */
  gapSeMs?: number;
  /** Where the figures come from: file and query. */
  sources: string[];
}

export const judgementSchema = z.strictObject({
  premise: premiseSchema,
  verdict: verdictSchema,
  reason: z.string(),
  quantities: z.record(
    z.string(),
    quantitySchema.extend({ ci95: z.strictObject({ low: z.number(), high: z.number() }) }),
  ),
  confidence: z.number().describe('of the bounds that were used, after correction'),
  gates: z.array(gateSchema),
  evidence: z.array(z.string()),
  wouldChange: z.string(),
});
export type Judgement = z.infer<typeof judgementSchema>;

interface Finding {
  verdict: 'CONFIRMED' | 'REFUTED' | 'INCONCLUSIVE';
  reason: string;
}

const show = (i: Interval) => `[${i.low.toPrecision(3)}, ${i.high.toPrecision(3)}]`;
const inconclusive = (reason: string): Finding => ({ verdict: 'INCONCLUSIVE', reason });
const unmeasured = (what: string) => inconclusive(`${what} was not measured`);

function threshold(yes: boolean, no: boolean, reason: string): Finding {
  return { verdict: yes ? 'CONFIRMED' : no ? 'REFUTED' : 'INCONCLUSIVE', reason };
}

type Rule = (premise: Premise, evidence: PremiseEvidence, confidence: number) => Finding;

const costsAtLeast: Rule = (premise, { cost }, confidence) => {
  if (!cost) return unmeasured('its CPU cost');
  const v = valueMs(premise);
  const i = quantityInterval(cost, confidence);
  return threshold(
    i.low >= v,
    i.high < 0.75 * v,
    `cost ${show(i)} ms per step against ${v} (refuted below ${(0.75 * v).toPrecision(3)})`,
  );
};

const about: Rule = (premise, { cost }, confidence) => {
  if (!cost) return unmeasured('its CPU cost');
  const v = valueMs(premise);
  const i = quantityInterval(cost, confidence);
  return threshold(
    i.low >= v / 1.5 && i.high <= 1.5 * v,
    i.high < v / 1.5 || i.low > 1.5 * v,
    `cost ${show(i)} ms per step against ${(v / 1.5).toPrecision(3)} to ${(1.5 * v).toPrecision(3)}`,
  );
};

const dominatesGap: Rule = (_, { gapShare }, confidence) => {
  if (!gapShare)
    return unmeasured('its share of the gap (the reference side must be measured too)');
  const i = quantityInterval(gapShare, confidence);
  return threshold(i.low > 0.5, i.high < 0.5, `share of the gap ${show(i)} against 0.5`);
};

function computeOrLatency(
  evidence: PremiseEvidence,
  confidence: number,
  compute: boolean,
): Finding {
  const { cost, latency } = evidence;
  if (!cost) return unmeasured('its CPU cost');
  if (!latency) return unmeasured('latency on the path (it may not be inferred by subtraction)');
  const c = quantityInterval(cost, confidence);
  const l = quantityInterval(latency, confidence);
  const isCompute = c.low > 2 * l.high;
  const isLatency = l.low > 2 * c.high;
  const mixed = isCompute || isLatency ? '' : 'mixed: ';
  return threshold(
    compute ? isCompute : isLatency,
    compute ? isLatency : isCompute,
    `${mixed}compute ${show(c)}, latency ${show(l)} ms per step`,
  );
}

const closingGains: Rule = (premise, evidence, confidence) => {
  const { slope, cost, engineSleep } = evidence;
  const d = valueMs(premise);
  if (engineSleep) {
    const a = quantityInterval(engineSleep, confidence);
    if (a.high < 0.5 * d)
      return threshold(
        false,
        true,
        `the engine waits for it ${show(a)} ms per step, gain ${d} claimed`,
      );
  }
  if (!slope) return unmeasured('the slope of TPOT under injected delay');
  if (!cost) return unmeasured('its CPU cost');
  const s = quantityInterval(slope, confidence);
  const c = quantityInterval(cost, confidence);
  const gain = {
    low: s.low < 0 ? s.low * c.high : s.low * Math.max(0, c.low),
    high: Math.max(0, s.high) * c.high,
  };
  return threshold(
    gain.low >= 0.75 * d,
    gain.high < 0.5 * d,
    `slope ${show(s)} x cost ${show(c)} gives ${show(gain)} ms, ${d} claimed`,
  );
};

const negligible: Rule = (_, { cost, stepMs, gapSeMs }, confidence) => {
  if (!cost) return unmeasured('its CPU cost');
  const limit = Math.max(0.01 * stepMs, gapSeMs ?? 0);
  const i = quantityInterval(cost, confidence);
  return threshold(
    i.high < limit,
    i.low > limit,
    `cost ${show(i)} ms per step against ${limit.toPrecision(3)}`,
  );
};

const RULES: Record<Premise['type'], Rule> = {
  'costs-at-least': costsAtLeast,
  about,
  'dominates-gap': dominatesGap,
  'compute-not-latency': (_, evidence, confidence) => computeOrLatency(evidence, confidence, true),
  'latency-not-compute': (_, evidence, confidence) => computeOrLatency(evidence, confidence, false),
  'closing-gains': closingGains,
  negligible,
};

/** The smallest alpha at which the rule still decides; 1 when it does not even at 5 %. */
function decisionLevel(premise: Premise, evidence: PremiseEvidence): number {
  const decides = (alpha: number) =>
    RULES[premise.type](premise, evidence, 1 - alpha).verdict !== 'INCONCLUSIVE';
  if (!decides(0.05)) return 1;
  let [low, high] = [1e-9, 0.05];
  if (decides(low)) return low;
  for (let i = 0; i < 24; i++) {
    const middle = Math.sqrt(low * high);
    if (decides(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** Alphas by Holm's step-down: a premise that may not be decided gets 0. */
function holm(levels: readonly number[], alpha = 0.05): number[] {
  const order = levels.map((level, index) => ({ level, index })).sort((a, b) => a.level - b.level);
  const granted = levels.map(() => 0);
  for (const [rank, { level, index }] of order.entries()) {
    const share = alpha / (levels.length - rank);
    if (level > share) break;
    granted[index] = share;
  }
  return granted;
}

const CHANGES: Record<Premise['type'], string> = {
  'costs-at-least': 'a longer window or more runs, which narrow the interval of the cost',
  about: 'a longer window or more runs, which narrow the interval of the cost',
  'dominates-gap': 'the same measurement on the reference, with enough runs to bound the gap',
  'compute-not-latency':
    'a scheduler phase, which measures waiting on the path instead of inferring it',
  'latency-not-compute':
    'a scheduler phase, which measures waiting on the path instead of inferring it',
  'closing-gains': 'an injection run, which measures the slope at this seam',
  negligible: 'a longer window, which lowers the upper bound of the cost',
};

/** Samples of user space only cannot bound what a class costs; the cost of a role does not come from samples. */
const concerns = (gate: Gate, premise: Premise) =>
  gate.name !== 'kernel included' || premise.subject.includes('/');

/** Judges every premise of one capture; a failed gate makes all of them VOID, whatever the figures say. */
export function judge(
  premises: readonly Premise[],
  evidenceOf: (premise: Premise) => PremiseEvidence,
  gates: readonly Gate[],
): Judgement[] {
  const evidence = premises.map(evidenceOf);
  const levels = premises.map((premise, i) => {
    const found = evidence[i];
    return found ? decisionLevel(premise, found) : 1;
  });
  const alphas = holm(levels);
  return premises.map((premise, i) => {
    const found = evidence[i] ?? { stepMs: 0, sources: [] };
    const alpha = alphas[i] || 0.05 / premises.length;
    const ruled = RULES[premise.type](premise, found, 1 - alpha);
    const allowed = (alphas[i] ?? 0) > 0 || ruled.verdict === 'INCONCLUSIVE';
    const failed = failedGates(gates).filter((gate) => concerns(gate, premise));
    const gateReason = failed.map((gate) => `${gate.name}: ${gate.detail}`).join('; ');
    return {
      premise,
      verdict: failed.length > 0 ? 'VOID' : allowed ? ruled.verdict : 'INCONCLUSIVE',
      reason: failed.length > 0 ? gateReason : ruled.reason,
      quantities: quantitiesOf(found),
      confidence: 1 - alpha,
      gates: [...gates],
      evidence: found.sources,
      wouldChange: failed.length > 0 ? 'a capture whose gates pass' : CHANGES[premise.type],
    };
  });
}

function quantitiesOf(evidence: PremiseEvidence): Judgement['quantities'] {
  const { cost, latency, gapShare, slope, engineSleep } = evidence;
  const found: Judgement['quantities'] = {};
  for (const [name, quantity] of Object.entries({ cost, latency, gapShare, slope, engineSleep }))
    if (quantity) found[name] = { ...quantity, ci95: quantityInterval(quantity) };
  return found;
}
