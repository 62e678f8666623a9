import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteTokenizer } from '../testing/byte-tokenizer.ts';
import {
  errorBody,
  get,
  post,
  rawConnection,
  rawPost,
  readEvents,
} from '../testing/http-client.ts';
import {
  eventually,
  isIdle,
  startTestApp,
  type TestApp,
  type TestAppOptions,
} from '../testing/test-app.ts';

const PATH = '/v1/completions';
const long = { prompt: 'go', max_tokens: 500, ignore_eos: true, temperature: 0 };

async function withApp(
  options: TestAppOptions,
  body: (app: TestApp) => Promise<void>,
): Promise<void> {
  const app = await startTestApp(options);
  try {
    await body(app);
  } finally {
    await app.close();
  }
}

async function stillServes(app: TestApp): Promise<void> {
  const { status } = await post(app, PATH, { prompt: 'a', max_tokens: 2 });
  assert.equal(status, 200);
  assert.equal((await get(app, '/health')).status, 200);
}

for (const stream of [true, false]) {
  for (const end of ['destroy', 'resetAndDestroy'] as const) {
    test(`a client that leaves (${end}, stream ${stream}) frees its blocks within a step`, async () => {
      await withApp({ stepMs: 20 }, async (app) => {
        const { socket } = await rawConnection(app);
        socket.write(rawPost(PATH, { ...long, stream }));
        await eventually(() => app.engine.stats().running === 1, 'it runs');
        const before = app.engine.stats().steps;
        socket[end]();
        await eventually(() => isIdle(app), 'its blocks are free');
        assert.ok(app.engine.stats().steps - before <= 3);
        await stillServes(app);
      });
    });
  }
}

test('a client that leaves while its request is queued takes it out of the queue', async () => {
  await withApp({ stepMs: 10, scheduler: { maxSequences: 1, maxLogitRows: 1 } }, async (app) => {
    const first = await rawConnection(app);
    first.socket.write(rawPost(PATH, long));
    await eventually(() => app.engine.stats().running === 1, 'the first one runs');
    const second = await rawConnection(app);
    second.socket.write(rawPost(PATH, { ...long, stream: true }));
    await eventually(() => app.engine.stats().waiting === 1, 'the second one waits');
    second.socket.destroy();
    await eventually(() => app.engine.stats().waiting === 0, 'nobody waits');
    assert.equal(app.engine.stats().running, 1);
    first.socket.destroy();
    await eventually(() => isIdle(app), 'nothing runs');
  });
});

test('a reader who takes nothing is dropped when too much is unread, others are not disturbed', async () => {
  await withApp({ settings: { unreadLimitBytes: 64 * 1024 } }, async (app) => {
    const { socket, closed } = await rawConnection(app);
    socket.pause();
    // One request whose stream is larger than the bound and the sockets' own buffers together.
    const body = { ...long, n: 64, max_tokens: 500, stream: true, return_token_ids: true };
    socket.write(
      rawPost(PATH, {
        ...body,
        stream_options: { include_usage: true, continuous_usage_stats: true },
      }),
    );
    await eventually(() => app.admission.held > 0, 'it is taken');
    await stillServes(app);
    const until = performance.now() + 15_000;
    while (!isIdle(app) && performance.now() < until) await new Promise((r) => setTimeout(r, 10));
    assert.ok(isIdle(app), 'its blocks are free');
    socket.destroy();
    await closed;
  });
});

test('pipelined requests are answered in order', async () => {
  await withApp({}, async (app) => {
    const connection = await rawConnection(app);
    const stream = rawPost(PATH, { ...long, max_tokens: 20, stream: true });
    const last = rawPost('/tokenize', { prompt: 'ab' }, 'Connection: close\r\n');
    connection.socket.write(stream + rawPost(PATH, { ...long, max_tokens: 3 }) + last);
    await connection.closed;
    const statuses = connection.received().match(/HTTP\/1\.1 \d+/g);
    assert.deepEqual(statuses, ['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 200']);
    const text = connection.received();
    assert.ok(text.indexOf('[DONE]') < text.indexOf('"completion_tokens":3'));
    assert.ok(text.indexOf('"completion_tokens":3') < text.indexOf('"count":2'));
  });
});

test('a body over the limit is 413 with a length and without one, and closes the connection', async () => {
  await withApp({ settings: { bodyLimitBytes: 1000 } }, async (app) => {
    const big = await post(app, PATH, { prompt: 'x'.repeat(2000) });
    assert.equal(big.status, 413);
    assert.equal(errorBody.parse(big.json).error.code, 'body_too_large');
    const chunked = await rawConnection(app);
    const chunk = `200\r\n${'x'.repeat(512)}\r\n`;
    chunked.socket.write(
      `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(4)}`,
    );
    await chunked.closed;
    assert.match(chunked.received(), /^HTTP\/1\.1 413 /);
    await stillServes(app);
  });
});

test('"Expect: 100-continue" is invited at once, but not when the body is too large', async () => {
  await withApp({ settings: { bodyLimitBytes: 1000 } }, async (app) => {
    const [head = '', body = ''] = rawPost(
      PATH,
      { prompt: 'a', max_tokens: 1 },
      'Expect: 100-continue\r\nConnection: close\r\n',
    ).split('\r\n\r\n');
    const fine = await rawConnection(app);
    fine.socket.write(`${head}\r\n\r\n`);
    await eventually(() => fine.received().startsWith('HTTP/1.1 100 '), 'the body is asked for');
    fine.socket.write(body);
    await fine.closed;
    assert.match(fine.received(), /HTTP\/1\.1 200 /);
    const large = await rawConnection(app);
    large.socket.write(
      `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5000\r\nExpect: 100-continue\r\n\r\n`,
    );
    await large.closed;
    assert.match(large.received(), /^HTTP\/1\.1 413 /);
  });
});

const malformed: [string, string, number][] = [
  [
    'headers over 16 KiB',
    `GET /health HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`,
    431,
  ],
  ['no HTTP at all', 'hello there\r\n\r\n', 400],
  [
    'a length and chunks',
    `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
  ],
  [
    'two lengths',
    `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc`,
    400,
  ],
  ['a negative length', `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n`, 400],
  ['no host', 'GET /health HTTP/1.1\r\n\r\n', 400],
];

test('malformed HTTP is answered with its status and the connection closed', async () => {
  await withApp({}, async (app) => {
    for (const [what, bytes, status] of malformed) {
      const connection = await rawConnection(app);
      connection.socket.write(bytes);
      await connection.closed;
      assert.match(connection.received(), new RegExp(`^HTTP/1\\.1 ${status} `), what);
    }
    await stillServes(app);
  });
});

test('bodies that are no UTF-8, no JSON or of another type are 400', async () => {
  await withApp({}, async (app) => {
    const bodies: [string | Uint8Array, Record<string, string>][] = [
      [Uint8Array.of(0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d), {}],
      ['{"prompt": ', {}],
      ['', {}],
      ['null', {}],
      ['"text"', {}],
      ['{"prompt":"a"}', { 'content-type': 'text/plain' }],
      [`{"prompt":${'['.repeat(50_000)}${']'.repeat(50_000)}}`, {}],
    ];
    for (const [body, headers] of bodies) {
      const answer = await post(app, PATH, body, headers);
      assert.equal(answer.status, 400, String(body).slice(0, 40));
      errorBody.parse(answer.json);
      assert.ok(answer.text.length < 1000);
    }
    await stillServes(app);
  });
});

test('unknown paths are 404 and wrong methods 405, in the same form', async () => {
  await withApp({}, async (app) => {
    const missing = await get(app, '/v1/nothing');
    assert.equal(missing.status, 404);
    errorBody.parse(missing.json);
    const wrong = await get(app, PATH);
    assert.equal(wrong.status, 405);
    assert.equal(wrong.headers.get('allow'), 'POST');
    const model = await get(app, '/v1/models/other');
    assert.equal(model.status, 404);
    assert.equal((await get(app, '/v1/models/alias')).json.id, 'alias');
  });
});

test('overload is answered at once with 503 and Retry-After, and passes', async () => {
  await withApp({ limit: 2, stepMs: 5 }, async (app) => {
    const both = [1, 2].map(() => post(app, PATH, { ...long, max_tokens: 50 }));
    await eventually(() => app.admission.held === 2, 'the server is full');
    const refused = await post(app, PATH, long);
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get('retry-after'), '1');
    assert.equal(errorBody.parse(refused.json).error.code, 'overloaded');
    assert.equal((await get(app, '/health')).status, 200);
    for (const answer of await Promise.all(both)) assert.equal(answer.status, 200);
    await stillServes(app);
  });
});

test('a request beyond its time gets 504, or an error event once its stream has begun', async () => {
  await withApp({ stepMs: 10, settings: { requestTimeoutMs: 100 } }, async (app) => {
    const whole = await post(app, PATH, long);
    assert.equal(whole.status, 504);
    const events = readEvents((await post(app, PATH, { ...long, stream: true })).text);
    assert.ok(events.length > 1);
    assert.equal(errorBody.parse(events.at(-1)).error.code, 'request_timeout');
    await eventually(() => isIdle(app), 'nothing runs');
  });
});

test('when the engine dies every request is told, /health is 503, and newcomers get 500', async () => {
  await withApp({ stepMs: 5, crashAtStep: 10 }, async (app) => {
    const [streamed, whole] = await Promise.all([
      post(app, PATH, { ...long, stream: true }),
      post(app, PATH, long),
    ]);
    assert.equal(
      errorBody.parse(readEvents(streamed?.text ?? '').at(-1)).error.code,
      'engine_dead',
    );
    assert.equal(whole?.status, 500);
    errorBody.parse(whole?.json);
    const health = await get(app, '/health');
    assert.equal(health.status, 503);
    assert.equal(health.json.status, 'dead');
    assert.equal((await post(app, PATH, long)).status, 500);
    assert.equal(app.admission.held, 0);
    assert.equal(app.engine.failure, 'the fake runner was told to crash');
  });
});

test('a stream that is cut by a shutdown ends with an error event and [DONE]', async () => {
  const app = await startTestApp({ stepMs: 5 });
  const streaming = post(app, PATH, { ...long, stream: true });
  await eventually(() => app.engine.stats().steps > 5, 'it streams');
  await app.engine.close();
  const events = readEvents((await streaming).text);
  assert.equal(errorBody.parse(events.at(-1)).error.code, 'shutting_down');
  await app.close();
});

test('keys guard everything but the open paths', async () => {
  await withApp({ settings: { apiKeys: ['first', 'second'] } }, async (app) => {
    for (const path of ['/health', '/version', '/metrics']) {
      assert.equal((await get(app, path)).status, 200, path);
    }
    for (const path of ['/v1/models', '/debug/steps', '/server_info', '/nothing']) {
      assert.equal((await get(app, path)).status, 401, path);
    }
    for (const authorization of [
      'Bearer wrong',
      'Bearer ',
      'first',
      'Bearer firs',
      'Basic Zmlyc3Q=',
    ]) {
      const answer = await post(app, PATH, { prompt: 'a' }, { authorization });
      assert.equal(answer.status, 401, authorization);
      errorBody.parse(answer.json);
    }
    for (const key of ['first', 'second']) {
      const authorization = `Bearer ${key}`;
      assert.equal((await post(app, PATH, { prompt: 'a' }, { authorization })).status, 200);
    }
  });
});

test('a client request id is repeated to it, unless it is absurdly long, and ids may be equal', async () => {
  await withApp({}, async (app) => {
    const headers = { 'x-request-id': 'mine' };
    const answers = await Promise.all([1, 2].map(() => post(app, PATH, { prompt: 'a' }, headers)));
    for (const answer of answers) assert.equal(answer.headers.get('x-request-id'), 'mine');
    assert.notEqual(answers[0]?.json.id, answers[1]?.json.id);
    const streamed = await post(app, PATH, { prompt: 'a', stream: true }, headers);
    assert.equal(streamed.headers.get('x-request-id'), 'mine');
    const absurd = await post(app, PATH, { prompt: 'a' }, { 'x-request-id': 'x'.repeat(5000) });
    assert.equal(absurd.headers.get('x-request-id'), null);
  });
});

test('idle connections are kept longer than the pools of clients', async () => {
  await withApp({}, async (app) => {
    const { headers } = await get(app, '/health');
    assert.match(headers.get('keep-alive') ?? '', /timeout=3\d\d/);
  });
});

test('a prompt of megabytes is refused without keeping /health waiting', async () => {
  const settings = { bodyLimitBytes: 64 * 2 ** 20 };
  await withApp({ settings }, async (app) => {
    const huge = post(app, PATH, { prompt: 'x'.repeat(27 * 2 ** 20) });
    let slowest = 0;
    let answered = false;
    const status = huge.then((answer) => {
      answered = true;
      return answer.status;
    });
    while (!answered) {
      const began = performance.now();
      await get(app, '/health');
      slowest = Math.max(slowest, performance.now() - began);
    }
    assert.equal(await status, 400);
    // What is judged is that the loop is not held for the seconds that tokenising takes.
    assert.ok(slowest < 1000, `${slowest} ms`);
    const long = await post(app, PATH, {
      prompt: 'y'.repeat(20_000),
      truncate_prompt_tokens: 100,
      max_tokens: 1,
    });
    assert.equal(long.json.usage.prompt_tokens, 100);
  });
});

test('a fault in one request ends that request alone', async () => {
  const broken = byteTokenizer();
  const tokenBytes = (id: number): Uint8Array => {
    if (id === 66) throw new Error('this token cannot be read');
    return broken.tokenBytes(id);
  };
  await withApp({ model: { tokenizer: { ...broken, tokenBytes } } }, async (app) => {
    const ask = (id: number, stream: boolean) =>
      post(app, PATH, { prompt: 'a', max_tokens: 5, allowed_token_ids: [id], stream });
    const [bad, good, streamed] = await Promise.all([
      ask(66, false),
      ask(65, false),
      ask(66, true),
    ]);
    assert.equal(bad?.status, 500);
    assert.equal(streamed?.status, 500);
    assert.equal(good?.json.choices[0].text, 'AAAAA');
    await eventually(() => isIdle(app), 'its blocks are free');
  });
});

test('a request of more sequences than the server holds is told so', async () => {
  await withApp({ limit: 4 }, async (app) => {
    assert.equal((await post(app, PATH, { prompt: ['a', 'b', 'c'], n: 2 })).status, 400);
  });
});

test('log-probabilities that would not fit in memory are refused', async () => {
  await withApp({ scheduler: { maxModelLength: 16_384, blockCount: 1024 } }, async (app) => {
    const prompt = Array(9000).fill(1);
    assert.equal((await post(app, PATH, { prompt, prompt_logprobs: -1 })).status, 400);
    assert.equal(
      (await post(app, PATH, { prompt: 'a', max_tokens: 9000, logprobs: -1 })).status,
      400,
    );
  });
});

test('while the server drains, requests run on, newcomers get 503 and /health says so', async () => {
  await withApp({ stepMs: 5 }, async (app) => {
    const running = post(app, PATH, { ...long, max_tokens: 40 });
    await eventually(() => app.engine.stats().running === 1, 'it runs');
    app.admission.drain();
    const health = await get(app, '/health');
    assert.equal(health.status, 503);
    assert.equal(health.json.status, 'draining');
    const late = await post(app, PATH, long);
    assert.equal(late.status, 503);
    assert.equal(errorBody.parse(late.json).error.code, 'shutting_down');
    assert.equal((await running).status, 200);
  });
});
