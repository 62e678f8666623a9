// Runs perf: one recording steered by its control descriptors (so that the window is known to a few ms), and its
// reports streamed to a parser. Standard error is always kept, because perf can fail with exit code 0.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { HarnessError } from '../errors.ts';
import { monotonicNs } from './proc-tree.ts';

const run = promisify(execFile);
const ACK_TIMEOUT_MS = 30_000;
const KEPT_STDERR = 16_384;

/** Version text of perf, or undefined when it is not installed. */
export async function perfVersion(): Promise<string | undefined> {
  try {
    return (await run('perf', ['--version'])).stdout.trim();
  } catch {
    return undefined;
  }
}

/** When a command was sent and acknowledged, ns: the truth lies between. */
export interface AckedAt {
  sentNs: number;
  ackedNs: number;
}

export interface RecordingResult {
  file: string;
  bytes: number;
  stderr: string;
  exitCode: number | null;
  /** What perf itself said was lost. */
  lostChunks: number;
}

/** One `perf record` that starts disabled; enable, disable and stop are acknowledged by perf. */
export class Recording {
  readonly file: string;
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #control: Writable;
  readonly #ack: Readable;
  readonly #exited: Promise<void>;
  #stderr = '';
  #acks = 0;
  #wake: (() => void) | undefined;

  private constructor(child: ChildProcess, file: string) {
    this.#child = child;
    this.file = file;
    this.pid = child.pid ?? 0;
    this.#control = child.stdio[3] as Writable;
    this.#ack = child.stdio[4] as Readable;
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString('utf8')).slice(-KEPT_STDERR);
    });
    this.#control.on('error', () => this.#wake?.());
    // An ack is "ack\n\0".
    this.#ack.on('data', (chunk: Buffer) => {
      this.#acks += chunk.filter((byte) => byte === 10).length;
      this.#wake?.();
    });
    this.#exited = new Promise((resolve) => {
      child.once('close', () => {
        resolve();
        this.#wake?.();
      });
    });
  }

  /** Starts perf record with these arguments and waits until it is attached; HarnessError says what perf said. */
  static async start(args: readonly string[], file: string): Promise<Recording> {
    const full = [
      'record',
      '-N',
      '-o',
      file,
      '-k',
      'CLOCK_MONOTONIC',
      '-D',
      '-1',
      '--control',
      'fd:3,4',
      ...args,
    ];
    const child = spawn('perf', full, { stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'] });
    await Promise.race([once(child, 'spawn'), once(child, 'error')]).catch(() => undefined);
    if (child.pid === undefined)
      throw new HarnessError('USAGE', 'perf could not be started', {
        hint: 'Install it (Debian: apt-get install linux-perf) or leave --perf out.',
      });
    const recording = new Recording(child, file);
    await recording.#command('ping');
    return recording;
  }

  enable(): Promise<AckedAt> {
    return this.#command('enable');
  }

  disable(): Promise<AckedAt> {
    return this.#command('disable');
  }

  /** Ends the recording and waits for the file. */
  async stop(): Promise<RecordingResult> {
    if (this.#child.exitCode === null) this.#control.write('stop\n');
    const timer = setTimeout(() => this.#child.kill('SIGINT'), ACK_TIMEOUT_MS);
    await this.#exited;
    clearTimeout(timer);
    return {
      file: this.file,
      bytes: sizeOf(this.file),
      stderr: this.#stderr,
      exitCode: this.#child.exitCode,
      lostChunks: Number(/lost (\d+) chunks/i.exec(this.#stderr)?.[1] ?? 0),
    };
  }

  /** Ends perf on a way out by error; never throws. */
  async abandon(): Promise<void> {
    if (this.#child.exitCode === null) this.#child.kill('SIGTERM');
    await this.#exited;
  }

  async #command(name: string): Promise<AckedAt> {
    const before = this.#acks;
    const sentNs = monotonicNs();
    this.#control.write(`${name}\n`);
    const deadline = setTimeout(() => this.#wake?.(), ACK_TIMEOUT_MS);
    const limitNs = sentNs + ACK_TIMEOUT_MS * 1e6;
    while (this.#acks === before && this.#child.exitCode === null && monotonicNs() < limitNs)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    clearTimeout(deadline);
    if (this.#acks === before) {
      const said = this.#stderr.trim().split('\n').slice(0, 3).join(' ') || 'nothing';
      if (this.#child.exitCode === null) this.#child.kill('SIGTERM');
      throw new HarnessError(
        'SERVER_WRONG',
        `perf did not acknowledge "${name}"; it said: ${said}`,
        {
          hint: 'Run as root, or set kernel.perf_event_paranoid to 1 or lower, or leave --perf out.',
        },
      );
    }
    return { sentNs, ackedNs: monotonicNs() };
  }
}

function sizeOf(file: string): number {
  try {
    return statSync(file).size;
  } catch {
    return 0;
  }
}

/** Streams standard output of a perf report to `onChunk`; returns what it said on standard error. */
export async function perfReport(
  args: readonly string[],
  onChunk: (chunk: Buffer) => void,
): Promise<{ stderr: string; exitCode: number | null }> {
  const child = spawn('perf', [...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString('utf8')).slice(-KEPT_STDERR);
  });
  const closed = once(child, 'close');
  for await (const chunk of child.stdout) onChunk(chunk as Buffer);
  await closed;
  return { stderr, exitCode: child.exitCode };
}

async function text(args: readonly string[]): Promise<string> {
  const chunks: Buffer[] = [];
  await perfReport(args, (chunk) => chunks.push(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

export interface OpenedEvent {
  name: string;
  userOnly: boolean;
  hardware: boolean;
}

/** The events that perf really opened: it replaces what it cannot have without an error. */
export async function openedEvents(file: string): Promise<OpenedEvent[]> {
  return parseEvlist(await text(['evlist', '-v', '-i', file]));
}

/** Parses `perf evlist -v`: one event a line, its name up to ": ", its attributes after it. */
export function parseEvlist(output: string): OpenedEvent[] {
  return output.split('\n').flatMap((line) => {
    const match = /^(\S.*?): (type: .*|size: .*)$/.exec(line);
    const [name, attributes] = [match?.[1], match?.[2]];
    if (name === undefined || attributes === undefined) return [];
    const type = Number(/\btype: (\d+)/.exec(attributes)?.[1] ?? 0);
    return [
      {
        name,
        userOnly: /\bexclude_kernel: 1\b/.test(attributes) || /:u[a-z]*$/i.test(name),
        hardware: type === 0 || type === 4,
      },
    ];
  });
}

/** Events that perf knows to be lost, from `perf report --stats`. */
export async function lostEvents(file: string): Promise<number> {
  return parseLost(await text(['report', '--stats', '-i', file]));
}

/** Sums LOST and LOST_SAMPLES of `perf report --stats`, and its header's total. */
export function parseLost(output: string): number {
  const header = Number(/Total Lost Samples:\s*(\d+)/.exec(output)?.[1] ?? 0);
  let counted = 0;
  for (const match of output.matchAll(/^\s*LOST(?:_SAMPLES)? events:\s+(\d+)/gm))
    counted += Number(match[1]);
  return Math.max(header, counted);
}
