// The numbers of a sweep once more, from the per-request data that the record keeps, so that anyone can see that they
// follow from it. Pure.
import type { RequestTimeline } from '../client/timeline.ts';
import type { DriveResult } from '../load/drive.ts';
import { inFlight } from '../load/in-flight.ts';
import { type CellMetrics, measureCell } from '../metrics/measure.ts';
import { canonicalJson } from '../record/canonical-json.ts';
import type { SweepRecord } from '../record/record.ts';
import type { RequestRow } from '../record/record-parts.ts';

/** What the client cost itself is not in the requests; it cannot be computed again. */
const NOT_IN_REQUESTS: readonly (keyof CellMetrics)[] = [
  'connectionsOpened',
  'clientCpuShareOfCore',
  'clientCpuMicrosecondsPerToken',
  'eventLoopDelayP99Ms',
  'implausible',
];

/** Fields whose stored value does not follow from the requests, as "c4 ttftMs"; empty when all do. */
export function unprovenFields(record: SweepRecord, rows: readonly RequestRow[]): string[] {
  return record.cells.flatMap(({ concurrency, metrics, interrupted }) => {
    if (metrics === null) return [];
    const timelines = rows.filter((row) => row.concurrency === concurrency).map(timelineOf);
    const again = measureCell(resultOf(concurrency, timelines, interrupted));
    const fields = Object.keys(metrics) as (keyof CellMetrics)[];
    return fields
      .filter((field) => !NOT_IN_REQUESTS.includes(field))
      .filter((field) => canonicalJson(again[field]) !== canonicalJson(metrics[field]))
      .map((field) => `c${concurrency} ${field}`);
  });
}

function timelineOf(row: RequestRow): RequestTimeline {
  let stampNs = 0;
  const contentNs = row.contentNs.map((step) => {
    stampNs += step;
    return stampNs;
  });
  return {
    index: row.index,
    slot: row.slot,
    phase: row.phase,
    intendedNs: row.intendedNs,
    sentNs: row.sentNs,
    contentNs,
    text: '',
    bytesReceived: 0,
    reconnects: row.reconnects,
    ...present('headersNs', row.headersNs),
    ...present('firstEventNs', row.firstEventNs),
    ...present('contentTokens', row.contentTokens),
    ...present('doneNs', row.doneNs),
    ...present('closedNs', row.closedNs),
    ...present('promptTokens', row.promptTokens),
    ...present('outputTokens', row.outputTokens),
    ...present('cachedTokens', row.cachedTokens),
    ...present('finishReason', row.finishReason),
    ...present('failure', row.failure),
  };
}

function present<Key extends string, Value>(key: Key, value: Value | null) {
  return (value === null ? {} : { [key]: value }) as Partial<Record<Key, Value>>;
}

function resultOf(
  concurrency: number,
  timelines: RequestTimeline[],
  interrupted: boolean,
): DriveResult {
  const measured = timelines.filter(({ phase }) => phase === 'measured');
  const windowEndNs = measured.reduce((last, { closedNs }) => Math.max(last, closedNs ?? 0), 0);
  const windowStartNs = measured.reduce(
    (first, { sentNs }) => Math.min(first, sentNs),
    windowEndNs,
  );
  const occupancy = inFlight(timelines, windowStartNs, windowEndNs);
  return {
    originNs: 0n,
    loop: 'closed',
    timelines,
    concurrency,
    windowStartNs,
    windowEndNs,
    peakInFlight: occupancy.peak,
    shareAtConcurrency: occupancy.shareAt(concurrency),
    connectionsOpened: 0,
    reconnects: timelines.reduce((sum, { reconnects }) => sum + reconnects, 0),
    eventLoopDelayNs: { p50: 0, p99: 0, max: 0 },
    clientCpuNs: 0,
    interrupted,
  };
}
