// Timelines to the numbers of a cell. Pure: no clock, no I/O; every formula is named in definitions.ts.
import type { FailureCode, RequestTimeline } from '../client/timeline.ts';
import type { DriveResult } from '../load/drive.ts';
import { inFlight } from '../load/in-flight.ts';
import { type Distribution, describe } from './distribution.ts';
import { type Implausibility, implausibilities } from './plausibility.ts';
import { appendGaps, type LatencyStart, requestMetrics } from './request-metrics.ts';

/** Service-level objectives; a request is good when it ended well and keeps every one that is given. */
interface Objectives {
  ttftMs?: number;
  tpotMs?: number;
  e2elMs?: number;
}

export interface MeasureOptions {
  /** Default 'sent'. With open-loop load 'intended' keeps what waited in our own queue in the latency. */
  from?: LatencyStart;
  objectives?: Objectives;
}

/** One cell: one arm at one concurrency. Plain numbers, ready for JSON; a distribution is null when nothing was measured. */
export interface CellMetrics {
  /** Closed: `concurrency` held in flight. Open: sent by a schedule over at most `concurrency` connections. */
  loop: 'closed' | 'open';
  concurrency: number;
  /** Requests of the measured phase. */
  requests: number;
  succeeded: number;
  failed: number;
  failuresByCode: Partial<Record<FailureCode, number>>;
  ttftMs: Distribution | null;
  ttfrMs: Distribution | null;
  /** One value a request. */
  tpotMs: Distribution | null;
  /** Gaps between content events, pooled over requests. */
  itlMs: Distribution | null;
  /** The same divided by the tokens of the event, only where every stream says how many an event holds. */
  itlPerTokenMs: Distribution | null;
  e2elMs: Distribution | null;
  streamCloseMs: Distribution | null;
  /** Intended start to handing over to the socket: time in our own queue. */
  queueMs: Distribution | null;
  /** The window: first measured request sent to last measured request ended. */
  windowSeconds: number;
  /** Output tokens whose stamps lie in the window, whatever request they belong to. */
  windowOutputTokens: number;
  outputTokensPerSecond: number;
  /** Requests that ended well in the window, per second. */
  requestsPerSecond: number;
  /** Prompt tokens of those requests and the output tokens, per second. */
  totalTokensPerSecond: number;
  /** Good requests of the measured phase per second, and their share of all measured ones; null without objectives. */
  goodput: { requestsPerSecond: number; share: number } | null;
  /** Of the successful measured requests. */
  promptTokens: number;
  outputTokens: number;
  /** Largest number of cached prompt tokens that any request reported; null when the server does not say. */
  cachedTokensMax: number | null;
  /** Mean requests in flight over the window. */
  achievedConcurrency: number;
  shareAtConcurrency: number;
  peakInFlight: number;
  /** Mean output tokens of a content event; above 1 the ITL is not a token's. */
  tokensPerEvent: number | null;
  connectionsOpened: number;
  reconnects: number;
  clientCpuShareOfCore: number;
  clientCpuMicrosecondsPerToken: number | null;
  eventLoopDelayP99Ms: number;
  interrupted: boolean;
  implausible: Implausibility[];
}

/** The cell's numbers. Latencies are those of successful measured requests; failures are counted and never dropped. */
export function measureCell(result: DriveResult, options: MeasureOptions = {}): CellMetrics {
  const measured = result.timelines.filter(({ phase }) => phase === 'measured');
  const succeeded = measured.filter(({ failure }) => failure === undefined);
  const latency = latencies(succeeded, options.from ?? 'sent');
  const window = throughput(result, succeeded);
  const cell: Omit<CellMetrics, 'implausible'> = {
    loop: result.loop,
    concurrency: result.concurrency,
    requests: measured.length,
    succeeded: succeeded.length,
    failed: measured.length - succeeded.length,
    failuresByCode: countFailures(measured),
    ...latency,
    ...window,
    goodput: goodput(succeeded, measured.length, window.windowSeconds, options),
    promptTokens: total(succeeded, 'promptTokens'),
    outputTokens: total(succeeded, 'outputTokens'),
    cachedTokensMax: largestCached(measured),
    shareAtConcurrency: result.shareAtConcurrency,
    peakInFlight: result.peakInFlight,
    connectionsOpened: result.connectionsOpened,
    reconnects: result.reconnects,
    ...selfCost(result),
    interrupted: result.interrupted,
  };
  return { ...cell, implausible: implausibilities(cell, succeeded) };
}

function latencies(succeeded: readonly RequestTimeline[], from: LatencyStart) {
  const gapsMs: number[] = [];
  const perTokenMs: number[] = [];
  let tokensKnown = true;
  const each = succeeded.flatMap((timeline) => requestMetrics(timeline, from) ?? []);
  for (const timeline of succeeded) {
    tokensKnown = appendGaps(timeline, gapsMs, perTokenMs) && tokensKnown;
  }
  return {
    ttftMs: describe(each.map(({ ttftMs }) => ttftMs)),
    ttfrMs: describe(each.map(({ ttfrMs }) => ttfrMs)),
    tpotMs: describe(each.flatMap(({ tpotMs }) => tpotMs ?? [])),
    itlMs: describe(gapsMs),
    itlPerTokenMs: tokensKnown ? describe(perTokenMs) : null,
    e2elMs: describe(each.map(({ e2elMs }) => e2elMs)),
    streamCloseMs: describe(each.map(({ streamCloseMs }) => streamCloseMs)),
    queueMs: describe(each.map(({ queueMs }) => queueMs)),
  };
}

function throughput(result: DriveResult, succeeded: readonly RequestTimeline[]) {
  const { timelines, windowStartNs, windowEndNs } = result;
  const windowSeconds = Math.max(0, windowEndNs - windowStartNs) / 1e9;
  const events = succeeded.reduce((sum, { contentNs }) => sum + contentNs.length, 0);
  const tokensPerEvent = events > 0 ? total(succeeded, 'outputTokens') / events : null;
  let windowOutputTokens = 0;
  let ended = 0;
  let promptTokens = 0;
  for (const timeline of timelines) {
    const { failure, phase, closedNs, contentNs } = timeline;
    // What only kept the load up was cut short by us; its tokens are the server's work all the same.
    if (failure !== undefined && !(phase === 'drain' && failure.code === 'aborted')) continue;
    for (const [at, stampNs] of contentNs.entries()) {
      if (stampNs <= windowStartNs || stampNs > windowEndNs) continue;
      windowOutputTokens += tokensOfEvent(timeline, at, tokensPerEvent ?? 1);
    }
    const closed = closedNs ?? 0;
    if (failure !== undefined || closed <= windowStartNs || closed > windowEndNs) continue;
    ended += 1;
    promptTokens += timeline.promptTokens ?? 0;
  }
  const perSecond = (count: number) => (windowSeconds > 0 ? count / windowSeconds : 0);
  return {
    windowSeconds,
    windowOutputTokens,
    outputTokensPerSecond: perSecond(windowOutputTokens),
    requestsPerSecond: perSecond(ended),
    totalTokensPerSecond: perSecond(windowOutputTokens + promptTokens),
    achievedConcurrency: inFlight(timelines, windowStartNs, windowEndNs).mean,
    tokensPerEvent,
  };
}

/** Known from the stream, else the request's mean, else (a request without usage) the mean of the cell. */
function tokensOfEvent(timeline: RequestTimeline, at: number, otherwise: number): number {
  const { contentTokens, outputTokens, contentNs } = timeline;
  return contentTokens?.[at] ?? (outputTokens ? outputTokens / contentNs.length : otherwise);
}

function goodput(
  succeeded: readonly RequestTimeline[],
  requests: number,
  windowSeconds: number,
  { objectives, from = 'sent' }: MeasureOptions,
) {
  if (objectives === undefined) return null;
  const good = succeeded.filter((timeline) => {
    const numbers = requestMetrics(timeline, from);
    if (numbers === undefined) return false;
    const kept = (value: number | undefined, limit: number | undefined) =>
      limit === undefined || value === undefined || value <= limit;
    return (
      kept(numbers.ttftMs, objectives.ttftMs) &&
      kept(numbers.tpotMs, objectives.tpotMs) &&
      kept(numbers.e2elMs, objectives.e2elMs)
    );
  }).length;
  return {
    requestsPerSecond: windowSeconds > 0 ? good / windowSeconds : 0,
    share: requests > 0 ? good / requests : 0,
  };
}

function countFailures(measured: readonly RequestTimeline[]): Partial<Record<FailureCode, number>> {
  const counts: Partial<Record<FailureCode, number>> = {};
  for (const { failure } of measured) {
    if (failure !== undefined) counts[failure.code] = (counts[failure.code] ?? 0) + 1;
  }
  return counts;
}

function largestCached(measured: readonly RequestTimeline[]): number | null {
  const reported = measured.flatMap(({ cachedTokens }) => cachedTokens ?? []);
  return reported.length > 0 ? Math.max(...reported) : null;
}

function total(timelines: readonly RequestTimeline[], field: 'promptTokens' | 'outputTokens') {
  return timelines.reduce((sum, timeline) => sum + (timeline[field] ?? 0), 0);
}

function selfCost(result: DriveResult) {
  const { timelines, clientCpuNs } = result;
  const lastNs = timelines.reduce((last, { closedNs }) => Math.max(last, closedNs ?? 0), 0);
  const firstNs = timelines.reduce((first, { sentNs }) => Math.min(first, sentNs), lastNs);
  const events = timelines.reduce((sum, { contentNs }) => sum + contentNs.length, 0);
  return {
    clientCpuShareOfCore: lastNs > firstNs ? clientCpuNs / (lastNs - firstNs) : 0,
    clientCpuMicrosecondsPerToken: events > 0 ? clientCpuNs / 1000 / events : null,
    eventLoopDelayP99Ms: result.eventLoopDelayNs.p99 / 1e6,
  };
}
