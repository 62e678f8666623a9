import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestTimeline } from '../client/timeline.ts';
import { inFlight } from './in-flight.ts';

function request(sentNs: number, closedNs: number): RequestTimeline {
  return {
    index: 0,
    slot: 0,
    phase: 'measured',
    intendedNs: sentNs,
    sentNs,
    closedNs,
    contentNs: [],
    text: '',
    bytesReceived: 0,
    reconnects: 0,
  };
}

test('occupancy is weighted by time and cut to the window', () => {
  const seen = inFlight([request(0, 60), request(20, 200), request(90, 100)], 10, 110);
  assert.equal(seen.peak, 2);
  // One from 10 to 20, two to 60, one to 90, two to 100, one to 110.
  assert.equal(seen.shareAt(1), 0.5);
  assert.equal(seen.shareAt(2), 0.5);
  assert.equal(seen.mean, 1.5);
});

test('a slot that goes from one request to the next at one stamp never counts two', () => {
  const seen = inFlight([request(0, 10), request(10, 20)], 0, 20);
  assert.equal(seen.peak, 1);
  assert.equal(seen.shareAt(1), 1);
});

test('an empty window has no occupancy', () => {
  const seen = inFlight([], 5, 5);
  assert.deepEqual([seen.peak, seen.mean, seen.shareAt(0), seen.shareAt(1)], [0, 0, 0, 0]);
});

test('a request without an end is in flight to the end of the window', () => {
  const open = request(0, 0);
  delete open.closedNs;
  assert.equal(inFlight([open], 0, 100).shareAt(1), 1);
});
