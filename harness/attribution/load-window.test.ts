import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestTimeline } from '../client/timeline.ts';
import { burstStarts, clip, streamPace, tokensIn, tpotOf } from './load-window.ts';

const MS = 1e6;
function timeline(contentMs: number[], contentTokens?: number[]): RequestTimeline {
  return {
    index: 0,
    slot: 0,
    phase: 'measured',
    intendedNs: 0,
    sentNs: 0,
    contentNs: contentMs.map((ms) => ms * MS),
    ...(contentTokens ? { contentTokens } : {}),
    text: '',
    bytesReceived: 0,
    reconnects: 0,
  };
}
const every = (start: number, gap: number, n: number) =>
  Array.from({ length: n }, (_, i) => start + i * gap);

test('only events inside the window count, and a request with few of them says nothing', () => {
  const clipped = clip(
    [timeline(every(0, 10, 100)), timeline(every(480, 10, 5))],
    1_000 * MS,
    1_100 * MS,
    1_505 * MS,
  );
  assert.equal(clipped.length, 1);
  assert.equal(clipped[0]?.outputTokens, 41);
  const tpot = tpotOf('free', clipped);
  assert.equal(tpot.mean, 10);
});

test('TPOT counts tokens, not events, where the stream says how many an event holds', () => {
  const clipped = clip(
    [
      timeline(
        every(0, 20, 10),
        Array.from({ length: 10 }, () => 2),
      ),
    ],
    0,
    0,
    1e12,
  );
  assert.equal(tpotOf('free', clipped).mean, 10);
  assert.equal(
    tokensIn(
      [
        timeline(
          every(0, 20, 10),
          Array.from({ length: 10 }, () => 2),
        ),
      ],
      0,
      0,
      50 * MS,
    ),
    6,
  );
});

test('steps are counted from bursts of events of different requests', () => {
  const requests = [0, 0.3, 0.6].map((offset) => timeline(every(offset, 40, 50)));
  assert.equal(burstStarts(requests).length, 50);
});

test('a mean above the median with its stalls tells tokens that wait for the prefill of others', () => {
  const stream = [...every(0, 50, 20), ...every(2_000, 50, 20)];
  const pace = streamPace([timeline(stream)]);
  assert.equal(pace.medianItlMs, 50);
  assert.ok(pace.meanItlMs > 70);
  assert.ok(Math.abs(pace.stallShare - 1_000 / 2_950) < 1e-9);
});
