// Runs the built `bench` as a user would, in a folder and a lock scope of its own, and finds every process that it leaves
// behind. For tests.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const CLI = fileURLToPath(new URL('../cli.js', import.meta.url));
export const TINY_MODEL = fileURLToPath(new URL('../../../models/tiny-qwen3', import.meta.url));
const MARK = 'MXBENCH_TEST_MARK';

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunningBench {
  child: ChildProcess;
  finished: Promise<Finished>;
  /** Resolves when standard error holds the text; rejects when the process ends without it. */
  untilStderr(text: string | RegExp): Promise<void>;
}

/** A place for one test: its folder, its lock, its processes. */
export class Workplace {
  readonly folder = mkdtempSync(join(tmpdir(), 'mxbench-e2e-'));
  readonly records = join(this.folder, 'records');
  readonly #mark = randomUUID();

  /** Starts bench in the folder. */
  start(...args: string[]): RunningBench {
    const child = spawn(process.execPath, [CLI, ...args], {
      cwd: this.folder,
      env: { ...process.env, [MARK]: this.#mark, XDG_RUNTIME_DIR: this.folder, CI: '1' },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const finished = new Promise<Finished>((resolve) => {
      child.once('close', (code) => resolve({ code, stdout, stderr }));
    });
    const untilStderr = (text: string | RegExp) =>
      new Promise<void>((resolve, reject) => {
        const look = () => {
          if (typeof text === 'string' ? stderr.includes(text) : text.test(stderr)) resolve();
        };
        child.stderr.on('data', look);
        look();
        void finished.then(() => reject(new Error(`bench ended without ${text}: ${stderr}`)));
      });
    return { child, finished, untilStderr };
  }

  /** Runs bench to its end. */
  bench(...args: string[]): Promise<Finished> {
    return this.start(...args).finished;
  }

  /** Pids of living processes that were started from here, directly or not. */
  survivors(): number[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => environmentOf(pid).includes(`${MARK}=${this.#mark}`))
      .map(Number);
  }

  /** Those of them whose command line holds the text. */
  survivorsLike(part: string): number[] {
    return this.survivors().filter((pid) => commandLineOf(pid).includes(part));
  }

  /** Waits until nothing is left, a few seconds at most; resolves with what is left then. */
  async survivorsAtLast(): Promise<number[]> {
    for (let attempt = 0; attempt < 100 && this.survivors().length > 0; attempt += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return this.survivors();
  }

  remove(): void {
    for (const pid of this.survivors()) process.kill(pid, 'SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

function environmentOf(pid: string): string[] {
  try {
    // A zombie has no environment: it is no survivor.
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

/** Flags of a sweep that ends at once. */
export function shortSweep(...more: string[]): string[] {
  const lengths = ['--input-tokens', '32', '--output-tokens', '8'];
  // Tests share the machine with other tests: what those use of the CPU is no fault of the cell.
  return ['sweep', ...lengths, '--requests', '4', '--foreign-cpu-limit', '100', ...more];
}
