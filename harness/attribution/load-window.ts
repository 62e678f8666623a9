// Cuts client timelines to a window and reads from them what a phase needs: TPOT of the tokens inside it, and how many
// steps emitted tokens where the server does not count them itself. Pure.
import type { RequestTimeline } from '../client/timeline.ts';
import { quantile } from './bootstrap.ts';
import type { PhaseMean } from './gates.ts';
import { meanInterval } from './intervals.ts';

/** Fewer tokens than this in a window say little about a request's pace. */
const MIN_TOKENS = 8;

const tokensOf = (timeline: RequestTimeline, i: number) => timeline.contentTokens?.[i] ?? 1;

/** The part of each timeline whose content events lie in [fromNs, toNs] (monotonic); short parts are left out. */
export function clip(
  timelines: readonly RequestTimeline[],
  originNs: number,
  fromNs: number,
  toNs: number,
): RequestTimeline[] {
  return timelines.flatMap((timeline) => {
    const kept = timeline.contentNs.flatMap((ns, i) =>
      ns + originNs >= fromNs && ns + originNs <= toNs ? [i] : [],
    );
    const outputTokens = kept.reduce((sum, i) => sum + tokensOf(timeline, i), 0);
    if (outputTokens < MIN_TOKENS || kept.length < 2) return [];
    const contentNs = kept.map((i) => timeline.contentNs[i] ?? 0);
    const contentTokens = kept.map((i) => tokensOf(timeline, i));
    return [{ ...timeline, contentNs, contentTokens, outputTokens }];
  });
}

/** Mean TPOT in ms over the (clipped) requests, each counted once, with its standard error. */
export function tpotOf(name: string, clipped: readonly RequestTimeline[]): PhaseMean {
  const values = clipped.flatMap((timeline) => {
    const first = timeline.contentNs[0];
    const last = timeline.contentNs.at(-1);
    const tokens = (timeline.outputTokens ?? 0) - tokensOf(timeline, 0);
    return first === undefined || last === undefined || tokens < 1
      ? []
      : [(last - first) / tokens / 1e6];
  });
  const { mean, se } = meanInterval(values);
  return { name, mean, se };
}

/**
 * When steps that emitted tokens were seen, from the streams alone (ns, ascending, as the timelines count): events of
 * different requests that came together are one step. A burst ends where no event follows within a quarter of the
 * median time between two events of one request.
 */
export function burstStarts(timelines: readonly RequestTimeline[]): number[] {
  const threshold = quantile(itlsNs(timelines), 0.5) / 4;
  const all = timelines.flatMap((timeline) => timeline.contentNs).sort((a, b) => a - b);
  const starts: number[] = [];
  let previous = -Infinity;
  for (const ns of all) {
    if (ns - previous > threshold) starts.push(ns);
    previous = ns;
  }
  return starts;
}

const itlsNs = (timelines: readonly RequestTimeline[]) =>
  timelines.flatMap((timeline) =>
    timeline.contentNs.slice(1).map((ns, i) => ns - (timeline.contentNs[i] ?? 0)),
  );

export interface StreamPace {
  /** Median time between two content events of one request, ms. */
  medianItlMs: number;
  /** Mean of the same: above the median where some steps are long, such as those that hold the prefill of others. */
  meanItlMs: number;
  /** Share of the time that lies in gaps of more than twice the median: stalls. */
  stallShare: number;
}

/** The pace of the streams as a client sees it. */
export function streamPace(timelines: readonly RequestTimeline[]): StreamPace {
  const itls = itlsNs(timelines);
  const total = itls.reduce((a, b) => a + b, 0);
  const median = quantile(itls, 0.5);
  const stalls = itls.filter((ns) => ns > 2 * median).reduce((sum, ns) => sum + ns - median, 0);
  return {
    medianItlMs: itls.length > 0 ? median / 1e6 : 0,
    meanItlMs: itls.length > 0 ? total / itls.length / 1e6 : 0,
    stallShare: total > 0 ? stalls / total : 0,
  };
}

/** Output tokens whose content events lie in the window. */
export function tokensIn(
  timelines: readonly RequestTimeline[],
  originNs: number,
  fromNs: number,
  toNs: number,
): number {
  let tokens = 0;
  for (const timeline of timelines)
    timeline.contentNs.forEach((ns, i) => {
      if (ns + originNs >= fromNs && ns + originNs <= toNs) tokens += tokensOf(timeline, i);
    });
  return tokens;
}
