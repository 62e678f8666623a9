import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judge } from './judge.ts';
import { newTimeline } from './stream-trial.ts';
import type { RequestTimeline } from './timeline.ts';

const expectation = {
  promptTokens: 4,
  outputTokens: 3,
  exactOutput: true,
  requireColdCache: true,
};

function good(changes: Partial<RequestTimeline> = {}): RequestTimeline {
  return {
    ...newTimeline(),
    contentNs: [1, 2, 3],
    doneNs: 4,
    finishReason: 'length',
    promptTokens: 4,
    outputTokens: 3,
    ...changes,
  };
}

function without(field: keyof RequestTimeline): RequestTimeline {
  const timeline = good();
  delete timeline[field];
  return timeline;
}

test('a request that keeps every rule is a success', () => {
  assert.equal(judge(good(), expectation), undefined);
  assert.equal(judge(good({ cachedTokens: 0, tokenIds: [1, 2, 3] }), expectation), undefined);
});

const broken: [string, RequestTimeline][] = [
  ['truncated', without('doneNs')],
  ['no_content', good({ contentNs: [] })],
  ['no_finish_reason', without('finishReason')],
  ['wrong_finish_reason', good({ finishReason: 'stop' })],
  ['no_usage', without('outputTokens')],
  ['no_usage', without('promptTokens')],
  ['prompt_length', good({ promptTokens: 5 })],
  ['output_length', good({ outputTokens: 2 })],
  ['token_count', good({ tokenIds: [1, 2] })],
  ['token_count', good({ contentTokens: [1, 1, 2] })],
  ['cached_tokens', good({ cachedTokens: 16 })],
];
for (const [code, timeline] of broken) {
  test(`${code} is found, and its message has the value`, () => {
    const failure = judge(timeline, expectation);
    assert.equal(failure?.code, code);
    assert.ok((failure?.message.length ?? 0) > 20);
  });
}

test('what the transport found comes first', () => {
  const failure = { code: 'timeout', message: 'It took too long.' } as const;
  assert.equal(judge(good({ failure, contentNs: [] }), expectation)?.code, 'timeout');
});

test('where no exact length is asked for, a natural stop is a success and a longer answer is not', () => {
  const free = { ...expectation, exactOutput: false };
  assert.equal(judge(good({ finishReason: 'stop', outputTokens: 2 }), free), undefined);
  assert.equal(judge(good({ outputTokens: 4 }), free)?.code, 'output_length');
  assert.equal(judge(good({ finishReason: 'abort' }), free)?.code, 'wrong_finish_reason');
});

test('a cached prefix is allowed where the cache policy is on', () => {
  const warm = { ...expectation, requireColdCache: false };
  assert.equal(judge(good({ cachedTokens: 16 }), warm), undefined);
});
