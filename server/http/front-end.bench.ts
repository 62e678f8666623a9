// What a streamed token costs the front end's thread: a fake engine emits a step every few milliseconds to eight streams,
// clients read in another process, and the thread's own CPU time is read from the kernel before and after.
//
//     node dist/server/http/front-end.bench.js [MILLISECONDS_PER_STEP]
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { rawPost } from '../testing/http-client.ts';
import { startTestApp } from '../testing/test-app.ts';

const STREAMS = 8;
const ROUNDS = 8;
const TOKENS = 128;

interface Mark {
  port: number;
  cpuNs: number;
  steps: number;
}

async function serve(stepMs: number): Promise<void> {
  const app = await startTestApp({ stepMs, scheduler: { maxTokensPerStep: 512 } });
  const cpuNs = (): number => {
    const schedstat = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8');
    return Number(schedstat.split(' ')[0]);
  };
  const mark = (): void => {
    process.send?.({ port: app.port, cpuNs: cpuNs(), steps: app.engine.stats().steps });
  };
  process.on('message', mark);
  process.on('disconnect', () => void app.close());
  mark();
}

async function mark(server: ChildProcess): Promise<Mark> {
  server.send('mark');
  const [answer] = await once(server, 'message');
  return answer as Mark;
}

/** Sends one request and reads its stream to the end. */
function readStream(socket: Socket, request: string): Promise<void> {
  return new Promise((resolve) => {
    let tail = '';
    const onData = (chunk: Buffer): void => {
      tail = (tail + chunk.toString('latin1')).slice(-16);
      if (!tail.endsWith('\r\n0\r\n\r\n')) return;
      socket.off('data', onData);
      resolve();
    };
    socket.on('data', onData);
    socket.write(request);
  });
}

async function runAll(sockets: readonly Socket[], request: string): Promise<void> {
  const one = async (socket: Socket): Promise<void> => {
    for (let round = 0; round < ROUNDS; round += 1) await readStream(socket, request);
  };
  await Promise.all(sockets.map(one));
}

async function measure(stepMs: number): Promise<void> {
  const server = fork(fileURLToPath(import.meta.url), [String(stepMs), 'serve']);
  const [{ port }] = (await once(server, 'message')) as [Mark];
  const sockets = Array.from({ length: STREAMS }, () => connect(port, '127.0.0.1'));
  const request = rawPost('/v1/completions', {
    prompt: Array.from({ length: 256 }, (_, index) => index % 200),
    max_tokens: TOKENS,
    ignore_eos: true,
    allowed_token_ids: [97],
    temperature: 0,
    stream: true,
    stream_options: { include_usage: true },
  });
  await runAll(sockets, request);
  const before = await mark(server);
  await runAll(sockets, request);
  const after = await mark(server);
  const us = (after.cpuNs - before.cpuNs) / 1000;
  const perToken = us / (STREAMS * ROUNDS * TOKENS);
  const perStep = us / (after.steps - before.steps);
  process.stdout.write(
    `front end: ${perToken.toFixed(1)} us of CPU per token, ${perStep.toFixed(0)} us per step of ${STREAMS} streams (a step every ${stepMs} ms)\n`,
  );
  for (const socket of sockets) socket.destroy();
  server.disconnect();
}

const stepMs = Number(process.argv[2] ?? 5);
await (process.argv[3] === 'serve' ? serve(stepMs) : measure(stepMs));
