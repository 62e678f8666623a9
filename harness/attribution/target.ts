// The server under attribution: the bundled one started with its function names visible to perf, one started by a command,
// or one that already runs. Whatever it starts it ends, and the scratch folder that the server wrote into goes with it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SERVER_MAIN } from '../arms/bundled.ts';
import { identify, type ServerIdentity } from '../arms/identity.ts';
import { listenerOf } from '../arms/listener.ts';
import { HarnessError } from '../errors.ts';
import type { AttributeOptions } from './attribute-options.ts';

export interface Target {
  baseUrl: string;
  pid: number;
  identity: ServerIdentity;
  /** How it was started, or how it calls itself. */
  command: string;
  stop(): Promise<void>;
}

/** Function names of JavaScript for perf, and interpreted functions as frames of their own. */
const NAMED_JAVASCRIPT = ['--perf-basic-prof', '--interpreted-frames-native-stack'];
const START_TIMEOUT_MS = 600_000;
const STOP_TIMEOUT_MS = 10_000;
const KEPT_WORDS = 4_096;

class Started {
  readonly child: ChildProcess;
  readonly #scratch = mkdtempSync(join(tmpdir(), 'bench-server-'));
  #words = '';
  #output = '';

  constructor(command: string, args: readonly string[], shell: boolean) {
    // Runtimes write logs into their working folder when functions are named, so it is one of its own.
    this.child = spawn(command, args, {
      cwd: this.#scratch,
      shell,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.child.stdout?.on('data', (data: Buffer) => {
      this.#output = (this.#output + data.toString('utf8')).slice(-KEPT_WORDS);
    });
    this.child.stderr?.on('data', (data: Buffer) => {
      this.#words = (this.#words + data.toString('utf8')).slice(-KEPT_WORDS);
    });
    this.child.on('error', () => undefined);
  }

  /** Waits until `ready` gives something; SERVER_NOT_READY carries the server's last words. */
  async until<T>(
    ready: (output: string) => Promise<T | undefined>,
    signal: AbortSignal,
  ): Promise<T> {
    const deadline = performance.now() + START_TIMEOUT_MS;
    while (
      this.child.exitCode === null &&
      this.child.signalCode === null &&
      performance.now() < deadline
    ) {
      if (signal.aborted)
        throw new HarnessError('INTERRUPTED', 'Interrupted while the server was starting.');
      const found = await ready(this.#output);
      if (found !== undefined) return found;
      await sleep(100);
    }
    const said = this.#words.trim().split('\n').slice(-3).join(' ') || 'nothing';
    throw new HarnessError('SERVER_NOT_READY', `The server did not become ready; it said: ${said}`);
  }

  async stop(): Promise<void> {
    const { child } = this;
    const running = () => child.exitCode === null && child.signalCode === null;
    if (child.pid !== undefined && running()) {
      const exited = once(child, 'exit');
      signalGroup(child.pid, 'SIGTERM');
      const timer = setTimeout(() => signalGroup(child.pid ?? 0, 'SIGKILL'), STOP_TIMEOUT_MS);
      await exited;
      clearTimeout(timer);
    }
    rmSync(this.#scratch, { recursive: true, force: true });
    if (child.pid !== undefined) rmSync(join(tmpdir(), `perf-${child.pid}.map`), { force: true });
  }
}

/** Signals the process group that we made; a group that is gone is no error. */
function signalGroup(pid: number, signal: NodeJS.Signals): void {
  if (pid <= 0) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended.
  }
}

function bundledArguments(options: AttributeOptions, flags: readonly string[]): string[] {
  const model = options.model ?? 'synthetic:tiny-qwen3';
  const known = model.startsWith('synthetic:') ? model : resolve(model);
  const threads = options.threads === undefined ? [] : ['--threads', String(options.threads)];
  return [
    ...(options.perf ? NAMED_JAVASCRIPT : []),
    SERVER_MAIN,
    'serve',
    '--model',
    known,
    '--host',
    '127.0.0.1',
    '--port',
    '0',
    '--debug-endpoints',
    '--exit-with-parent',
    '--max-num-seqs',
    String(options.concurrency),
    '--max-model-len',
    String(options.inputTokens + options.outputTokens),
    ...threads,
    ...flags,
  ];
}

async function startedBundled(
  options: AttributeOptions,
  signal: AbortSignal,
  flags: readonly string[],
): Promise<Target> {
  const args = bundledArguments(options, flags);
  const started = new Started(process.execPath, args, false);
  try {
    const baseUrl = await started.until(
      async (output) => /ready on (http:\/\/\S+)/.exec(output)?.[1],
      signal,
    );
    return {
      baseUrl,
      pid: started.child.pid ?? 0,
      identity: await identify(baseUrl, undefined, signal),
      command: ['node', ...args]
        .join(' ')
        .replace(SERVER_MAIN, 'server/main.js')
        .replace(process.cwd(), '.'),
      stop: () => started.stop(),
    };
  } catch (error) {
    await started.stop();
    throw error;
  }
}

async function startedByCommand(
  command: string,
  url: string,
  options: AttributeOptions,
  signal: AbortSignal,
): Promise<Target> {
  const started = new Started(command, [], true);
  try {
    const identity = await started.until(
      () => identify(url, options.model, signal).catch(() => undefined),
      signal,
    );
    const pid = await requirePid(url);
    return { baseUrl: url, pid, identity, command, stop: () => started.stop() };
  } catch (error) {
    await started.stop();
    throw error;
  }
}

async function requirePid(url: string): Promise<number> {
  const pid = await listenerOf(url);
  if (pid !== undefined) return pid;
  throw new HarnessError(
    'SERVER_WRONG',
    `No process of this machine that we may look at listens at ${url}`,
    {
      hint: "Attribution reads the server's threads, so run it where the server runs, as its user or as root.",
    },
  );
}

/** Starts or finds the server; the caller must stop() it. `flags` go to the bundled server. */
export async function reachTarget(
  options: AttributeOptions,
  signal: AbortSignal,
  flags: readonly string[] = [],
): Promise<Target> {
  const { url, serverCommand } = options;
  if (serverCommand !== undefined) {
    if (url === undefined)
      throw new HarnessError(
        'USAGE',
        '--server-command needs --url, the address where that server will listen',
      );
    return startedByCommand(serverCommand, url, options, signal);
  }
  if (url === undefined) return startedBundled(options, signal, flags);
  const identity = await identify(url, options.model, signal);
  return {
    baseUrl: url,
    pid: await requirePid(url),
    identity,
    command: url,
    stop: async () => undefined,
  };
}
