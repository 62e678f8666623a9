// Is the server ready? A port that listens proves nothing: one generation must come back right, judged like every other.
// The first answers of a server that still loads are refusals, and those are waited out.
import { setTimeout as sleep } from 'node:timers/promises';
import { HarnessError } from '../errors.ts';
import { type DriveOptions, drive } from './drive.ts';

export interface ReadyOptions
  extends Pick<DriveOptions, 'baseUrl' | 'model' | 'endpoint' | 'dialect' | 'signal' | 'apiKey'> {
  /** A prompt that no measured request uses. */
  prompt: DriveOptions['prompt'];
  outputTokens: number;
  /** The longest to wait for the first right generation. */
  timeoutMs: number;
  /** Asked before each try: why waiting is pointless (the process has died), or undefined. */
  gone?: () => string | undefined;
  /** The failure so far, for people who wait. */
  onWaiting?: (reason: string) => void;
}

const RETRY_MS = 200;

/**
 * Resolves when the server has produced exactly `outputTokens` tokens with the right ending. Rejects with SERVER_NOT_READY
 * when it did not in time or is gone, with SERVER_WRONG when it answers but never as asked, with INTERRUPTED on the signal.
 */
export async function waitUntilReady(options: ReadyOptions): Promise<void> {
  const { signal, timeoutMs, gone, onWaiting } = options;
  const deadlineNs = process.hrtime.bigint() + BigInt(Math.round(timeoutMs * 1e6));
  const leftMs = () => Number(deadlineNs - process.hrtime.bigint()) / 1e6;
  for (;;) {
    const failure = await tryGeneration(options, Math.max(RETRY_MS, leftMs()));
    if (signal.aborted) {
      throw new HarnessError('INTERRUPTED', 'Interrupted while waiting for the server.');
    }
    if (failure === undefined) return;
    onWaiting?.(failure.message);
    const dead = gone?.();
    if (dead !== undefined) throw new HarnessError('SERVER_NOT_READY', dead);
    if (failure.wrong) throw new HarnessError('SERVER_WRONG', failure.message);
    // A last try cut short would report its own haste instead of the server's reason.
    if (leftMs() <= RETRY_MS) {
      const seconds = Math.round(timeoutMs / 1000);
      const said = `The server was not ready within ${seconds} s: ${failure.message}`;
      throw new HarnessError('SERVER_NOT_READY', said);
    }
    await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
  }
}

interface NotYet {
  message: string;
  /** It answers a generation, but not as asked: waiting longer will not change that. */
  wrong: boolean;
}

async function tryGeneration(options: ReadyOptions, leftMs: number): Promise<NotYet | undefined> {
  const { baseUrl, model, endpoint, dialect, signal, apiKey, prompt, outputTokens } = options;
  try {
    const result = await drive({
      ...{ baseUrl, model, endpoint, dialect, signal, prompt, outputTokens },
      ...(apiKey === undefined ? {} : { apiKey }),
      concurrency: 1,
      warmUpRequests: 0,
      requests: 1,
      requestTimeoutMs: leftMs,
      // A second start may find the answer of the first in a cache; that says nothing against being ready.
      requireColdCache: false,
    });
    const failure = result.timelines.find(({ phase }) => phase === 'measured')?.failure;
    if (failure === undefined) return undefined;
    const { code, message } = failure;
    // A server that loads says so with 503 (llama-server), 404 or a closed connection (others); 4xx besides is a verdict.
    const refused = /HTTP status (400|401|403|405|422)\b/.test(message);
    const waits = ['connect', 'status', 'truncated', 'timeout', 'aborted'].includes(code);
    return { message: `${code}: ${message}`, wrong: refused || !waits };
  } catch (error) {
    if (error instanceof Error && 'code' in error) return { message: error.message, wrong: false };
    throw error;
  }
}
