// One request's numbers from its timeline. Pure; the formulas are those of definitions.ts.
import type { RequestTimeline } from '../client/timeline.ts';

export interface RequestMetrics {
  ttftMs: number;
  ttfrMs: number;
  /** Absent when all tokens came in one event: a rate needs two stamps. */
  tpotMs?: number;
  e2elMs: number;
  streamCloseMs: number;
  queueMs: number;
}

/** What latency is counted from: the socket, or (open loop) the schedule. */
export type LatencyStart = 'sent' | 'intended';

/** The numbers of a request that has content and usage; undefined for one that has not. */
export function requestMetrics(
  timeline: RequestTimeline,
  from: LatencyStart = 'sent',
): RequestMetrics | undefined {
  const { contentNs, contentTokens, outputTokens, closedNs } = timeline;
  const first = contentNs[0];
  const last = contentNs.at(-1);
  if (first === undefined || last === undefined || outputTokens === undefined) return undefined;
  const start = from === 'sent' ? timeline.sentNs : timeline.intendedNs;
  const after = outputTokens - (contentTokens?.[0] ?? 1);
  const rated = contentNs.length > 1 && after > 0;
  return {
    ttftMs: (first - start) / 1e6,
    ttfrMs: ((timeline.firstEventNs ?? first) - start) / 1e6,
    ...(rated ? { tpotMs: (last - first) / after / 1e6 } : {}),
    e2elMs: (last - start) / 1e6,
    streamCloseMs: ((closedNs ?? last) - start) / 1e6,
    queueMs: (timeline.sentNs - timeline.intendedNs) / 1e6,
  };
}

/** Appends the gaps between content events to `gapsMs`, and per token to `perTokenMs`; false when tokens are unknown. */
export function appendGaps(
  timeline: RequestTimeline,
  gapsMs: number[],
  perTokenMs: number[],
): boolean {
  const { contentNs, contentTokens } = timeline;
  for (let at = 1; at < contentNs.length; at += 1) {
    const gap = ((contentNs[at] ?? 0) - (contentNs[at - 1] ?? 0)) / 1e6;
    gapsMs.push(gap);
    const tokens = contentTokens?.[at];
    if (tokens !== undefined && tokens > 0) perTokenMs.push(gap / tokens);
  }
  return contentTokens !== undefined;
}
