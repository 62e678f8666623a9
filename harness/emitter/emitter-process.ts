// Starts the emitter in a process of its own, and leaves none behind.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { HarnessError } from '../errors.ts';
import type { EmitterGreeting } from './main.ts';
import { type EmitterOptions, type EmitterStats, emitterStatsSchema } from './options.ts';

export interface EmitterProcess {
  baseUrl: string;
  pid: number;
  /** What it says of its own lateness. */
  stats(): Promise<EmitterStats>;
  stop(): Promise<void>;
}

const MAIN = fileURLToPath(new URL('./main.js', import.meta.url));
const START_TIMEOUT_MS = 10_000;

/** Resolves when it listens; rejects with SERVER_NOT_READY and its own words when it does not come up. */
export async function startEmitterProcess(
  options: Partial<EmitterOptions> = {},
): Promise<EmitterProcess> {
  const child = fork(MAIN, [JSON.stringify(options)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: [],
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const greeting = await new Promise<EmitterGreeting>((resolve) => {
    const timer = setTimeout(
      () => resolve({ error: `no answer within ${START_TIMEOUT_MS} ms` }),
      START_TIMEOUT_MS,
    );
    const settle = (greeted: EmitterGreeting) => {
      clearTimeout(timer);
      resolve(greeted);
    };
    child.once('message', (message) => settle(message as EmitterGreeting));
    child.once('error', (error) => settle({ error: error.message }));
    child.once('exit', (code) => settle({ error: `it exited with ${code}` }));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await exited;
  };
  if ('error' in greeting || child.pid === undefined) {
    child.kill('SIGKILL');
    const reason = 'error' in greeting ? greeting.error : 'it has no pid';
    throw new HarnessError('SERVER_NOT_READY', `The emitter did not start: ${reason}.`);
  }
  const { baseUrl } = greeting;
  return {
    baseUrl,
    pid: child.pid,
    stats: async () => {
      const response = await fetch(`${baseUrl}/emitter/stats`);
      return emitterStatsSchema.parse(await response.json());
    },
    stop,
  };
}
