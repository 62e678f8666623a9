import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import OpenAI, { APIError, AuthenticationError, BadRequestError, NotFoundError } from 'openai';
import { eventually, isIdle, startTestApp, type TestApp } from '../testing/test-app.ts';

const chatTemplate =
  '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{#- knows </think> #}';
const reply =
  '<think>\nhm</think>Hello ☃ world.<tool_call>{"name":"look","arguments":{"x":1}}</tool_call>';
const model = 'test-model';
const messages = [{ role: 'user' as const, content: 'hi' }];

let app: TestApp;
let client: OpenAI;
before(async () => {
  app = await startTestApp({ model: { chatTemplate }, reply, settings: { apiKeys: ['key'] } });
  client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'key', maxRetries: 0 });
});
after(async () => {
  await eventually(() => isIdle(app), 'every block is free after all tests');
  await app.close();
});

test('the openai client lists and retrieves models', async () => {
  const list = await client.models.list();
  assert.deepEqual(
    list.data.map(({ id }) => id),
    ['test-model', 'alias'],
  );
  assert.equal((await client.models.retrieve('alias')).id, 'alias');
  await assert.rejects(client.models.retrieve('other'), NotFoundError);
});

test('the openai client reads completions, whole and as a stream', async () => {
  const whole = await client.completions.create({ model, prompt: 'a', max_tokens: 20 });
  let text = '';
  let total = 0;
  const stream = await client.completions.create({
    model,
    prompt: 'a',
    max_tokens: 20,
    stream: true,
    stream_options: { include_usage: true },
  });
  for await (const chunk of stream) {
    text += chunk.choices[0]?.text ?? '';
    total = chunk.usage?.total_tokens ?? total;
  }
  assert.equal(text, whole.choices[0]?.text);
  assert.equal(total, whole.usage?.total_tokens);
});

test('the openai client reads chats, whole, as a stream, and through its stream helper', async () => {
  const tools = [{ type: 'function' as const, function: { name: 'look', parameters: {} } }];
  const whole = await client.chat.completions.create({ model, messages, tools });
  const [choice] = whole.choices;
  assert.equal(choice?.message.content, 'Hello ☃ world.');
  assert.equal(choice?.finish_reason, 'tool_calls');
  const [call] = choice?.message.tool_calls ?? [];
  assert.ok(call?.type === 'function' && call.function.arguments === '{"x":1}');
  const runner = client.chat.completions.stream({ model, messages, tools });
  const final = await runner.finalChatCompletion();
  assert.equal(final.choices[0]?.message.content, 'Hello ☃ world.');
  assert.equal(final.choices[0]?.finish_reason, 'tool_calls');
  const [streamed] = final.choices[0]?.message.tool_calls ?? [];
  assert.equal(streamed?.function.arguments, '{"x":1}');
});

test('the openai client sees errors by their class', async () => {
  const wrongKey = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'no', maxRetries: 0 });
  await assert.rejects(wrongKey.models.list(), AuthenticationError);
  await assert.rejects(
    client.completions.create({ model, prompt: 'a', max_tokens: 100_000 }),
    (error) => {
      assert.ok(error instanceof BadRequestError);
      assert.equal(error.code, 'context_length_exceeded');
      assert.equal(error.param, 'max_tokens');
      return true;
    },
  );
  await assert.rejects(client.completions.create({ model: 'x', prompt: 'a' }), NotFoundError);
});

test('a stream that the openai client aborts is forgotten by the server', async () => {
  const slow = await startTestApp({ stepMs: 10 });
  try {
    const other = new OpenAI({ baseURL: `${slow.url}/v1`, apiKey: 'any' });
    const body = { model, prompt: 'a', max_tokens: 400, stream: true as const };
    const stream = await other.completions.create(body, { query: {} });
    for await (const _ of stream) break;
    await eventually(() => isIdle(slow), 'its blocks are free');
  } finally {
    await slow.close();
  }
});

test('the openai client retries when the server is overloaded, and an error event throws', async () => {
  const busy = await startTestApp({ limit: 1, stepMs: 5, settings: { requestTimeoutMs: 300 } });
  try {
    const other = new OpenAI({ baseURL: `${busy.url}/v1`, apiKey: 'any', maxRetries: 3 });
    const body = { model, prompt: 'a', max_tokens: 20, ...{ ignore_eos: true } };
    const answers = await Promise.all([1, 2].map(() => other.completions.create(body)));
    for (const answer of answers) assert.equal(answer.usage?.completion_tokens, 20);
    const stream = await other.completions.create({ ...body, max_tokens: 400, stream: true });
    await assert.rejects(async () => {
      for await (const _ of stream) {
        // Read until the server gives up.
      }
    }, APIError);
  } finally {
    await busy.close();
  }
});
