import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CellMetrics } from '../metrics/measure.ts';
import { plainVocabulary } from './cell.ts';
import { sweepProgress } from './estimate.ts';
import { type CellFacts, judgeCell } from './judge-cell.ts';

const GOOD: CellMetrics = {
  loop: 'closed',
  concurrency: 2,
  requests: 8,
  succeeded: 8,
  failed: 0,
  failuresByCode: {},
  ttftMs: null,
  ttfrMs: null,
  tpotMs: null,
  itlMs: null,
  itlPerTokenMs: null,
  e2elMs: null,
  streamCloseMs: null,
  queueMs: null,
  windowSeconds: 10,
  windowOutputTokens: 100,
  outputTokensPerSecond: 10,
  requestsPerSecond: 1,
  totalTokensPerSecond: 20,
  goodput: null,
  promptTokens: 800,
  outputTokens: 100,
  cachedTokensMax: 0,
  achievedConcurrency: 2,
  shareAtConcurrency: 1,
  peakInFlight: 2,
  tokensPerEvent: 1,
  connectionsOpened: 2,
  reconnects: 0,
  clientCpuShareOfCore: 0.1,
  clientCpuMicrosecondsPerToken: 20,
  eventLoopDelayP99Ms: 0.1,
  interrupted: false,
  implausible: [],
};

function judge(metrics: Partial<CellMetrics>, facts: Partial<CellFacts> = {}) {
  const { voids, warnings } = judgeCell({
    metrics: { ...GOOD, ...metrics },
    failureMessages: {},
    foreignCpuShare: 0,
    foreignCpuLimit: 0.25,
    ...facts,
  });
  return { voids: voids.map(({ code }) => code), warnings: warnings.map(({ code }) => code) };
}

test('a clean cell may be quoted and has nothing to warn of', () => {
  assert.deepEqual(judge({}), { voids: [], warnings: [] });
});

test('each kind of failure has its void code, with the count and the first message', () => {
  const codes = (failuresByCode: CellMetrics['failuresByCode']) => judge({ failuresByCode }).voids;
  assert.deepEqual(codes({ timeout: 1 }), ['requests_failed']);
  assert.deepEqual(codes({ output_length: 1, wrong_finish_reason: 2 }), ['length_mismatch']);
  assert.deepEqual(codes({ cached_tokens: 8 }), ['cache_mismatch']);
  assert.deepEqual(codes({ connect: 1, prompt_length: 1 }), ['requests_failed', 'length_mismatch']);
  const { voids } = judgeCell({
    metrics: { ...GOOD, failuresByCode: { timeout: 2, status: 1 } },
    failureMessages: { status: 'HTTP status 503.' },
    foreignCpuShare: null,
    foreignCpuLimit: 0.25,
  });
  assert.equal(voids[0]?.message, '3 of 8 requests: timeout, status. HTTP status 503.');
});

test('others on the machine warn above 5 % and void above the limit', () => {
  assert.deepEqual(judge({}, { foreignCpuShare: 0.04 }), { voids: [], warnings: [] });
  assert.deepEqual(judge({}, { foreignCpuShare: 0.2 }), { voids: [], warnings: ['not_quiet'] });
  assert.deepEqual(judge({}, { foreignCpuShare: 0.3 }), { voids: ['contended'], warnings: [] });
  assert.deepEqual(judge({}, { foreignCpuShare: 0.3, foreignCpuLimit: 1 }).voids, []);
  assert.deepEqual(judge({}, { foreignCpuShare: null }), { voids: [], warnings: [] });
});

test('numbers that cannot be true are void; numbers that need care warn', () => {
  const implausible = (code: CellMetrics['implausible'][number]['code']) =>
    judge({ implausible: [{ code, message: '' }] });
  assert.deepEqual(implausible('faster_than_possible').voids, ['value_unusable']);
  assert.deepEqual(implausible('concurrency_not_held').voids, ['concurrency_not_reached']);
  assert.deepEqual(implausible('client_saturated').voids, ['client_saturated']);
  assert.deepEqual(implausible('burst_delivery'), { voids: [], warnings: ['burst_delivery'] });
  assert.deepEqual(judge({ tokensPerEvent: 2 }).warnings, ['several_tokens_an_event']);
  assert.deepEqual(judge({ succeeded: 3 }).warnings, ['few_requests']);
});

test('a client that reads late voids a cell only where a quoted figure feels it', () => {
  const of = (value: number) => ({
    ...{ n: 8, mean: value, min: value, p50: value, p90: null, p95: null, p99: null, max: value },
  });
  const late = (change: Partial<CellMetrics>) =>
    judge({
      implausible: [{ code: 'client_saturated', message: '' }],
      eventLoopDelayP99Ms: 4,
      outputTokens: 8 * 101,
      ttftMs: of(100),
      tpotMs: of(3),
      ...change,
    });
  assert.deepEqual(late({}), { voids: [], warnings: ['client_late'] });
  assert.deepEqual(late({ ttftMs: of(30) }).voids, ['client_saturated']);
  assert.deepEqual(late({ outputTokens: 8 * 2 }).voids, ['client_saturated']);
  assert.deepEqual(late({ clientCpuShareOfCore: 0.8 }).voids, ['client_saturated']);
});

test('an interrupted cell is not blamed for what the interruption did', () => {
  const { voids } = judge({
    interrupted: true,
    failuresByCode: { aborted: 2 },
    implausible: [{ code: 'concurrency_not_held', message: '' }],
  });
  assert.deepEqual(voids, []);
  assert.deepEqual(judge({ interrupted: true, failuresByCode: { status: 1 } }).voids, [
    'requests_failed',
  ]);
});

test('prompts keep away from where special tokens lie, unless the vocabulary is tiny', () => {
  assert.deepEqual(plainVocabulary(512), { size: 512, excludedIds: [] });
  const { size, excludedIds } = plainVocabulary(151_936);
  assert.ok(size < 151_643, 'the special tokens of Qwen begin there');
  assert.equal(excludedIds.length, 300);
  assert.ok(plainVocabulary(128_256).size < 128_000, 'those of Llama 3 there');
  assert.ok(plainVocabulary(null).size <= 32_000);
});

test('the estimate counts later cells by their requests', () => {
  const plans = [
    { concurrency: 1, requests: 9, warmUpRequests: 1 },
    { concurrency: 2, requests: 18, warmUpRequests: 2 },
  ] as const;
  const progress = { finished: 5, total: 10, failed: 0, elapsedMs: 5000, remainingMs: 5000 };
  const { done, total, remainingSeconds } = sweepProgress(plans, plans[0], progress);
  assert.deepEqual({ done, total, remainingSeconds }, { done: 5, total: 30, remainingSeconds: 25 });
  const { remainingMs: _, ...unknown } = progress;
  assert.equal(sweepProgress(plans, plans[1], unknown).remainingSeconds, undefined);
});
