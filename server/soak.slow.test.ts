import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { get, rawPost } from './testing/http-client.ts';

const MAIN = fileURLToPath(new URL('./main.js', import.meta.url));
const MODEL = fileURLToPath(new URL('../../models/tiny-llama', import.meta.url));
const SECONDS = 300;
const CLIENTS = 32;

function residentBytes(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * 4096;
}

/** One request of a random kind; resolves when its socket is closed. */
async function oneRequest(port: number): Promise<void> {
  const kind = Math.random();
  const length = 1 + Math.floor(Math.random() * 300);
  const good = {
    prompt: Array.from({ length }, () => Math.floor(Math.random() * 4000)),
    max_tokens: 1 + Math.floor(Math.random() * 60),
    ignore_eos: true,
    stream: Math.random() < 0.7,
    temperature: Math.random() < 0.5 ? 0 : 1,
    ...(Math.random() < 0.1 && { n: 3 }),
    ...(Math.random() < 0.1 && { logprobs: 3 }),
    ...(Math.random() < 0.1 && { stop: ['the', ' a'] }),
    ...(Math.random() < 0.05 && { structured_outputs: { regex: '[a-z ]{5,20}' } }),
  };
  const bad = { prompt: [], max_tokens: -1 };
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  const closed = once(socket, 'close');
  socket.write(rawPost('/v1/completions', kind < 0.1 ? bad : good, 'Connection: close\r\n'));
  if (kind > 0.8) setTimeout(() => socket.destroy(), Math.random() * 300);
  if (kind > 0.1 && kind < 0.15) {
    socket.pause();
    setTimeout(() => socket.resume(), 500);
  }
  socket.resume();
  await closed;
}

async function load(port: number, seconds: number): Promise<number> {
  const until = performance.now() + seconds * 1000;
  let requests = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < until) {
      await oneRequest(port);
      requests += 1;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return requests;
}

test('five minutes of mixed load lose no block and no memory', async () => {
  const flags = [
    'serve',
    '--model',
    MODEL,
    '--port',
    '0',
    '--debug-endpoints',
    '--max-model-len',
    '512',
    '--kv-memory',
    '10MiB',
  ];
  const child = spawn(process.execPath, [MAIN, ...flags, '--enable-prefix-caching']);
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const [line] = await once(child.stdout, 'data');
  const url = /ready on (http:\S+)/.exec(String(line))?.[1] ?? '';
  const port = Number(new URL(url).port);
  const pid = child.pid ?? 0;
  const idle = async () => (await get({ url }, '/debug/stats')).json;
  const atStart = await idle();
  await load(port, SECONDS / 4);
  const warm = residentBytes(pid);
  const requests = await load(port, (SECONDS * 3) / 4);
  const grown = residentBytes(pid);
  let stats = await idle();
  for (let round = 0; round < 100 && stats.running + stats.waiting > 0; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    stats = await idle();
  }
  assert.equal(stats.running + stats.waiting, 0);
  assert.equal(stats.kvBlocksFree, atStart.kvBlocksFree);
  assert.ok(requests > SECONDS, `${requests} requests`);
  assert.ok(stats.preemptions > 0, 'the pool was under pressure');
  assert.ok(grown < warm * 1.02, `${warm} grew to ${grown} bytes`);
  assert.equal(stderr, '');
  child.kill('SIGTERM');
  const [code] = await once(child, 'exit');
  assert.equal(code, 0);
});
