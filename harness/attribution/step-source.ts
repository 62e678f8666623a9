// Reads our server's debug endpoints while a load runs: the thread map once, and the step records again and again, since
// the server keeps only the last ones. Other servers have none; then the streams say what can be said.
import { z } from 'zod';
import {
  type StepRecord,
  stepRecordSchema,
  type ThreadMap,
  threadMapSchema,
} from '../../server/protocol/step-trace.ts';
import { HarnessError } from '../errors.ts';

const TIMEOUT_MS = 10_000;

async function get(url: string, apiKey: string | undefined): Promise<Response | undefined> {
  try {
    const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    return response.ok ? response : undefined;
  } catch {
    return undefined;
  }
}

/** The server's own account of its threads; undefined where it has none (another server, or not enabled). */
export async function readThreads(
  baseUrl: string,
  apiKey?: string,
): Promise<ThreadMap | undefined> {
  const response = await get(new URL('/debug/threads', baseUrl).href, apiKey);
  if (!response) return undefined;
  const parsed = threadMapSchema.safeParse(await response.json().catch(() => undefined));
  return parsed.success ? parsed.data : undefined;
}

/** Parses NDJSON of step records; HarnessError names the line that is not one. */
export function parseSteps(text: string): StepRecord[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line, i) => {
      const parsed = stepRecordSchema.safeParse(json(line));
      if (parsed.success) return parsed.data;
      throw new HarnessError(
        'SERVER_WRONG',
        `line ${i + 1} of /debug/steps is no step record: ${z.prettifyError(parsed.error).split('\n')[0]}`,
      );
    });
}

function json(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Collects all step records of a run by polling; stop() reads once more and returns them in order. */
export class StepCollector {
  readonly #baseUrl: string;
  readonly #apiKey: string | undefined;
  readonly #records = new Map<number, StepRecord>();
  #after = -1;
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> = Promise.resolve();
  #failure: unknown;

  constructor(baseUrl: string, apiKey?: string) {
    this.#baseUrl = baseUrl;
    this.#apiKey = apiKey;
  }

  /** Starts polling; false when the server has no step trace. */
  async start(intervalMs = 1_000): Promise<boolean> {
    const response = await get(new URL('/debug/steps', this.#baseUrl).href, this.#apiKey);
    if (!response) return false;
    this.#keep(await response.text());
    this.#timer = setInterval(() => {
      this.#reading = this.#reading.then(() => this.#poll());
    }, intervalMs);
    return true;
  }

  /** Stops polling, whatever was read; safe to call again. */
  end(): void {
    clearInterval(this.#timer);
  }

  async stop(): Promise<StepRecord[]> {
    this.end();
    await this.#reading;
    await this.#poll();
    if (this.#failure) throw this.#failure;
    return [...this.#records.values()].sort((a, b) => a.step - b.step);
  }

  async #poll(): Promise<void> {
    const url = new URL('/debug/steps', this.#baseUrl);
    // The last few are asked for again: the front end may not have stamped them when they were read.
    url.searchParams.set('after', String(Math.max(-1, this.#after - 16)));
    const response = await get(url.href, this.#apiKey);
    if (!response) return;
    try {
      this.#keep(await response.text());
    } catch (error) {
      this.#failure ??= error;
    }
  }

  #keep(text: string): void {
    for (const record of parseSteps(text)) {
      this.#records.set(record.step, record);
      this.#after = Math.max(this.#after, record.step);
    }
  }
}
