import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dialectOf } from '../client/dialect.ts';
import {
  chunk,
  LAST_CHUNK,
  type ScriptedServer,
  STREAM_HEAD,
  type Step,
  scriptedServer,
} from '../client/scripted-server.ts';
import { measureCell } from '../metrics/measure.ts';
import { type DriveOptions, drive, driveOpenLoop } from './drive.ts';

function answer(tokens: number, gapMs: number): Step[] {
  const steps: Step[] = [{ write: STREAM_HEAD }];
  for (let token = 0; token < tokens; token += 1) {
    steps.push({ waitMs: gapMs }, chunk('data: {"choices":[{"index":0,"text":"a"}]}\n\n'));
  }
  const usage = `{"prompt_tokens":4,"completion_tokens":${tokens}}`;
  steps.push(
    chunk('data: {"choices":[{"index":0,"text":"","finish_reason":"length"}]}\n\n'),
    chunk(`data: {"choices":[],"usage":${usage}}\n\ndata: [DONE]\n\n`),
    LAST_CHUNK,
  );
  return steps;
}

function optionsFor(server: ScriptedServer, changes: Partial<DriveOptions> = {}): DriveOptions {
  return {
    baseUrl: server.baseUrl,
    model: 'm',
    endpoint: 'completions',
    dialect: dialectOf('mxbench'),
    concurrency: 4,
    outputTokens: 3,
    warmUpRequests: 4,
    requests: 12,
    prompt: (index) => ({ tokenIds: [index, 1, 2, 3] }),
    requestTimeoutMs: 5000,
    signal: new AbortController().signal,
    ...changes,
  };
}

test('a closed loop holds exactly c in flight, from warm-up to the last measured request', async () => {
  const server = await scriptedServer({ steps: () => answer(3, 10) });
  try {
    const result = await drive(optionsFor(server));
    assert.equal(result.peakInFlight, 4);
    assert.ok(result.shareAtConcurrency > 0.8, `share ${result.shareAtConcurrency}`);
    assert.equal(result.connectionsOpened, 4);
    assert.equal(result.reconnects, 0);
    const phases = result.timelines.map(({ phase }) => phase);
    assert.deepEqual(phases.slice(0, 16), [
      ...Array(4).fill('warm-up'),
      ...Array(12).fill('measured'),
    ]);
    assert.ok(phases.slice(16).every((phase) => phase === 'drain'));
    for (const timeline of result.timelines) {
      if (timeline.phase === 'drain') assert.equal(timeline.failure?.code, 'aborted');
      else assert.equal(timeline.failure, undefined);
    }
    const cell = measureCell(result);
    assert.equal(cell.succeeded, 12);
    assert.equal(cell.ttftMs?.n, 12);
    assert.equal(cell.itlMs?.n, 24);
    assert.ok((cell.tpotMs?.mean ?? 0) >= 9);
  } finally {
    await server.close();
  }
});

test('the prompts reach the server in the order of their indexes, each exactly once', async () => {
  const server = await scriptedServer({ steps: () => answer(1, 1) });
  try {
    await drive(optionsFor(server, { concurrency: 2, outputTokens: 1 }));
    const firsts = server.bodies.map((body) => JSON.parse(body).prompt[0] as number);
    assert.equal(new Set(firsts).size, firsts.length);
    assert.deepEqual(
      firsts.slice(0, 16).toSorted((a, b) => a - b),
      Array.from({ length: 16 }, (_, index) => index),
    );
  } finally {
    await server.close();
  }
});

test('an interrupted run keeps what was measured and says so', async () => {
  const controller = new AbortController();
  let seen = 0;
  const server = await scriptedServer({
    steps: () => {
      seen += 1;
      // The thirteenth request: eight have ended, the first four of them warm-up.
      if (seen === 13) controller.abort();
      return answer(3, 20);
    },
  });
  try {
    const result = await drive(optionsFor(server, { requests: 10_000, signal: controller.signal }));
    assert.equal(result.interrupted, true);
    const measured = result.timelines.filter(({ phase }) => phase === 'measured');
    assert.ok(measured.some(({ failure }) => failure === undefined));
    assert.equal(measured.filter(({ failure }) => failure?.code === 'aborted').length, 4);
    assert.equal(measureCell(result).interrupted, true);
  } finally {
    await server.close();
  }
});

test('a server that dies in the run leaves typed failures and the run ends', async () => {
  const server = await scriptedServer({ steps: () => answer(3, 10) });
  setTimeout(() => void server.close(), 60);
  const result = await drive(optionsFor(server, { requests: 40 }));
  const cell = measureCell(result);
  assert.equal(cell.succeeded + cell.failed, 40);
  assert.ok(cell.failed > 0);
  for (const code of Object.keys(cell.failuresByCode)) {
    assert.ok(code === 'truncated' || code === 'connect', code);
  }
});

test('a server that cannot be reached rejects before anything is measured', async () => {
  const server = await scriptedServer({ steps: () => [] });
  await server.close();
  await assert.rejects(drive(optionsFor(server)), /ECONNREFUSED/);
});

test('impossible options are refused with the value', async () => {
  const server = await scriptedServer({ steps: () => [] });
  try {
    await assert.rejects(drive(optionsFor(server, { concurrency: 0 })), /concurrency is 0/);
    await assert.rejects(drive(optionsFor(server, { requests: 0 })), /requests is 0/);
  } finally {
    await server.close();
  }
});

test('progress tells how much is left', async () => {
  const server = await scriptedServer({ steps: () => answer(3, 30) });
  try {
    const seen: { finished: number; remainingMs?: number }[] = [];
    await drive(optionsFor(server, { onProgress: (progress) => void seen.push(progress) }));
    assert.ok(seen.length >= 1);
    assert.ok(seen.some(({ remainingMs }) => (remainingMs ?? 0) > 0));
  } finally {
    await server.close();
  }
});

test('open loop sends by the schedule although earlier requests are still running', async () => {
  const server = await scriptedServer({ steps: () => answer(3, 30) });
  try {
    const arrivalsNs = Array.from({ length: 8 }, (_, index) => index * 20e6);
    const result = await driveOpenLoop({
      ...optionsFor(server),
      arrivalsNs,
      warmUpRequests: 2,
      connections: 8,
    });
    const cell = measureCell(result, { from: 'intended' });
    assert.equal(cell.succeeded, 6);
    assert.ok(result.peakInFlight >= 3);
    assert.ok(cell.implausible.every(({ code }) => code !== 'concurrency_not_held'));
  } finally {
    await server.close();
  }
});

test('open loop with too few connections counts the waiting from the schedule', async () => {
  const server = await scriptedServer({ steps: () => answer(2, 20) });
  try {
    const result = await driveOpenLoop({
      ...optionsFor(server, { outputTokens: 2 }),
      arrivalsNs: [0, 0, 0, 0],
      warmUpRequests: 0,
      connections: 1,
    });
    const late = measureCell(result, { from: 'intended' }).ttftMs;
    const sent = measureCell(result).ttftMs;
    assert.ok((late?.max ?? 0) > (sent?.max ?? 0) + 60, `${late?.max} ${sent?.max}`);
    assert.equal(result.peakInFlight, 1);
  } finally {
    await server.close();
  }
});
