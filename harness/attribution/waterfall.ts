// The step waterfall: the time between a request's tokens, split into the engine's own stages (which make up TPOT) and
// the way of a token to its client (which shifts tokens but cancels out of TPOT unless it changes). Built from the
// server's step records and the client's timelines, both on CLOCK_MONOTONIC. Pure; what is unexplained is always shown.
import type { StepRecord } from '../../server/protocol/step-trace.ts';
import type { RequestTimeline } from '../client/timeline.ts';
import { blockBootstrapMeans, percentileInterval, quantile } from './bootstrap.ts';
import type { Interval } from './intervals.ts';

/** Stages of the engine's loop, in order; they close from one `posted` to the next. */
const LOOP_STAGES = ['gap', 'schedule', 'forward', 'sample', 'post'] as const;
/** Stages of a token's way out, after `posted`. */
const WAY_STAGES = ['hand-off', 'front-end compute', 'write', 'wire and client'] as const;
type LoopStage = (typeof LOOP_STAGES)[number];
type WayStage = (typeof WAY_STAGES)[number];

interface StageTime {
  stage: string;
  /** Mean per step (loop) or per token (way), ms. */
  ms: number;
  interval: Interval;
  p50Ms: number;
  p99Ms: number;
}

export interface Waterfall {
  /** Steps whose predecessor was recorded too. */
  steps: number;
  /** Steps without and with prefill tokens: mean period, ms. */
  /** The span is forward and sampling: what the engine computes. */
  decodeOnly: { steps: number; periodMs: number; spanMs: number };
  withPrefill: { steps: number; periodMs: number; spanMs: number };
  loop: StageTime[];
  way: StageTime[];
  /** Where TPOT of the matched requests goes, ms per token; the parts and `unexplained` sum to `tpot`. */
  tpot: {
    requests: number;
    unmatched: number;
    measuredMs: number;
    parts: { stage: string; ms: number }[];
    /** Change of the way out between first and last token, per token. */
    wayChangeMs: number;
    unexplainedMs: number;
    explainedShare: number;
  };
  /** Step ids missing from the trace. */
  missing: number;
}

export interface StepPeriod {
  step: StepRecord;
  /** From the previous step's `posted` to this one's, ns. */
  periodNs: number;
  stages: Record<LoopStage, number>;
}

/** Periods of consecutive steps; a hole in the ids, or sleeping for want of work, starts anew. */
export function stepPeriods(steps: readonly StepRecord[]): StepPeriod[] {
  const periods: StepPeriod[] = [];
  for (let i = 1; i < steps.length; i++) {
    const step = steps[i];
    const before = steps[i - 1];
    if (!step || !before || step.step !== before.step + 1 || step.sleptNs > 0) continue;
    periods.push({
      step,
      periodNs: step.postedNs - before.postedNs,
      stages: {
        gap: step.beginNs - before.postedNs,
        schedule: step.scheduledNs - step.beginNs,
        forward: step.forwardNs - step.scheduledNs,
        sample: step.sampledNs - step.forwardNs,
        post: step.postedNs - step.sampledNs,
      },
    });
  }
  return periods;
}

function stageTime(stage: string, ns: readonly number[]): StageTime {
  const ms = ns.map((value) => value / 1e6);
  return {
    stage,
    ms: ms.reduce((a, b) => a + b, 0) / Math.max(1, ms.length),
    interval: percentileInterval(blockBootstrapMeans(ms, 20)),
    p50Ms: quantile(ms, 0.5),
    p99Ms: quantile(ms, 0.99),
  };
}

function wayOf(step: StepRecord): Partial<Record<WayStage, number>> {
  const { postedNs, receivedNs, detokenisedNs, writtenNs } = step;
  return {
    ...(receivedNs === undefined ? {} : { 'hand-off': receivedNs - postedNs }),
    ...(receivedNs === undefined || detokenisedNs === undefined
      ? {}
      : { 'front-end compute': detokenisedNs - receivedNs }),
    ...(writtenNs === undefined || detokenisedNs === undefined
      ? {}
      : { write: writtenNs - detokenisedNs }),
  };
}

/** Index of the last step that a client can have seen at `ns`: received by the front end, or at least posted. */
function lastSeen(steps: readonly StepRecord[], ns: number): number {
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const step = steps[middle];
    if (step && (step.receivedNs ?? step.postedNs) <= ns) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

interface Match {
  first: number;
  last: number;
  firstNs: number;
  lastNs: number;
  tokens: number;
}

/**
 * The steps of a request's first and last token. A client that reads late would be given a later step, so the pair is
 * taken only where it holds as many steps as tokens, or where the first token fixes it and no step is missing.
 */
function matchRequest(
  steps: readonly StepRecord[],
  request: RequestTimeline,
  originNs: number,
): Match | undefined {
  const tokens = request.outputTokens ?? request.contentNs.length;
  const firstContent = request.contentNs[0];
  const lastContent = request.contentNs.at(-1);
  if (firstContent === undefined || lastContent === undefined || tokens < 2) return undefined;
  const firstNs = firstContent + originNs;
  const lastNs = lastContent + originNs;
  const first = lastSeen(steps, firstNs);
  const last = lastSeen(steps, lastNs);
  const perFirstEvent = request.contentTokens?.[0] ?? 1;
  const expected = tokens - perFirstEvent;
  for (const [a, b] of [
    [first, last],
    [first, last - 1],
    [first - 1, last],
    [first - 1, last - 1],
  ] as const) {
    const from = steps[a];
    const to = steps[b];
    if (a < 0 || !from || !to || to.step - from.step !== b - a) continue;
    if (b - a === expected) return { first: a, last: b, firstNs, lastNs, tokens: expected };
  }
  // Preempted, or stepped less often than once a token: the identity below holds for any pair of steps.
  const from = steps[first];
  const to = steps[last];
  if (first < 0 || last <= first || !from || !to || to.step - from.step !== last - first)
    return undefined;
  return { first, last, firstNs, lastNs, tokens: expected };
}

function tpotParts(
  steps: readonly StepRecord[],
  requests: readonly RequestTimeline[],
  originNs: number,
): Waterfall['tpot'] {
  const sums = new Map<string, number>(LOOP_STAGES.map((stage) => [stage, 0]));
  let matched = 0;
  let measured = 0;
  let change = 0;
  for (const request of requests) {
    const match = matchRequest(steps, request, originNs);
    if (!match || match.tokens < 1) continue;
    const from = steps[match.first];
    const to = steps[match.last];
    if (!from || !to) continue;
    matched += 1;
    measured += (match.lastNs - match.firstNs) / match.tokens;
    change += (match.lastNs - to.postedNs - (match.firstNs - from.postedNs)) / match.tokens;
    for (let i = match.first + 1; i <= match.last; i++) {
      const step = steps[i];
      const before = steps[i - 1];
      if (!step || !before) continue;
      const [period] = stepPeriods([before, { ...step, sleptNs: 0 }]);
      if (!period) continue;
      for (const stage of LOOP_STAGES)
        sums.set(stage, (sums.get(stage) ?? 0) + period.stages[stage] / match.tokens);
    }
  }
  const perRequest = (ns: number) => (matched > 0 ? ns / matched / 1e6 : 0);
  const parts = LOOP_STAGES.map((stage) => ({ stage, ms: perRequest(sums.get(stage) ?? 0) }));
  const measuredMs = perRequest(measured);
  const wayChangeMs = perRequest(change);
  const unexplainedMs = measuredMs - wayChangeMs - parts.reduce((sum, part) => sum + part.ms, 0);
  return {
    requests: matched,
    unmatched: requests.length - matched,
    measuredMs,
    parts,
    wayChangeMs,
    unexplainedMs,
    explainedShare: measuredMs > 0 ? 1 - Math.abs(unexplainedMs) / measuredMs : 0,
  };
}

/** Ids that are missing between the first and the last of these steps. */
export function missingSteps(steps: readonly StepRecord[]): number {
  const ids = steps.map((step) => step.step);
  return ids.length === 0 ? 0 : (ids.at(-1) ?? 0) - (ids[0] ?? 0) + 1 - ids.length;
}

/**
 * Builds the waterfall. `originNs` is the monotonic time that the timelines are relative to; only steps and requests
 * inside the window that the caller wants should be passed.
 */
export function waterfall(
  records: readonly StepRecord[],
  requests: readonly RequestTimeline[],
  originNs: number,
): Waterfall {
  const steps = [...records].sort((a, b) => a.step - b.step);
  const periods = stepPeriods(steps);
  const mean = (list: readonly StepPeriod[]) => ({
    steps: list.length,
    periodMs: list.reduce((sum, p) => sum + p.periodNs, 0) / Math.max(1, list.length) / 1e6,
    spanMs:
      list.reduce((sum, { stages }) => sum + stages.forward + stages.sample, 0) /
      Math.max(1, list.length) /
      1e6,
  });
  const ways = periods.map((period) => wayOf(period.step));
  const way = WAY_STAGES.slice(0, 3).flatMap((stage) => {
    const ns = ways.flatMap((one) => (one[stage] === undefined ? [] : [one[stage]]));
    return ns.length > 0 ? [stageTime(stage, ns)] : [];
  });
  const wire = requests.flatMap((request) => arrival(steps, request, originNs));
  if (wire.length > 0) way.push(stageTime('wire and client', wire));
  return {
    steps: periods.length,
    decodeOnly: mean(periods.filter((p) => p.step.prefillTokens === 0)),
    withPrefill: mean(periods.filter((p) => p.step.prefillTokens > 0)),
    loop: LOOP_STAGES.map((stage) =>
      stageTime(
        stage,
        periods.map((p) => p.stages[stage]),
      ),
    ),
    way,
    tpot: tpotParts(steps, requests, originNs),
    missing: missingSteps(steps),
  };
}

/** From the end of writing a step to the client's stamp; negative where the client read before the last write. */
function arrival(
  steps: readonly StepRecord[],
  request: RequestTimeline,
  originNs: number,
): number[] {
  return request.contentNs.flatMap((ns) => {
    const step = steps[lastSeen(steps, ns + originNs)];
    return step?.writtenNs === undefined ? [] : [ns + originNs - step.writtenNs];
  });
}
