import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startClock } from './clock.ts';
import { Connection } from './connection.ts';
import { type Script, STREAM_HEAD, type Step, scriptedServer } from './scripted-server.ts';
import { data, END, newTimeline, text } from './stream-trial.ts';
import type { RequestTimeline } from './timeline.ts';

const CLOSE_HEAD = STREAM_HEAD.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n');

function answerAfter(head: string): Step[] {
  const body = data(text('abc'));
  const chunked = `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n`;
  return [{ write: head }, { write: chunked }, ...END];
}

/** Sends the requests one after another on one connection. */
async function sendAll(script: Script, requests: number, baseUrlOf = (url: string) => url) {
  const server = await scriptedServer(script);
  const connection = new Connection({
    baseUrl: baseUrlOf(server.baseUrl),
    clock: startClock(),
    connectTimeoutMs: 1000,
    apiKey: 'secret',
  });
  const timelines: RequestTimeline[] = [];
  try {
    await connection.open();
    for (let index = 0; index < requests; index += 1) {
      const timeline = newTimeline();
      timelines.push(timeline);
      await connection.send({
        path: '/v1/completions',
        endpoint: 'completions',
        body: Buffer.from(`{"request":${index}}`),
        timeoutMs: 2000,
        timeline,
      });
    }
  } finally {
    await connection.close();
    await server.close();
  }
  const failures = timelines.map(({ failure }) => failure?.code);
  const resent = timelines.map(({ reconnects }) => reconnects);
  const opened = connection.connectionsOpened;
  return { timelines, failures, resent, opened, bodies: server.bodies };
}

test('requests in turn share the connection that was opened before', async () => {
  const { failures, opened } = await sendAll({ steps: () => answerAfter(STREAM_HEAD) }, 3);
  assert.deepEqual(failures, [undefined, undefined, undefined]);
  assert.equal(opened, 1);
});

test('a server that closes after each answer costs connections, not failures', async () => {
  const { failures, resent, opened } = await sendAll(
    { steps: () => [...answerAfter(CLOSE_HEAD), { close: 'fin' }] },
    3,
  );
  assert.deepEqual(failures, [undefined, undefined, undefined]);
  assert.deepEqual(resent, [0, 0, 0]);
  assert.equal(opened, 3);
});

for (const how of ['fin', 'rst'] as const) {
  test(`a kept socket closed (${how}) before the first byte of an answer: sent again once, counted`, async () => {
    const { failures, resent, opened, bodies } = await sendAll(
      {
        steps: (connection, request) =>
          connection === 0 && request === 1 ? [{ close: how }] : answerAfter(STREAM_HEAD),
      },
      2,
    );
    assert.deepEqual(failures, [undefined, undefined]);
    assert.deepEqual(resent, [0, 1]);
    assert.equal(opened, 2);
    assert.deepEqual(bodies, ['{"request":0}', '{"request":1}', '{"request":1}']);
  });

  test(`a fresh socket closed (${how}) before the first byte of an answer is a failure`, async () => {
    const { failures, bodies } = await sendAll({ steps: () => [{ close: how }] }, 1);
    assert.deepEqual(failures, ['connect']);
    assert.equal(bodies.length, 1);
  });
}

test('a server that takes a request and drops it later is not asked again', async () => {
  const { failures, bodies } = await sendAll(
    {
      steps: (_, request) =>
        request === 0 ? answerAfter(STREAM_HEAD) : [{ waitMs: 1100 }, { close: 'fin' }],
    },
    2,
  );
  assert.deepEqual(failures, [undefined, 'connect']);
  assert.equal(bodies.length, 2);
});

test('a request that was sent again is timed from the second sending', async () => {
  const { timelines } = await sendAll(
    {
      steps: (connection, request) =>
        connection === 0 && request === 1
          ? [{ waitMs: 60 }, { close: 'fin' }]
          : answerAfter(STREAM_HEAD),
    },
    2,
  );
  const { sentNs = 0, contentNs = [], closedNs = 0 } = timelines[1] ?? {};
  const before = timelines[0]?.closedNs ?? 0;
  assert.ok(sentNs - before >= 59e6, 'the wait is before the stamp');
  assert.ok((contentNs[0] ?? 0) >= sentNs && closedNs >= sentNs);
});

test('a request is never sent a third time', async () => {
  const { failures, bodies } = await sendAll(
    {
      steps: (connection, request) =>
        connection === 0 && request === 0 ? answerAfter(STREAM_HEAD) : [{ close: 'fin' }],
    },
    2,
  );
  assert.deepEqual(failures, [undefined, 'connect']);
  assert.equal(bodies.length, 3);
});

test('once the answer has begun, a closed socket is never sent again', async () => {
  const { failures, bodies } = await sendAll(
    {
      steps: (_, request) =>
        request === 0
          ? answerAfter(STREAM_HEAD)
          : [{ write: 'HTTP/1.1 200 OK\r\ncontent' }, { waitMs: 10 }, { close: 'fin' }],
    },
    2,
  );
  assert.deepEqual(failures, [undefined, 'truncated']);
  assert.equal(bodies.length, 2);
});

test('after a failure the same slot goes on with a new connection', async () => {
  const { failures, opened } = await sendAll(
    {
      steps: (connection) =>
        connection === 0 ? [{ write: STREAM_HEAD }, { close: 'rst' }] : answerAfter(STREAM_HEAD),
    },
    2,
  );
  assert.deepEqual(failures, ['truncated', undefined]);
  assert.equal(opened, 2);
});

test('an answer that is not HTTP is named so', async () => {
  const { failures, timelines } = await sendAll(
    { steps: () => [{ write: 'SSH-2.0-OpenSSH\r\n\r\n' }] },
    1,
  );
  assert.deepEqual(failures, ['invalid_sse']);
  assert.match(timelines[0]?.failure?.message ?? '', /not valid HTTP/);
});

test('a body without length or chunks ends with the connection', async () => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n';
  const { failures, timelines } = await sendAll(
    { steps: () => [{ write: head + data(text('abc')) + data('[DONE]') }, { close: 'fin' }] },
    1,
  );
  assert.deepEqual(failures, [undefined]);
  assert.ok(timelines[0]?.doneNs);
});

test('a body shorter than its content-length is truncated although [DONE] came', async () => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n';
  const { failures } = await sendAll(
    { steps: () => [{ write: head + data('[DONE]') }, { waitMs: 10 }, { close: 'fin' }] },
    1,
  );
  assert.deepEqual(failures, ['truncated']);
});

test('a base URL that ends in /v1 or has a prefix reaches the same path', async () => {
  for (const suffix of ['/v1', '/v1/', '/']) {
    const { failures } = await sendAll(
      { steps: () => answerAfter(STREAM_HEAD) },
      1,
      (url) => url + suffix,
    );
    assert.deepEqual(failures, [undefined]);
  }
});

test('a head that comes in pieces is read whole', async () => {
  const pieces = STREAM_HEAD.match(/[\s\S]{1,9}/g) ?? [];
  const [, ...rest] = answerAfter(STREAM_HEAD);
  const { failures, timelines } = await sendAll(
    { steps: () => [...pieces.flatMap((write) => [{ write }, { waitMs: 2 }]), ...rest] },
    2,
  );
  assert.deepEqual(failures, [undefined, undefined]);
  assert.deepEqual(
    timelines.map(({ text }) => text),
    ['abc', 'abc'],
  );
});

test('bytes that nobody asked for cost the connection, not the next request', async () => {
  const { failures, opened } = await sendAll(
    {
      steps: (connection) => [
        ...answerAfter(STREAM_HEAD),
        ...(connection === 0 ? [{ write: 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n' }] : []),
      ],
    },
    2,
  );
  assert.equal(failures[0], undefined);
  assert.equal(failures[1], undefined);
  assert.equal(opened, 2);
});
