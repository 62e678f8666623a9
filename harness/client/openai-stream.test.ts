import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Endpoint, OpenAiStream } from './openai-stream.ts';
import { delta, FINISH, newTimeline, text, USAGE } from './stream-trial.ts';

/** Feeds the messages; the stamp of each is its index plus one. */
function take(messages: readonly (object | string)[], endpoint: Endpoint = 'completions') {
  const timeline = newTimeline();
  const stream = new OpenAiStream(timeline, endpoint);
  for (const [index, message] of messages.entries()) {
    const data = typeof message === 'string' ? message : JSON.stringify(message);
    stream.event('', data, index + 1);
  }
  stream.finish();
  return timeline;
}

const usage = (completion: number, more: object = {}) => ({
  usage: { prompt_tokens: 4, completion_tokens: completion, ...more },
});

test('token ids are kept in order and give the tokens of each event', () => {
  const timeline = take([
    text('a', { token_ids: [7] }),
    text('bc', { token_ids: [8, 9] }),
    { ...FINISH, ...usage(3) },
    USAGE,
    '[DONE]',
  ]);
  assert.deepEqual(timeline.tokenIds, [7, 8, 9]);
  assert.deepEqual(timeline.contentTokens, [1, 2]);
});

test('a token without text belongs to the next event with text', () => {
  const timeline = take([
    text('', { token_ids: [7] }),
    text('é', { token_ids: [8] }),
    text('b', { token_ids: [9] }),
    USAGE,
    '[DONE]',
  ]);
  assert.deepEqual(timeline.contentNs, [2, 3]);
  assert.deepEqual(timeline.contentTokens, [2, 1]);
});

test('last tokens without text end the answer at their own stamp', () => {
  const timeline = take([text('a', { token_ids: [7] }), text('', { token_ids: [8] }), '[DONE]']);
  assert.deepEqual(timeline.contentNs, [1, 2]);
  assert.deepEqual(timeline.contentTokens, [1, 1]);
});

test('tokens of events are unknown as soon as one event does not say', () => {
  const timeline = take([text('a'), { ...text('b'), ...usage(2) }, USAGE, '[DONE]']);
  assert.equal(timeline.contentTokens, undefined);
  assert.equal(timeline.outputTokens, 3);
});

test('cached tokens are read from usage, and from the timings of llama-server', () => {
  const openAi = take([usage(3, { prompt_tokens_details: { cached_tokens: 16 } })]);
  assert.equal(openAi.cachedTokens, 16);
  assert.equal(take([{ timings: { cache_n: 5 } }]).cachedTokens, 5);
  assert.equal(take([usage(3, { prompt_tokens_details: null })]).cachedTokens, undefined);
});

test('numbers that are no counts are not believed', () => {
  const timeline = take([{ usage: { prompt_tokens: -1, completion_tokens: 2.5 } }]);
  assert.equal(timeline.promptTokens, undefined);
  assert.equal(timeline.outputTokens, undefined);
});

test('data that is no JSON object is a typed failure', () => {
  for (const bad of ['{"choices":[', 'hello', '[1]', 'null', '3']) {
    assert.equal(take([text('a'), bad]).failure?.code, 'invalid_sse', bad);
  }
});

test('every form of an error in the stream is one, and the first failure stays', () => {
  for (const bad of [{ error: 'x' }, { error: {} }, { object: 'error', message: 'x' }]) {
    assert.equal(take([bad, 'not json']).failure?.code, 'stream_error', JSON.stringify(bad));
  }
  assert.equal(take([{ ...text('a'), error: null }]).failure, undefined);
});

test('an event after [DONE] is left over', () => {
  assert.equal(take([text('a'), '[DONE]', text('b')]).failure?.code, 'leftover_bytes');
});

test('an answer in the form of the other endpoint does not count, and the failure names it', () => {
  const chat = take([text('a'), FINISH, USAGE, '[DONE]'], 'chat');
  assert.equal(chat.failure?.code, 'no_content');
  assert.match(chat.failure?.message ?? '', /form of completions/);
  const completions = take([delta({ content: 'a' }), USAGE, '[DONE]']);
  assert.match(completions.failure?.message ?? '', /form of chat/);
});

test('deltas with nothing in them are no content', () => {
  const empty = [
    delta({ role: 'assistant', content: null }),
    delta({ content: '', reasoning_content: null, tool_calls: null }),
    delta({ tool_calls: [{ index: 0, function: { name: '', arguments: '' } }] }),
    { choices: [{ index: 0 }] },
    { choices: [null] },
    { choices: [] },
  ];
  assert.deepEqual(take(empty, 'chat').contentNs, []);
});

test('whitespace is content', () => {
  assert.deepEqual(take([text(' '), text('\n')]).contentNs, [1, 2]);
});

test('unknown fields and unknown messages change nothing', () => {
  const timeline = take([{ id: 'x', type: 'ping' }, { ...text('a'), emit: 5 }, USAGE, '[DONE]']);
  assert.equal(timeline.failure, undefined);
  assert.equal(timeline.firstEventNs, 1);
  assert.deepEqual(timeline.contentNs, [2]);
});
