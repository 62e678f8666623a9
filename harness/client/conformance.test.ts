// The stream shapes on which load generators are known to fail: each must give the truth or a typed failure.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { chunk, LAST_CHUNK, STREAM_HEAD, type Step } from './scripted-server.ts';
import {
  data,
  delta,
  END,
  FINISH,
  PAUSE,
  runShape,
  type Shape,
  text,
  USAGE,
} from './stream-trial.ts';

const A = chunk(data(text('a')));
const B = chunk(data(text('b')));
const C = chunk(data(text('c')));
/** Three tokens in three reads; the steps that complete them are 1, 3 and 5. */
const THREE: readonly Step[] = [PAUSE, A, PAUSE, B, PAUSE, C];
const CONTENT = [1, 3, 5] as const;

function check(name: string, shape: Shape, verdict = 'success', said = 'abc') {
  test(name, async () => {
    const trial = await runShape(shape);
    const { failure } = trial.timeline;
    assert.equal(trial.verdict, verdict, failure?.message);
    if (verdict === 'success') assert.equal(trial.timeline.text, said);
  });
}

/** Every byte of the steps' data under another framing of lines. */
function reframed(frame: (event: string) => string): readonly Step[] {
  const events = ['a', 'b', 'c'].map((value) => frame(JSON.stringify(text(value))));
  const rest = [FINISH, USAGE].map((value) => frame(JSON.stringify(value)));
  return [
    ...events.flatMap((event) => [PAUSE, chunk(event)]),
    chunk([...rest, frame('[DONE]')].join('')),
    LAST_CHUNK,
  ];
}

check('shape 1: a plain stream', { steps: [...THREE, PAUSE, ...END], content: CONTENT });

test('shape 2: a role-only event is the first response, not the first token', async () => {
  const steps = [
    chunk(data(delta({ role: 'assistant', content: '' }))),
    ...['a', 'b', 'c'].flatMap((value) => [PAUSE, chunk(data(delta({ content: value })))]),
    chunk(data(delta({}, 'length')) + data(USAGE) + data('[DONE]')),
    LAST_CHUNK,
  ];
  const { timeline, verdict } = await runShape({ steps, content: [2, 4, 6], endpoint: 'chat' });
  assert.equal(verdict, 'success');
  assert.ok((timeline.firstEventNs ?? 0) < (timeline.contentNs[0] ?? 0));
});

test('shape 3: three tokens in one event are three tokens', async () => {
  const steps = [PAUSE, chunk(data(text('abc'))), ...END];
  const { timeline, verdict } = await runShape({ steps, content: [1] });
  assert.equal(verdict, 'success');
  assert.deepEqual(timeline.contentTokens, [3]);
});

test('shape 4: two events in one read carry the stamp of that read', async () => {
  const steps = [PAUSE, A, PAUSE, chunk(data(text('b')) + data(text('c'))), ...END];
  const { timeline, verdict } = await runShape({ steps, content: [1, 3, 3] });
  assert.equal(verdict, 'success');
  assert.equal(timeline.contentNs[1], timeline.contentNs[2]);
});

check('shape 5: a comment alone before the first token', {
  steps: [chunk(': ping\n\n'), ...THREE, ...END],
  content: [2, 4, 6],
});
check('shape 6: a comment alone between two tokens', {
  steps: [PAUSE, A, PAUSE, chunk(': ping\n\n'), PAUSE, B, PAUSE, C, ...END],
  content: [1, 5, 7],
});
check('shape 7: no space after the colon', {
  steps: reframed((event) => `data:${event}\n\n`),
  content: CONTENT,
});
check('shape 8: CRLF line ends', {
  steps: reframed((event) => `data: ${event}\r\n\r\n`),
  content: CONTENT,
});
check('shape 8b: CRLF line ends, all events in one read', {
  steps: [
    PAUSE,
    chunk(
      [text('a'), text('b'), text('c'), FINISH, USAGE, '[DONE]']
        .map((value) => data(value).replaceAll('\n', '\r\n'))
        .join(''),
    ),
    LAST_CHUNK,
  ],
  content: [1, 1, 1],
});
check('shape 9: event, id and retry lines before the data', {
  steps: reframed((event) => `event: message\nid: 7\nretry: 1000\ndata: ${event}\n\n`),
  content: CONTENT,
});
check('shape 10: reasoning counts as content', {
  endpoint: 'chat',
  steps: [
    PAUSE,
    chunk(data(delta({ reasoning_content: 'a' }))),
    PAUSE,
    chunk(data(delta({ reasoning: 'b' }))),
    PAUSE,
    chunk(data(delta({ content: 'c' }))),
    chunk(data(delta({}, 'length')) + data(USAGE) + data('[DONE]')),
    LAST_CHUNK,
  ],
  content: CONTENT,
});
check('shape 11: usage inside the last content event', {
  steps: [
    ...THREE.slice(0, 5),
    chunk(data({ ...text('c', { finish_reason: 'length' }), usage: USAGE.usage }) + data('[DONE]')),
    LAST_CHUNK,
  ],
  content: CONTENT,
});
check('shape 12: usage null on every event', {
  steps: [
    ...['a', 'b', 'c'].flatMap((v) => [PAUSE, chunk(data({ ...text(v), usage: null }))]),
    ...END,
  ],
  content: CONTENT,
});
check(
  'shape 13: an error object after the first token is a failure',
  {
    steps: [PAUSE, A, PAUSE, chunk(data({ error: { message: 'out of memory' } })), ...END],
    content: [1],
  },
  'stream_error',
);
check(
  'shape 13b: an error event is a failure whatever its data is',
  { steps: [PAUSE, A, chunk('event: error\ndata: oops\n\n'), LAST_CHUNK], content: [1] },
  'stream_error',
);
check(
  'shape 14: a connection closed after the second token is truncated',
  { steps: [PAUSE, A, PAUSE, B, PAUSE, { close: 'fin' }], content: [1, 3] },
  'truncated',
);
check(
  'shape 14b: a response that ends in order but without [DONE] is truncated',
  { steps: [PAUSE, A, PAUSE, B, LAST_CHUNK], content: [1, 3] },
  'truncated',
);
check(
  'shape 15: nothing but [DONE] is no content',
  { steps: [chunk(data('[DONE]')), LAST_CHUNK], content: [] },
  'no_content',
);
check(
  'shape 16: U+2028, U+2029 and U+0085 inside a string end no line',
  {
    steps: [
      ...THREE.slice(0, 5),
      chunk('data: {"choices":[{"index":0,"text":"\u2028\u2029\u0085"}]}\n\n'),
      ...END,
    ],
    content: CONTENT,
  },
  'success',
  'ab\u2028\u2029\u0085',
);
const split = Buffer.from(data(text('é漢🎉')));
const middle = split.indexOf('漢') + 1;
check(
  'shape 17: a character split over two reads is whole',
  {
    steps: [
      PAUSE,
      chunk(split.subarray(0, middle)),
      PAUSE,
      chunk(split.subarray(middle)),
      ...THREE.slice(2),
      ...END,
    ],
    content: [3, 5, 7],
  },
  'success',
  'é漢🎉bc',
);
test('shape 18: a late usage event moves neither the last token nor the rate', async () => {
  const steps = [...THREE, PAUSE, chunk(data(FINISH)), PAUSE, ...END.slice(0)];
  const { timeline, verdict } = await runShape({ steps, content: CONTENT });
  assert.equal(verdict, 'success');
  assert.ok((timeline.doneNs ?? 0) > (timeline.contentNs[2] ?? 0) + 10e6);
});

// The further shapes.
check('bare comment lines', {
  steps: [chunk(':\n\n'), ...THREE, chunk(':\n'), ...END],
  content: [2, 4, 6],
});
check('CR alone ends a line, and the event is complete at the second CR', {
  steps: reframed((event) => `data: ${event}\r\r`),
  content: CONTENT,
});
check('a byte order mark at the very beginning', {
  steps: [chunk('\ufeff'), ...THREE, ...END],
  content: [2, 4, 6],
});
check('reads of one byte', {
  steps: [
    PAUSE,
    ...Array.from(Buffer.from(data(text('a'))), (byte) => chunk(Buffer.from([byte]))),
    PAUSE,
    ...Array.from(Buffer.from(data(text('b')) + data(text('c'))), (byte) =>
      chunk(Buffer.from([byte])),
    ),
    ...END,
  ],
  content: ((first: number, both: number) => [first, first + 1 + both / 2, first + 1 + both])(
    data(text('a')).length,
    data(text('b')).length * 2,
  ),
});
const megabyte = 'x'.repeat(1024 * 1024);
check(
  'an event of a megabyte',
  {
    steps: [PAUSE, chunk(data(text(megabyte)) + data(text('b')) + data(text('c'))), ...END],
    content: [1, 1, 1],
  },
  'success',
  `${megabyte}bc`,
);
const zipped = gzipSync(data(text('abc')) + data(FINISH) + data(USAGE) + data('[DONE]'));
check(
  'a gzip stream that nobody asked for is refused',
  {
    head: STREAM_HEAD.replace('\r\n\r\n', '\r\ncontent-encoding: gzip\r\n\r\n'),
    steps: [chunk(zipped), LAST_CHUNK],
    content: [],
  },
  'content_type',
);
check('trailers after the last chunk', {
  head: STREAM_HEAD.replace('\r\n\r\n', '\r\ntrailer: x-checksum\r\n\r\n'),
  steps: [...THREE, ...END.slice(0, 1), { write: '0\r\nx-checksum: 1\r\n\r\n' }],
  content: CONTENT,
});
test('usage in every event gives the tokens of each', async () => {
  const counted = (value: string, total: number) =>
    chunk(data({ ...text(value), usage: { prompt_tokens: 4, completion_tokens: total } }));
  const steps = [PAUSE, counted('a', 1), PAUSE, counted('bc', 3), ...END];
  const { timeline, verdict } = await runShape({ steps, content: [1, 3] });
  assert.equal(verdict, 'success');
  assert.deepEqual(timeline.contentTokens, [1, 2]);
});
check(
  'a stream without usage is a failure',
  { steps: [...THREE, chunk(data(FINISH) + data('[DONE]')), LAST_CHUNK], content: CONTENT },
  'no_usage',
);
check(
  'more choices than asked for are a failure',
  {
    steps: [...THREE, chunk(data({ choices: [{ index: 1, text: 'z' }] })), ...END],
    content: CONTENT,
  },
  'token_count',
);
check(
  'tool-call deltas count as content, their empty beginnings do not',
  {
    endpoint: 'chat',
    steps: [
      chunk(data(delta({ role: 'assistant', tool_calls: [] }))),
      PAUSE,
      chunk(data(delta({ tool_calls: [{ index: 0, function: { name: 'f', arguments: '' } }] }))),
      PAUSE,
      chunk(data(delta({ tool_calls: [{ index: 0, function: { arguments: '{' } }] }))),
      PAUSE,
      chunk(data(delta({ tool_calls: [{ index: 0, function: { arguments: '}' } }] }))),
      chunk(data(delta({}, 'tool_calls')) + data(USAGE) + data('[DONE]')),
      LAST_CHUNK,
    ],
    content: [2, 4, 6],
    expectation: { exactOutput: false },
  },
  'success',
  '',
);
check(
  'a web page with status 200 is refused',
  {
    head: 'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 20\r\n\r\n',
    steps: [{ write: '<html>hello</html>  ' }],
    content: [],
  },
  'content_type',
);
test('status 503 is a failure that quotes the body', async () => {
  const { timeline, verdict } = await runShape({
    head: 'HTTP/1.1 503 Busy\r\ncontent-type: application/json\r\ncontent-length: 24\r\n\r\n',
    steps: [{ write: '{"error":"' }, PAUSE, { write: 'overloaded"}  ' }],
    content: [],
  });
  assert.equal(verdict, 'status');
  assert.match(timeline.failure?.message ?? '', /503.*overloaded/);
});
check(
  'a stall past the timeout is a timeout',
  { steps: [PAUSE, A, { waitMs: 2000 }], content: [1], timeoutMs: 150 },
  'timeout',
);
check(
  'a reset in mid-stream is truncated',
  { steps: [PAUSE, A, PAUSE, B, PAUSE, { close: 'rst' }], content: [1, 3] },
  'truncated',
);
