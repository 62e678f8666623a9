import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fakeNextToken } from '../engine/fake-runner.ts';
import { completionChunk, completionReply } from '../protocol/completions.ts';
import { EOS } from '../testing/byte-tokenizer.ts';
import { errorBody, post, readEvents } from '../testing/http-client.ts';
import { eventually, isIdle, startTestApp, type TestApp } from '../testing/test-app.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp();
});
after(async () => {
  await eventually(() => isIdle(app), 'every block is free after all tests');
  await app.close();
});

const PATH = '/v1/completions';
const greedy = { temperature: 0, ignore_eos: true, max_tokens: 40 };

/** The tokens that the fake model draws after the prompt. */
function continuation(prompt: readonly number[], count: number): number[] {
  const tokens = [...prompt];
  for (let drawn = 0; drawn < count; drawn += 1) {
    tokens.push(fakeNextToken(tokens, app.model.vocabulary));
  }
  return tokens.slice(prompt.length);
}

function textOf(tokens: readonly number[]): string {
  return app.model.tokenizer.decode(tokens, { skipSpecialTokens: true });
}

test('a completion holds the text of exactly the tokens that were drawn, with true usage', async () => {
  const prompt = [72, 105];
  const { status, json } = await post(app, PATH, { ...greedy, prompt, return_token_ids: true });
  assert.equal(status, 200);
  const reply = completionReply.parse(json);
  const expected = continuation(prompt, 40);
  assert.deepEqual(reply.choices[0]?.token_ids, expected);
  assert.deepEqual(reply.choices[0]?.prompt_token_ids, prompt);
  assert.equal(reply.choices[0]?.text, textOf(expected));
  assert.equal(reply.choices[0]?.finish_reason, 'length');
  assert.deepEqual(reply.usage, {
    prompt_tokens: 2,
    completion_tokens: 40,
    total_tokens: 42,
    prompt_tokens_details: { cached_tokens: 0 },
  });
});

test('a stream says the same as the reply that is not streamed, in exact frames', async () => {
  const body = { ...greedy, prompt: 'Hello', seed: 3 };
  const whole = await post(app, PATH, body);
  const streamed = await post(app, PATH, {
    ...body,
    stream: true,
    stream_options: { include_usage: true },
  });
  assert.equal(streamed.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  const events = readEvents(streamed.text).map((event) => completionChunk.parse(event));
  const usage = events.pop();
  assert.deepEqual(usage?.choices, []);
  assert.deepEqual(usage?.usage, whole.json.usage);
  assert.equal(events.map(({ choices }) => choices[0]?.text).join(''), whole.json.choices[0].text);
  const reasons = events.map(({ choices }) => choices[0]?.finish_reason);
  assert.deepEqual(reasons.pop(), 'length');
  assert.ok(reasons.every((reason) => reason === null));
  assert.ok(events.every((event) => event.usage === null));
});

test('no usage is sent in a stream that did not ask for it', async () => {
  const { text } = await post(app, PATH, { ...greedy, prompt: 'a', stream: true });
  for (const event of readEvents(text)) {
    assert.ok(!('usage' in event));
    assert.equal(event.choices.length, 1);
    assert.ok('finish_reason' in event.choices[0]);
  }
});

test('continuous usage counts the tokens of every event, and token ids add up to it', async () => {
  const { text } = await post(app, PATH, {
    ...greedy,
    prompt: [1, 2, 3],
    stream: true,
    return_token_ids: true,
    stream_options: { include_usage: true, continuous_usage_stats: true },
  });
  const events = readEvents(text);
  assert.deepEqual(events[0].choices[0].prompt_token_ids, [1, 2, 3]);
  let tokens = 0;
  for (const event of events.slice(0, -1)) {
    tokens += event.choices[0].token_ids.length;
    assert.equal(event.usage.completion_tokens, tokens);
  }
  assert.equal(tokens, 40);
});

test('every form of prompt is taken, and choices are prompt-major', async () => {
  const lists = await post(app, PATH, { ...greedy, prompt: [[65], [66, 67]], n: 2 });
  const strings = await post(app, PATH, { ...greedy, prompt: ['A', 'BC'], n: 2 });
  assert.deepEqual(
    lists.json.choices.map(({ index }: { index: number }) => index),
    [0, 1, 2, 3],
  );
  const texts = (answer: typeof lists) =>
    answer.json.choices.map(({ text }: { text: string }) => text);
  assert.deepEqual(texts(lists), texts(strings));
  assert.equal(texts(lists)[0], textOf(continuation([65], 40)));
  assert.equal(texts(lists)[3], textOf(continuation([66, 67], 40)));
  assert.equal(lists.json.usage.prompt_tokens, 3);
  assert.equal(lists.json.usage.completion_tokens, 160);
});

test('end of sequence gives "stop" even at the last allowed token, and is counted but not shown', async () => {
  const prompt = await promptThatEnds();
  const drawn = continuation(prompt, 60);
  const end = drawn.indexOf(EOS);
  const { json } = await post(app, PATH, {
    prompt,
    temperature: 0,
    max_tokens: end + 1,
    return_token_ids: true,
  });
  assert.equal(json.choices[0].finish_reason, 'stop');
  assert.equal(json.choices[0].stop_reason, null);
  assert.equal(json.usage.completion_tokens, end + 1);
  assert.deepEqual(json.choices[0].token_ids, drawn.slice(0, end + 1));
});

/** A prompt after which the fake model draws end-of-sequence among its first 60 tokens. */
async function promptThatEnds(): Promise<number[]> {
  for (let first = 0; first < 256; first += 1) {
    const at = continuation([first, first], 60).indexOf(EOS);
    if (at > 3) return [first, first];
  }
  throw new Error('no such prompt');
}

test('min_tokens keeps end of sequence from being drawn, and ignore_eos goes on after it', async () => {
  const prompt = await promptThatEnds();
  const end = continuation(prompt, 60).indexOf(EOS);
  const held = await post(app, PATH, {
    prompt,
    temperature: 0,
    max_tokens: 60,
    min_tokens: end + 2,
    return_token_ids: true,
  });
  assert.ok(!held.json.choices[0].token_ids.slice(0, end + 1).includes(EOS));
  assert.ok(held.json.usage.completion_tokens >= end + 2);
  const ignored = await post(app, PATH, { ...greedy, max_tokens: 60, prompt });
  assert.equal(ignored.json.usage.completion_tokens, 60);
});

test('a stop id ends the text, is named as the reason, and is shown only on request', async () => {
  const prompt = [80, 81];
  const drawn = continuation(prompt, 40);
  const stop = drawn.slice(5).find((token) => token < 128) ?? 0;
  const end = drawn.indexOf(stop);
  const body = { ...greedy, prompt, stop_token_ids: [stop] };
  const hidden = await post(app, PATH, body);
  assert.equal(hidden.json.choices[0].finish_reason, 'stop');
  assert.equal(hidden.json.choices[0].stop_reason, stop);
  assert.equal(hidden.json.choices[0].text, textOf(drawn.slice(0, end)));
  const shown = await post(app, PATH, { ...body, include_stop_str_in_output: true });
  assert.equal(shown.json.choices[0].text, textOf(drawn.slice(0, end + 1)));
});

test('a stop string over token borders ends stream and reply alike, and nothing of it leaks', async () => {
  const prompt = 'stop test';
  const full = (await post(app, PATH, { ...greedy, prompt })).json.choices[0].text as string;
  const stop = full.slice(12, 15);
  const cut = full.slice(0, full.indexOf(stop));
  for (const include of [false, true]) {
    const body = { ...greedy, prompt, stop: ['never', stop], include_stop_str_in_output: include };
    const whole = await post(app, PATH, body);
    const wanted = include ? cut + stop : cut;
    assert.equal(whole.json.choices[0].text, wanted);
    assert.equal(whole.json.choices[0].finish_reason, 'stop');
    assert.equal(whole.json.choices[0].stop_reason, stop);
    const events = readEvents((await post(app, PATH, { ...body, stream: true })).text);
    assert.equal(events.map(({ choices }) => choices[0].text).join(''), wanted);
  }
  await eventually(() => isIdle(app), 'the engine forgets sequences that a stop string ended');
});

test('a stop string that never comes loses no text at the end', async () => {
  const full = (await post(app, PATH, { ...greedy, prompt: 'tail' })).json.choices[0]
    .text as string;
  const stop = `${full.slice(-2)}XYZ`;
  const { text } = await post(app, PATH, { ...greedy, prompt: 'tail', stop, stream: true });
  assert.equal(
    readEvents(text)
      .map(({ choices }) => choices[0].text)
      .join(''),
    full,
  );
});

test('the same seed draws the same text alone and among others, and choices of a request differ', async () => {
  const body = { prompt: 'seeded', temperature: 1, max_tokens: 30, ignore_eos: true, seed: 42 };
  const alone = await post(app, PATH, body);
  const [among] = await Promise.all([
    post(app, PATH, body),
    ...Array.from({ length: 12 }, (_, seed) => post(app, PATH, { ...body, prompt: 'other', seed })),
  ]);
  assert.equal(among?.json.choices[0].text, alone.json.choices[0].text);
  const several = await post(app, PATH, { ...body, n: 3 });
  const texts = several.json.choices.map(({ text }: { text: string }) => text);
  assert.equal(texts[0], alone.json.choices[0].text);
  assert.equal(new Set(texts).size, 3);
  const unseeded = await Promise.all([1, 2].map(() => post(app, PATH, { ...body, seed: null })));
  assert.notEqual(unseeded[0]?.json.choices[0].text, unseeded[1]?.json.choices[0].text);
});

test('greedy text is the same alone and in a full batch', async () => {
  const prompts = Array.from({ length: 20 }, (_, index) => [index, 7, index]);
  const answers = await Promise.all(
    prompts.map((prompt) => post(app, PATH, { ...greedy, prompt })),
  );
  answers.forEach(({ json }, index) => {
    assert.equal(json.choices[0].text, textOf(continuation(prompts[index] ?? [], 40)));
  });
});

const refused: [string, object, number, string | null][] = [
  ['no prompt', {}, 400, 'prompt'],
  ['an empty string', { prompt: '' }, 400, 'prompt'],
  ['an empty list', { prompt: [] }, 400, 'prompt'],
  ['a list with an empty list', { prompt: [[]] }, 400, 'prompt'],
  ['a prompt of the wrong type', { prompt: { a: 1 } }, 400, 'prompt'],
  ['mixed prompts', { prompt: ['a', 3] }, 400, 'prompt'],
  ['a negative token id', { prompt: [-1] }, 400, 'prompt'],
  ['a token id beyond the vocabulary', { prompt: [999_999] }, 400, 'prompt'],
  ['a fractional token id', { prompt: [1.5] }, 400, 'prompt'],
  ['half a surrogate pair', { prompt: '\ud800' }, 400, 'prompt'],
  ['a prompt beyond the context', { prompt: 'x'.repeat(600) }, 400, 'prompt'],
  ['more output than the context holds', { prompt: 'a', max_tokens: 512 }, 400, 'max_tokens'],
  ['negative max_tokens', { prompt: 'a', max_tokens: -1 }, 400, 'max_tokens'],
  ['min_tokens above max_tokens', { prompt: 'a', max_tokens: 2, min_tokens: 3 }, 400, 'min_tokens'],
  ['an unknown model', { prompt: 'a', model: 'gpt-9' }, 404, 'model'],
  [
    'a stop id beyond the vocabulary',
    { prompt: 'a', stop_token_ids: [70_000] },
    400,
    'stop_token_ids',
  ],
  ['a bias beyond the vocabulary', { prompt: 'a', logit_bias: { 99999: 1 } }, 400, 'logit_bias'],
  ['a bias that is no id', { prompt: 'a', logit_bias: { a: 1 } }, 400, 'logit_bias'],
  ['a bias that is no number', { prompt: 'a', logit_bias: { 1: 'x' } }, 400, 'logit_bias.1'],
  ['an empty stop string', { prompt: 'a', stop: '' }, 400, 'stop'],
  ['a negative temperature', { prompt: 'a', temperature: -1 }, 400, 'temperature'],
  ['top_p 0', { prompt: 'a', top_p: 0 }, 400, 'top_p'],
  ['a text for a number', { prompt: 'a', max_tokens: '3' }, 400, 'max_tokens'],
  ['stream_options without stream', { prompt: 'a', stream_options: {} }, 400, 'stream_options'],
  ['a suffix', { prompt: 'a', suffix: 'b' }, 400, 'suffix'],
  ['beam search', { prompt: 'a', use_beam_search: true }, 400, 'use_beam_search'],
  ['best_of above n', { prompt: 'a', best_of: 3 }, 400, 'best_of'],
  ['n 0', { prompt: 'a', n: 0 }, 400, 'n'],
  ['a priority under fcfs', { prompt: 'a', priority: 1 }, 400, 'priority'],
  ['a list as body', [], 400, null],
];

for (const [what, body, status, param] of refused) {
  test(`${what} is refused with ${status} and the server goes on`, async () => {
    const answer = await post(app, PATH, Array.isArray(body) ? body : { max_tokens: 4, ...body });
    assert.equal(answer.status, status, answer.text);
    assert.equal(errorBody.parse(answer.json).error.param, param);
    assert.ok(answer.text.length < 1000, 'the input is not echoed at length');
    const next = await post(app, PATH, { prompt: 'a', max_tokens: 1 });
    assert.equal(next.status, 200);
  });
}

test('nulls mean absent and unknown fields are ignored', async () => {
  const nulls = [
    'n',
    'stop',
    'logprobs',
    'seed',
    'stream',
    'stream_options',
    'logit_bias',
    'user',
    'suffix',
  ];
  const body = {
    prompt: 'a',
    max_tokens: null,
    ...Object.fromEntries(nulls.map((key) => [key, null])),
  };
  const answer = await post(app, PATH, {
    ...body,
    best_of: 1,
    cache_prompt: false,
    nonsense: { deep: [1] },
  });
  assert.equal(answer.status, 200, answer.text);
  assert.ok(answer.json.usage.completion_tokens <= 16);
});

test('max_tokens 0 returns only what was echoed, and counts nothing', async () => {
  const { json } = await post(app, PATH, { prompt: 'echo me', max_tokens: 0, echo: true });
  assert.equal(json.choices[0].text, 'echo me');
  assert.equal(json.usage.completion_tokens, 0);
});

test('echo comes before the text, in a stream within the first event', async () => {
  const body = { ...greedy, prompt: [72, 105], echo: true };
  const whole = await post(app, PATH, body);
  assert.ok(whole.json.choices[0].text.startsWith('Hi'));
  const events = readEvents((await post(app, PATH, { ...body, stream: true })).text);
  assert.ok(events[0].choices[0].text.startsWith('Hi'));
  assert.equal(events.map(({ choices }) => choices[0].text).join(''), whole.json.choices[0].text);
});

test('streams of several prompts and choices carry each its own text', async () => {
  const body = { ...greedy, temperature: 1, seed: 5, prompt: ['one', 'two'], n: 2 };
  const whole = await post(app, PATH, body);
  const texts = ['', '', '', ''];
  for (const { choices } of readEvents((await post(app, PATH, { ...body, stream: true })).text)) {
    texts[choices[0].index] += choices[0].text;
  }
  assert.deepEqual(
    texts,
    whole.json.choices.map(({ text }: { text: string }) => text),
  );
});
