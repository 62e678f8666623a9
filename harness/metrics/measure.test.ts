import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestTimeline } from '../client/timeline.ts';
import type { DriveResult } from '../load/drive.ts';
import { measureCell } from './measure.ts';
import { requestMetrics } from './request-metrics.ts';

const MS = 1e6;

/** A request sent at `sentMs` with content events at these ms after it, one token each. */
function request(
  sentMs: number,
  contentMs: readonly number[],
  changes: Partial<RequestTimeline> = {},
): RequestTimeline {
  const last = contentMs.at(-1) ?? 0;
  return {
    index: 0,
    slot: 0,
    phase: 'measured',
    intendedNs: sentMs * MS,
    sentNs: sentMs * MS,
    firstEventNs: (sentMs + (contentMs[0] ?? 0)) * MS,
    contentNs: contentMs.map((ms) => (sentMs + ms) * MS),
    doneNs: (sentMs + last + 1) * MS,
    closedNs: (sentMs + last + 1) * MS,
    promptTokens: 100,
    outputTokens: contentMs.length,
    finishReason: 'length',
    text: '',
    bytesReceived: 0,
    reconnects: 0,
    ...changes,
  };
}

function run(
  timelines: RequestTimeline[],
  startMs: number,
  endMs: number,
  changes: Partial<DriveResult> = {},
): DriveResult {
  return {
    originNs: 0n,
    loop: 'closed',
    timelines,
    concurrency: 1,
    windowStartNs: startMs * MS,
    windowEndNs: endMs * MS,
    peakInFlight: 1,
    shareAtConcurrency: 1,
    connectionsOpened: 1,
    reconnects: 0,
    eventLoopDelayNs: { p50: 0, p99: 0, max: 0 },
    clientCpuNs: 0,
    interrupted: false,
    ...changes,
  };
}

test('TTFT, TPOT, ITL and E2EL of a plain stream', () => {
  const cell = measureCell(run([request(0, [50, 60, 70])], 0, 71));
  assert.equal(cell.ttftMs?.mean, 50);
  assert.equal(cell.tpotMs?.mean, 10);
  assert.equal(cell.itlMs?.mean, 10);
  assert.equal(cell.itlMs?.n, 2);
  assert.equal(cell.e2elMs?.mean, 70);
  assert.equal(cell.streamCloseMs?.mean, 71);
  assert.equal(cell.tokensPerEvent, 1);
});

test('the end of the stream is in none of TPOT, ITL and E2EL', () => {
  const plain = request(0, [50, 60, 70]);
  const late = { ...plain, doneNs: 500 * MS, closedNs: 500 * MS };
  assert.deepEqual(
    { ...requestMetrics(late), streamCloseMs: 0 },
    { ...requestMetrics(plain), streamCloseMs: 0 },
  );
});

test('TPOT does not count the tokens of the first event', () => {
  const timeline = request(0, [50, 60], { outputTokens: 7, contentTokens: [5, 2] });
  assert.equal(requestMetrics(timeline)?.tpotMs, 5);
  const cell = measureCell(run([timeline], 0, 61));
  assert.equal(cell.itlMs?.mean, 10);
  assert.equal(cell.itlPerTokenMs?.mean, 5);
  assert.equal(cell.tokensPerEvent, 3.5);
});

test('an answer in one event has no TPOT and no ITL', () => {
  const cell = measureCell(run([request(0, [50], { outputTokens: 3 })], 0, 51));
  assert.equal(cell.tpotMs, null);
  assert.equal(cell.itlMs, null);
  assert.equal(cell.ttftMs?.mean, 50);
});

test('ITL per token is not given when one stream does not say', () => {
  const told = request(0, [50, 60], { contentTokens: [1, 1] });
  assert.notEqual(measureCell(run([told], 0, 61)).itlPerTokenMs, null);
  assert.equal(measureCell(run([told, request(0, [50, 60])], 0, 61)).itlPerTokenMs, null);
});

test('failures are counted by code and are in no latency', () => {
  const failure = { code: 'truncated', message: '' } as const;
  const cell = measureCell(run([request(0, [50, 60]), request(0, [1, 2], { failure })], 0, 61));
  assert.deepEqual([cell.requests, cell.succeeded, cell.failed], [2, 1, 1]);
  assert.deepEqual(cell.failuresByCode, { truncated: 1 });
  assert.equal(cell.ttftMs?.n, 1);
});

test('throughput counts the tokens whose stamps lie in the window, whoever they belong to', () => {
  const warm = request(-50, [40, 60, 80], { phase: 'warm-up' }); // stamps -10, 10, 30
  const measured = request(0, [50, 100]);
  const drain = request(101, [0, 50], {
    phase: 'drain',
    failure: { code: 'aborted', message: '' },
    closedNs: 120 * MS,
  });
  delete drain.outputTokens;
  const cell = measureCell(run([warm, measured, drain], 0, 120));
  // 10 and 30 of the warm-up, 50 and 100 of the measured, 101 of the drain; not -10 and not 151.
  assert.equal(cell.windowOutputTokens, 5);
  assert.equal(cell.outputTokensPerSecond, 5 / 0.12);
  // The warm-up request ended in the window too, the drain one did not end well.
  assert.equal(cell.requestsPerSecond, 2 / 0.12);
  assert.equal(cell.totalTokensPerSecond, (5 + 200) / 0.12);
});

test('tokens of a failed request are not throughput', () => {
  const failure = { code: 'stream_error', message: '' } as const;
  const cell = measureCell(run([request(0, [50, 60], { failure })], 0, 61));
  assert.equal(cell.outputTokensPerSecond, 0);
  assert.equal(cell.requestsPerSecond, 0);
});

test('events of several tokens are binned as tokens', () => {
  const cell = measureCell(run([request(0, [50, 100], { outputTokens: 10 })], 60, 110));
  assert.equal(cell.windowOutputTokens, 5);
});

test('with open loop, latency can be counted from the schedule', () => {
  const late = request(30, [50, 60], { intendedNs: 0 });
  const result = run([late], 0, 91, { loop: 'open' });
  assert.equal(measureCell(result).ttftMs?.mean, 50);
  assert.equal(measureCell(result, { from: 'intended' }).ttftMs?.mean, 80);
  assert.equal(measureCell(result).queueMs?.mean, 30);
});

test('goodput keeps failures in its denominator', () => {
  const failure = { code: 'timeout', message: '' } as const;
  const timelines = [
    request(0, [50, 60]),
    request(0, [90, 100]),
    request(0, [50, 90]),
    request(0, [50, 60], { failure }),
  ];
  const objectives = { ttftMs: 60, tpotMs: 20 };
  const cell = measureCell(run(timelines, 0, 1000), { objectives });
  assert.deepEqual(cell.goodput, { requestsPerSecond: 1, share: 0.25 });
  assert.equal(measureCell(run(timelines, 0, 1000)).goodput, null);
});

test('cached tokens are the largest that any request reported, and null when none did', () => {
  const cell = (values: (number | undefined)[]) =>
    measureCell(
      run(
        values.map((cachedTokens) =>
          request(0, [1, 2], cachedTokens === undefined ? {} : { cachedTokens }),
        ),
        0,
        3,
      ),
    ).cachedTokensMax;
  assert.equal(cell([0, 32, 16]), 32);
  assert.equal(cell([0]), 0);
  assert.equal(cell([undefined]), null);
});

test('a cell that measured nothing has nulls and zeros, and can be written as JSON', () => {
  const cell = measureCell(run([], 0, 0, { interrupted: true }));
  assert.equal(cell.ttftMs, null);
  assert.equal(cell.outputTokensPerSecond, 0);
  assert.deepEqual(JSON.parse(JSON.stringify(cell)), cell);
});

test('numbers that cannot be true are named', () => {
  const codes = (result: DriveResult) => measureCell(result).implausible.map(({ code }) => code);
  const plain = () => Array.from({ length: 12 }, (_, index) => 50 + 10 * index);
  assert.deepEqual(codes(run([request(0, plain())], 0, 161)), []);
  const burst = Array.from({ length: 12 }, (_, index) => 50 + index * 0.001);
  assert.deepEqual(codes(run([request(0, burst)], 0, 51)), ['burst_delivery']);
  assert.ok(codes(run([request(0, plain())], 0, 1)).length === 0);
  const many = request(0, plain(), { outputTokens: 3 });
  assert.ok(codes(run([many], 0, 161)).includes('more_events_than_tokens'));
  assert.deepEqual(codes(run([request(0, plain())], 0, 161, { shareAtConcurrency: 0.5 })), [
    'concurrency_not_held',
  ]);
  const idle = { shareAtConcurrency: 0.5, loop: 'open' } as const;
  assert.deepEqual(codes(run([request(0, plain())], 0, 161, idle)), []);
  const slow = { eventLoopDelayNs: { p50: 0, p99: 5 * MS, max: 0 } };
  assert.deepEqual(codes(run([request(0, plain())], 0, 161, slow)), ['client_saturated']);
  const busy = { clientCpuNs: 150 * MS };
  assert.deepEqual(codes(run([request(0, plain())], 0, 161, busy)), ['client_saturated']);
  const impossible = run([request(0, plain())], 49, 60);
  assert.deepEqual(codes({ ...impossible, peakInFlight: 1 }), ['faster_than_possible']);
});
