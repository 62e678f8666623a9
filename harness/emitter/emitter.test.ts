import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dialectOf } from '../client/dialect.ts';
import { drive } from '../load/drive.ts';
import { measureCell } from '../metrics/measure.ts';
import { parseStamps } from './emission.ts';
import { EMITTER_MODEL, startEmitter } from './emitter.ts';
import { type EmitterOptions, emitterOptionsSchema, FAULTS, type Fault } from './options.ts';

async function measure(options: Partial<EmitterOptions>, endpoint: 'completions' | 'chat') {
  const emitter = await startEmitter(
    emitterOptionsSchema.parse({ ttftMs: 5, itlMs: 2, ...options }),
  );
  try {
    const result = await drive({
      baseUrl: emitter.baseUrl,
      model: EMITTER_MODEL,
      endpoint,
      dialect: dialectOf('mxbench'),
      concurrency: 2,
      outputTokens: 6,
      warmUpRequests: 2,
      requests: 4,
      prompt: (index) =>
        endpoint === 'chat' ? { text: `hello ${index}` } : { tokenIds: [index, 1, 2, 3] },
      requestTimeoutMs: 400,
      signal: new AbortController().signal,
    });
    return { result, cell: measureCell(result), stats: emitter.stats() };
  } finally {
    await emitter.close();
  }
}

test('every token says when it left: never before its deadline, never after the client saw it', async () => {
  const { result, cell, stats } = await measure({}, 'completions');
  assert.equal(cell.succeeded, 4);
  for (const timeline of result.timelines) {
    if (timeline.phase !== 'measured') continue;
    const stamps = parseStamps(timeline.text);
    assert.equal(stamps?.length, 6);
    const receivedNs = stamps?.[0]?.receivedNs ?? Number.NaN;
    assert.ok(receivedNs >= Number(result.originNs) + timeline.sentNs);
    for (const [index, { emittedNs }] of (stamps ?? []).entries()) {
      assert.ok(emittedNs >= receivedNs + (5 + 2 * index) * 1e6, `token ${index} is too early`);
      const seenNs = Number(result.originNs) + (timeline.contentNs[index] ?? 0);
      assert.ok(emittedNs <= seenNs, `token ${index} was seen before it left`);
    }
  }
  assert.ok(stats.events >= 6 * 6);
  assert.ok(stats.latenessNs.max >= stats.latenessNs.p50);
});

test('chat answers carry the same stamps', async () => {
  const { result, cell } = await measure({}, 'chat');
  assert.equal(cell.succeeded, 4);
  const first = result.timelines.find(({ phase }) => phase === 'measured');
  assert.equal(parseStamps(first?.text ?? '')?.length, 6);
});

const VERDICTS: Readonly<Record<Fault, string>> = {
  none: 'success',
  role_first: 'success',
  comments: 'success',
  crlf: 'success',
  close_kept: 'success',
  cut: 'truncated',
  reset: 'truncated',
  error: 'stream_error',
  no_done: 'truncated',
  no_usage: 'no_usage',
  short: 'wrong_finish_reason',
  cached: 'cached_tokens',
  miscount: 'output_length',
  stall: 'timeout',
  status: 'status',
};
for (const fault of FAULTS) {
  test(`the planted fault ${fault} gives ${VERDICTS[fault]}`, async () => {
    const { cell, result } = await measure({ fault }, 'completions');
    if (VERDICTS[fault] === 'success') assert.equal(cell.succeeded, 4);
    else assert.deepEqual(cell.failuresByCode, { [VERDICTS[fault]]: 4 });
    if (fault === 'close_kept') assert.ok(result.reconnects > 0);
  });
}

test('several tokens in an event are told by usage, and time stretches with them', async () => {
  const { cell } = await measure({ tokensPerEvent: 3 }, 'completions');
  assert.equal(cell.succeeded, 4);
  assert.equal(cell.tokensPerEvent, 3);
});

test('a request that makes no sense is refused in one sentence', async () => {
  const emitter = await startEmitter(emitterOptionsSchema.parse({}));
  try {
    const post = async (body: string) => {
      const response = await fetch(`${emitter.baseUrl}/v1/completions`, { method: 'POST', body });
      const answer = (await response.json()) as { error: { message: string } };
      return [response.status, answer.error.message] as const;
    };
    assert.deepEqual(await post('{'), [400, 'The body is not JSON.']);
    assert.match((await post('{"stream":false}'))[1], /only streams/);
    assert.match((await post('{"stream":true,"max_tokens":0}'))[1], /max_tokens/);
    const lost = await fetch(`${emitter.baseUrl}/v2`);
    assert.equal(lost.status, 404);
  } finally {
    await emitter.close();
  }
});

test('a port in use is named', async () => {
  const first = await startEmitter(emitterOptionsSchema.parse({}));
  const port = Number(new URL(first.baseUrl).port);
  try {
    await assert.rejects(startEmitter(emitterOptionsSchema.parse({ port })), {
      code: 'PORT_IN_USE',
    });
  } finally {
    await first.close();
  }
});

test('text that is not of an emitter gives no stamps', () => {
  assert.equal(parseStamps('hello world'), undefined);
  assert.deepEqual(parseStamps('1/2 3 '), [{ emittedNs: 2, receivedNs: 1 }, { emittedNs: 3 }]);
});
