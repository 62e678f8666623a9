import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { errorBody, post } from '../testing/http-client.ts';
import { eventually, isIdle, startTestApp, type TestApp } from '../testing/test-app.ts';

const PATH = '/v1/completions';
const chatTemplate = '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}';
const messages = [{ role: 'user', content: 'hi' }];

let app: TestApp;
before(async () => {
  app = await startTestApp({ model: { chatTemplate } });
});
after(async () => {
  await eventually(() => isIdle(app), 'every block is free after all tests');
  await app.close();
});

async function text(body: object): Promise<{ text: string; reason: string }> {
  const answer = await post(app, PATH, { prompt: 'c', max_tokens: 300, ...body });
  assert.equal(answer.status, 200, answer.text);
  const [choice] = answer.json.choices;
  return { text: choice.text, reason: choice.finish_reason };
}

test('a choice is one of the choices, greedy or sampled, and then the text ends', async () => {
  const choice = ['yes', 'no', 'maybe ☃'];
  for (const temperature of [0, 1, 2]) {
    const answer = await text({ structured_outputs: { choice }, temperature });
    assert.ok(choice.includes(answer.text), answer.text);
    assert.equal(answer.reason, 'stop');
  }
});

test('a pattern is matched by the whole text', async () => {
  for (const seed of [1, 2, 3]) {
    const answer = await text({ structured_outputs: { regex: '\\d{3}-[a-f]{4}' }, seed });
    assert.match(answer.text, /^\d{3}-[a-f]{4}$/);
    assert.equal(answer.reason, 'stop');
  }
});

test('JSON by a schema parses and has what is required', async () => {
  const schema = {
    type: 'object',
    properties: { ok: { type: 'boolean' }, n: { type: 'integer' }, kind: { enum: ['a', 'b'] } },
    required: ['ok', 'kind'],
  };
  for (const [seed, more] of [
    { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } },
    { structured_outputs: { json: schema } },
  ].entries()) {
    const answer = await text({ ...more, seed });
    const value = JSON.parse(answer.text);
    assert.equal(typeof value.ok, 'boolean');
    assert.ok(['a', 'b'].includes(value.kind));
  }
});

test('a constrained sequence is the same beside others, and others are not constrained', async () => {
  const body = { prompt: 'c', temperature: 0, max_tokens: 40, ignore_eos: true };
  const free = await post(app, PATH, body);
  const answers = await Promise.all([
    post(app, PATH, body),
    post(app, PATH, { ...body, structured_outputs: { regex: '[ab]{30}' } }),
    post(app, PATH, body),
  ]);
  assert.equal(answers[0]?.json.choices[0].text, free.json.choices[0].text);
  assert.equal(answers[2]?.json.choices[0].text, free.json.choices[0].text);
  assert.match(answers[1]?.json.choices[0].text, /^[ab]{30}$/);
});

test('a tool call can be demanded, of any tool or of a named one', async () => {
  const tools = ['first', 'second'].map((name) => ({
    type: 'function',
    function: {
      name,
      parameters: { type: 'object', properties: { x: { type: 'boolean' } }, required: ['x'] },
    },
  }));
  const named = { type: 'function', function: { name: 'second' } };
  for (const [choice, reason] of [
    ['required', 'tool_calls'],
    [named, 'tool_calls'],
  ]) {
    const {
      json,
      status,
      text: raw,
    } = await post(app, '/v1/chat/completions', { messages, tools, tool_choice: choice, seed: 4 });
    assert.equal(status, 200, raw);
    const [call] = json.choices[0].message.tool_calls;
    assert.equal(typeof JSON.parse(call.function.arguments).x, 'boolean');
    if (choice === named) assert.equal(call.function.name, 'second');
    assert.equal(json.choices[0].finish_reason, reason);
  }
});

const refused: [string, object][] = [
  ['a broken pattern', { structured_outputs: { regex: '(' } }],
  ['an exploding pattern', { structured_outputs: { regex: '((a{1,999}){1,999}){1,999}' } }],
  ['two constraints', { structured_outputs: { regex: 'a', choice: ['a'] } }],
  ['a grammar', { structured_outputs: { grammar: 'root ::= "a"' } }],
  ['no choices', { structured_outputs: { choice: [] } }],
  [
    'a schema with an unsupported keyword',
    { structured_outputs: { json: { type: 'integer', minimum: 1 } } },
  ],
  ['json_schema without a schema', { response_format: { type: 'json_schema' } }],
  ['an unknown format', { response_format: { type: 'xml' } }],
];

for (const [what, body] of refused) {
  test(`${what} is refused with 400`, async () => {
    const answer = await post(app, PATH, { prompt: 'a', ...body });
    assert.equal(answer.status, 400, answer.text);
    errorBody.parse(answer.json);
  });
}
