import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chatChunk, chatReply } from '../protocol/chat.ts';
import { errorBody, type Parsed, post, readEvents } from '../testing/http-client.ts';
import { eventually, isIdle, startTestApp, type TestApp } from '../testing/test-app.ts';

const PATH = '/v1/chat/completions';
const TEMPLATE = [
  '{%- if tools %}[{% for t in tools %}{{ t.function.name }}{% endfor %}]{% endif %}',
  '{%- for m in messages %}',
  "{%- if m.role == 'tool' and loop.first %}{{ raise_exception('a tool cannot begin') }}{% endif %}",
  '{{- "<" + m.role + ">" + m.content }}',
  '{%- if m.tool_calls %}{{ m.tool_calls[0].function.arguments.x }}{% endif %}</m>',
  '{%- endfor %}',
  '{%- if add_generation_prompt %}<assistant>{% endif %}{#- knows </think> #}',
].join('\n');
const CALL = '<tool_call>\n{"name": "look", "arguments": {"x": "é"}}\n</tool_call>';
const REPLY = `<think>\nhm</think>\n\nSure ☃.${CALL}`;
const messages = [{ role: 'user', content: 'hi' }];
const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];

let app: TestApp;
before(async () => {
  app = await startTestApp({ model: { chatTemplate: TEMPLATE }, reply: REPLY });
});
after(async () => {
  await eventually(() => isIdle(app), 'every block is free after all tests');
  await app.close();
});

interface Joined {
  role: string[];
  content: string;
  reasoning: string;
  calls: { name: string; arguments: string }[];
  reasons: string[];
}

function join(events: readonly Parsed[]): Joined {
  const joined: Joined = { role: [], content: '', reasoning: '', calls: [], reasons: [] };
  for (const { choices } of events) {
    const [choice] = choices;
    if (!choice) continue;
    const { role, content, reasoning, tool_calls: calls } = choice.delta;
    if (role) joined.role.push(role);
    joined.content += content ?? '';
    joined.reasoning += reasoning ?? '';
    for (const call of calls ?? []) joined.calls.push(call.function);
    if (choice.finish_reason) joined.reasons.push(choice.finish_reason);
  }
  return joined;
}

test('a reply is split into reasoning, content and tool calls, streamed or not', async () => {
  const { status, json, text } = await post(app, PATH, { messages, tools });
  assert.equal(status, 200, text);
  const [choice] = chatReply.parse(json).choices;
  assert.equal(choice?.message.content, 'Sure ☃.');
  assert.equal(choice?.message.reasoning, 'hm');
  assert.equal(choice?.message.reasoning_content, 'hm');
  assert.deepEqual(choice?.message.tool_calls[0]?.function, {
    name: 'look',
    arguments: '{"x":"é"}',
  });
  assert.equal(choice?.finish_reason, 'tool_calls');
  const events = readEvents((await post(app, PATH, { messages, tools, stream: true })).text);
  for (const event of events) chatChunk.parse(event);
  assert.deepEqual(join(events), {
    role: ['assistant'],
    content: 'Sure ☃.',
    reasoning: 'hm',
    calls: [{ name: 'look', arguments: '{"x":"é"}' }],
    reasons: ['tool_calls'],
  });
  assert.deepEqual(events[0].choices[0].delta, { role: 'assistant', content: '' });
});

test('without tools, or with tool_choice none, a call is content', async () => {
  for (const body of [{ messages }, { messages, tools, tool_choice: 'none' }]) {
    const { json } = await post(app, PATH, body);
    assert.equal(json.choices[0].message.content, `Sure ☃.${CALL}`);
    assert.equal(json.choices[0].finish_reason, 'stop');
    assert.deepEqual(json.choices[0].message.tool_calls, []);
  }
});

test('reasoning is left out on request', async () => {
  const body = { messages, include_reasoning: false };
  const { json } = await post(app, PATH, body);
  assert.equal(json.choices[0].message.reasoning, null);
  const events = readEvents((await post(app, PATH, { ...body, stream: true })).text);
  assert.equal(join(events).reasoning, '');
});

test('a reply that is cut short is "length", and the default fills the context', async () => {
  const short = await post(app, PATH, { messages, max_completion_tokens: 5, max_tokens: 99 });
  assert.equal(short.json.choices[0].finish_reason, 'length');
  assert.equal(short.json.usage.completion_tokens, 5);
  const full = await post(app, PATH, { messages });
  assert.equal(full.json.choices[0].finish_reason, 'stop');
});

test('a stop string cuts the reply, and what was held back by the tags is not lost', async () => {
  for (const stream of [false, true]) {
    const answer = await post(app, PATH, { messages, tools, stop: '"arg', stream });
    const content = stream
      ? join(readEvents(answer.text)).content
      : answer.json.choices[0].message.content;
    assert.equal(content, 'Sure ☃.<tool_call>\n{"name": "look", ');
  }
});

test('usage, token ids and log-probabilities come with a chat stream', async () => {
  const body = {
    messages,
    stream: true,
    stream_options: { include_usage: true, continuous_usage_stats: true },
    return_token_ids: true,
    logprobs: true,
    top_logprobs: 2,
    max_tokens: 12,
  };
  const events = readEvents((await post(app, PATH, body)).text);
  const usage = events.pop();
  assert.deepEqual(usage.choices, []);
  const ids = events.flatMap(({ choices }) => choices[0].token_ids);
  assert.equal(ids.length, 12);
  assert.equal(usage.usage.completion_tokens, 12);
  assert.equal(events[0].prompt_token_ids.length, usage.usage.prompt_tokens);
  const entries = events.flatMap(({ choices }) => choices[0].logprobs?.content ?? []);
  assert.equal(entries.length, 12);
  assert.ok(entries.every((entry) => entry.top_logprobs.length === 2 && entry.logprob <= 0));
  for (const event of events) assert.ok(event.usage.prompt_tokens > 0);
});

test('the template sees plain text, objects as arguments, and system for developer', async () => {
  const { json } = await post(app, '/tokenize', {
    messages: [
      {
        role: 'developer',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: '1', type: 'function', function: { name: 'look', arguments: '{"x": 5}' } },
        ],
      },
      { role: 'tool', tool_call_id: '1', content: 'found' },
    ],
  });
  const detokenised = await post(app, '/detokenize', { tokens: json.tokens });
  assert.equal(
    detokenised.json.prompt,
    '<system>a\nb</m><assistant>5</m><tool>found</m><assistant>',
  );
});

test('continue_final_message leaves the last message open', async () => {
  const { json } = await post(app, '/tokenize', {
    messages: [...messages, { role: 'assistant', content: 'I say' }],
    continue_final_message: true,
  });
  const { json: text } = await post(app, '/detokenize', { tokens: json.tokens });
  assert.equal(text.prompt, '<user>hi</m><assistant>I say');
});

const refused: [string, object, string | null][] = [
  ['no messages', {}, 'messages'],
  ['an empty list of messages', { messages: [] }, 'messages'],
  ['an unknown role', { messages: [{ role: 'robot', content: 'a' }] }, 'messages.0.role'],
  [
    'an image',
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] },
    'messages.0.content',
  ],
  [
    'an order that the template refuses',
    { messages: [{ role: 'tool', content: 'a' }] },
    'messages',
  ],
  ['a template of its own', { messages, chat_template: '{{ 1 }}' }, 'chat_template'],
  ['an empty list of tools', { messages, tools: [] }, 'tools'],
  ['a tool choice without tools', { messages, tool_choice: 'auto' }, 'tool_choice'],
  [
    'a tool that does not exist',
    { messages, tools, tool_choice: { type: 'function', function: { name: 'x' } } },
    'tool_choice',
  ],
  ['top_logprobs without logprobs', { messages, top_logprobs: 3 }, 'top_logprobs'],
  ['more than the context holds', { messages, max_tokens: 5000 }, 'max_tokens'],
  [
    'a generation prompt and an open message',
    { messages, add_generation_prompt: true, continue_final_message: true },
    'continue_final_message',
  ],
];

for (const [what, body, param] of refused) {
  test(`${what} is refused with 400`, async () => {
    const answer = await post(app, PATH, body);
    assert.equal(answer.status, 400, answer.text);
    assert.equal(errorBody.parse(answer.json).error.param, param);
  });
}

test('fields that only OpenAI knows, and nulls, are no error', async () => {
  const ignored = {
    store: true,
    metadata: { a: 'b' },
    service_tier: 'auto',
    user: 'me',
    verbosity: 'low',
    modalities: ['text'],
  };
  const nulls = {
    tools: null,
    tool_choice: null,
    response_format: null,
    max_tokens: null,
    logprobs: null,
  };
  const { status, text } = await post(app, PATH, { messages, ...ignored, ...nulls });
  assert.equal(status, 200, text);
});

test('a model without a chat template says so', async () => {
  const plain = await startTestApp();
  try {
    const answer = await post(plain, PATH, { messages });
    assert.equal(answer.status, 400);
    assert.match(answer.json.error.message, /no chat template/);
  } finally {
    await plain.close();
  }
});
