import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calibrate } from './calibrate.ts';

test('a calibration through the real client and an emitter of its own process is complete', async () => {
  const steps: string[] = [];
  const calibration = await calibrate({
    concurrencies: [1, 2],
    ttftMs: 10,
    itlMs: 3,
    outputTokens: 20,
    requestsPerSlot: 2,
    signal: new AbortController().signal,
    onProgress: ({ what }) => void steps.push(what),
  });
  assert.deepEqual(steps, ['stamps at c1', 'stamps at c2', 'CPU per token', 'capacity']);
  for (const cell of calibration.cells) {
    assert.equal(cell.failed, 0);
    assert.equal(cell.events, cell.requests * 20);
    assert.ok((cell.stampLagMs?.min ?? -1) > 0, 'a token was seen before it was written');
    assert.ok((cell.ttftErrorMs?.min ?? -1) > 0);
  }
  assert.ok(calibration.capacity.tokensPerSecond > 0);
  assert.ok(calibration.parser.decodingNsPerEvent > calibration.parser.framingNsPerEvent);
});
