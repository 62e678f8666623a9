import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestTimeline } from '../client/timeline.ts';
import type { DriveResult } from '../load/drive.ts';
import { compare } from './calibrate.ts';

const ORIGIN_NS = 5_000_000_000;
const STATS = { requests: 1, events: 3, latenessNs: { p50: 0, p99: 0, max: 0 } };

/** A request received 0.2 ms after it was sent, tokens written at 50, 60 and 70 ms, each seen `lagMs` later. */
function timeline(lagMs: readonly number[]): RequestTimeline {
  const written = [50, 60, 70];
  const words = written.map((ms) => String(ORIGIN_NS + ms * 1e6));
  return {
    index: 0,
    slot: 0,
    phase: 'measured',
    intendedNs: 0,
    sentNs: 0,
    contentNs: written.map((ms, index) => (ms + (lagMs[index] ?? 0)) * 1e6),
    closedNs: 80e6,
    doneNs: 80e6,
    promptTokens: 1,
    outputTokens: 3,
    text: `${ORIGIN_NS + 200_000}/${words.join(' ')} `,
    bytesReceived: 0,
    reconnects: 0,
  };
}

function result(timelines: RequestTimeline[]): DriveResult {
  return {
    originNs: BigInt(ORIGIN_NS),
    loop: 'closed',
    timelines,
    concurrency: 1,
    windowStartNs: 0,
    windowEndNs: 80e6,
    peakInFlight: 1,
    shareAtConcurrency: 1,
    connectionsOpened: 1,
    reconnects: 0,
    eventLoopDelayNs: { p50: 0, p99: 0, max: 0 },
    clientCpuNs: 0,
    interrupted: false,
  };
}

const near = (value: number, truth: number) =>
  assert.ok(Math.abs(value - truth) < 1e-6, `${value} is not ${truth}`);

test('a client that sees everything at once errs only by the way of the request', () => {
  const cell = compare(result([timeline([0, 0, 0])]), STATS);
  near(cell.ttftMeanAbsoluteErrorMs, 0.2);
  near(cell.itlMeanAbsoluteErrorMs, 0);
  near(cell.stampLagMs?.max ?? -1, 0);
});

test('a constant lag is in TTFT and in no gap', () => {
  const cell = compare(result([timeline([3, 3, 3])]), STATS);
  near(cell.ttftMeanAbsoluteErrorMs, 3.2);
  near(cell.e2elMeanAbsoluteErrorMs, 3.2);
  near(cell.itlMeanAbsoluteErrorMs, 0);
  near(cell.tpotMeanAbsoluteErrorMs, 0);
  near(cell.stampLagMs?.mean ?? -1, 3);
});

test('one late stamp is in the gaps on both sides of it, and not in TPOT', () => {
  const cell = compare(result([timeline([0, 1, 0])]), STATS);
  near(cell.itlMeanAbsoluteErrorMs, 1);
  near(cell.itlErrorMs?.mean ?? -1, 0);
  near(cell.tpotMeanAbsoluteErrorMs, 0);
});

test('an answer that is not the emitter’s is no calibration', () => {
  const stranger = { ...timeline([0, 0, 0]), text: 'hello there you' };
  assert.throws(() => compare(result([stranger]), STATS), /does not carry/);
});
