// How many requests were in flight, from their timelines. Pure.
import type { RequestTimeline } from '../client/timeline.ts';

export interface InFlight {
  peak: number;
  /** Time-weighted mean. */
  mean: number;
  /** Share of the window's time with exactly that many in flight, 0 to 1. */
  shareAt(count: number): number;
}

/** Occupancy between the two stamps; a request is in flight from being sent until its response has ended. */
export function inFlight(
  timelines: readonly RequestTimeline[],
  startNs: number,
  endNs: number,
): InFlight {
  const changes: [number, number][] = [];
  for (const { sentNs, closedNs } of timelines) {
    const from = Math.max(sentNs, startNs);
    const to = Math.min(closedNs ?? endNs, endNs);
    if (from < to) changes.push([from, 1], [to, -1]);
  }
  // An end and a beginning at the same stamp do not overlap.
  changes.sort((x, y) => x[0] - y[0] || x[1] - y[1]);
  const timeAt = new Map<number, number>();
  let count = 0;
  let peak = 0;
  let since = startNs;
  let area = 0;
  for (const [at, change] of changes) {
    timeAt.set(count, (timeAt.get(count) ?? 0) + at - since);
    area += count * (at - since);
    since = at;
    count += change;
    peak = Math.max(peak, count);
  }
  timeAt.set(count, (timeAt.get(count) ?? 0) + endNs - since);
  const span = endNs - startNs;
  return {
    peak,
    mean: span > 0 ? area / span : 0,
    shareAt: (wanted) => (span > 0 ? (timeAt.get(wanted) ?? 0) / span : 0),
  };
}
