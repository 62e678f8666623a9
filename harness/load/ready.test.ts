import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dialectOf } from '../client/dialect.ts';
import { type Script, type Step, scriptedServer } from '../client/scripted-server.ts';
import { startEmitter } from '../emitter/emitter.ts';
import { emitterOptionsSchema } from '../emitter/options.ts';
import { type ReadyOptions, waitUntilReady } from './ready.ts';

function options(baseUrl: string, changes: Partial<ReadyOptions> = {}): ReadyOptions {
  return {
    baseUrl,
    model: 'm',
    endpoint: 'completions',
    dialect: dialectOf('openai'),
    signal: new AbortController().signal,
    prompt: () => ({ tokenIds: [1, 2, 3, 4] }),
    outputTokens: 4,
    timeoutMs: 5000,
    ...changes,
  };
}

function refusal(status: number): Step[] {
  const body = '{"error":"no"}';
  return [{ write: `HTTP/1.1 ${status} No\r\ncontent-length: ${body.length}\r\n\r\n${body}` }];
}

async function withServer(script: Script, use: (baseUrl: string) => Promise<void>) {
  const server = await scriptedServer(script);
  try {
    await use(server.baseUrl);
  } finally {
    await server.close();
  }
}

test('a server that generates right is ready', async () => {
  const emitter = await startEmitter(emitterOptionsSchema.parse({ ttftMs: 1, itlMs: 1 }));
  try {
    await waitUntilReady(options(emitter.baseUrl));
  } finally {
    await emitter.close();
  }
});

test('a server that still loads is waited for, one that listens only later too', async () => {
  const probe = await startEmitter(emitterOptionsSchema.parse({}));
  const port = Number(new URL(probe.baseUrl).port);
  await probe.close();
  const reasons: string[] = [];
  const ready = waitUntilReady(
    options(probe.baseUrl, { onWaiting: (reason) => void reasons.push(reason) }),
  );
  await new Promise((resolve) => setTimeout(resolve, 300));
  const emitter = await startEmitter(emitterOptionsSchema.parse({ port, ttftMs: 1, itlMs: 1 }));
  try {
    await ready;
    assert.ok(reasons.some((reason) => reason.includes('ECONNREFUSED')));
  } finally {
    await emitter.close();
  }
});

test('503 is waited out until the time is up', async () => {
  await withServer({ steps: () => refusal(503) }, async (baseUrl) => {
    await assert.rejects(waitUntilReady(options(baseUrl, { timeoutMs: 500 })), {
      code: 'SERVER_NOT_READY',
      message: /not ready within 1 s: status: .*503/,
    });
  });
});

test('a refusal of the request itself is no use waiting for', async () => {
  await withServer({ steps: () => refusal(400) }, async (baseUrl) => {
    await assert.rejects(waitUntilReady(options(baseUrl)), {
      code: 'SERVER_WRONG',
      message: /400/,
    });
  });
});

test('a server that answers with another length is wrong', async () => {
  const emitter = await startEmitter(
    emitterOptionsSchema.parse({ ttftMs: 1, itlMs: 1, fault: 'short' }),
  );
  try {
    await assert.rejects(waitUntilReady(options(emitter.baseUrl)), {
      code: 'SERVER_WRONG',
      message: /finish_reason is "stop"/,
    });
  } finally {
    await emitter.close();
  }
});

test('a process that died ends the waiting with its own reason', async () => {
  await withServer({ steps: () => refusal(503) }, async (baseUrl) => {
    const gone = () => 'The server exited with code 1.';
    await assert.rejects(waitUntilReady(options(baseUrl, { gone })), {
      code: 'SERVER_NOT_READY',
      message: /exited with code 1/,
    });
  });
});

test('an interrupt ends the waiting', async () => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 100);
  await withServer({ steps: () => refusal(503) }, async (baseUrl) => {
    await assert.rejects(waitUntilReady(options(baseUrl, { signal: controller.signal })), {
      code: 'INTERRUPTED',
    });
  });
});
