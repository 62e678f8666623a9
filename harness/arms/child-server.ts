// A server as a child process: keeps its last words, knows how it ended, and ends it for certain.
import type { ChildProcess } from 'node:child_process';
import { processTree } from './process-tree.ts';

export interface ChildServer {
  child: ChildProcess;
  /** The end of what it wrote to standard error (and output, where that is not read by others). */
  lastWords(): string;
  hasEnded(): boolean;
  /** How it ended, in a few words. */
  ending(): string;
  /** Asks it to end, then kills it and whatever it started. */
  stop(): Promise<void>;
}

const LAST_WORDS_BYTES = 4096;
const STOP_TIMEOUT_MS = 5000;

/** Takes charge of a spawned process. */
export function takeCharge(child: ChildProcess): ChildServer {
  let words = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-LAST_WORDS_BYTES);
  });
  // Writing to a server that is gone is no error of ours.
  child.stdin?.on('error', () => undefined);
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const hasEnded = () =>
    child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
  return {
    child,
    lastWords: () => words.trim(),
    hasEnded,
    ending: () =>
      child.exitCode === null ? `signal ${child.signalCode}` : `code ${child.exitCode}`,
    async stop() {
      if (!hasEnded() && child.pid !== undefined) {
        const tree = processTree(child.pid);
        child.kill('SIGTERM');
        const timer = setTimeout(() => killAll(tree), STOP_TIMEOUT_MS);
        await exited;
        clearTimeout(timer);
        killAll(tree.slice(1));
      }
      child.stdin?.destroy();
      child.stdout?.destroy();
      child.stderr?.destroy();
    },
  };
}

function killAll(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // Gone already.
    }
  }
}
