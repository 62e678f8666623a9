// Tokenises prompts: short ones at once, long ones in a thread of its own, which starts with the first long one, so that
// a huge prompt never keeps the others waiting. Texts that cannot fit are refused before the work.
import { Worker } from 'node:worker_threads';
import { ServerError } from '../errors.ts';
import type { Tokenizer } from '../model/tokenizer.ts';
import type { EncodeAnswer, EncodeTask, TokenizerSource } from './encode-worker.ts';

export interface EncodeOptions {
  addSpecialTokens: boolean;
  /** Texts of more tokens than this need not be encoded; undefined encodes any. */
  mostTokens: number | undefined;
}

/** Takes a few milliseconds at most on the calling thread. */
const SHORT_TEXT = 16 * 1024;
/** Longer than any token of a real vocabulary; the thread knows the true figure. */
const LONGEST_TOKEN = 1024;
/** Long texts that may wait for the thread. */
const MOST_WAITING = 64;

interface Waiter {
  resolve(ids: readonly number[] | Int32Array | undefined): void;
  reject(error: unknown): void;
}

export class PromptEncoder {
  readonly #tokenizer: Tokenizer;
  readonly #source: TokenizerSource | undefined;
  readonly #waiting = new Map<number, Waiter>();
  #worker: Worker | undefined;
  #lastTicket = 0;

  /** `source` says where the thread finds the same tokenizer; without one all is done at once. */
  constructor(tokenizer: Tokenizer, source?: TokenizerSource) {
    this.#tokenizer = tokenizer;
    this.#source = source;
  }

  /** The token ids; undefined when the text has certainly more than `mostTokens`. Rejects with overloaded or internal. */
  async encode(
    text: string,
    options: EncodeOptions,
  ): Promise<readonly number[] | Int32Array | undefined> {
    const { addSpecialTokens } = options;
    if (text.length <= SHORT_TEXT || !this.#source) {
      return this.#tokenizer.encode(text, { addSpecialTokens, parseSpecial: true });
    }
    const { mostTokens } = options;
    if (mostTokens !== undefined && text.length > mostTokens * LONGEST_TOKEN) return undefined;
    if (this.#waiting.size >= MOST_WAITING) {
      throw new ServerError(
        'overloaded',
        'Too many long prompts wait to be tokenised; try again later.',
      );
    }
    return this.#encodeLong(text, options, this.#source);
  }

  /** Stops the thread. */
  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #encodeLong(
    text: string,
    options: EncodeOptions,
    source: TokenizerSource,
  ): Promise<readonly number[] | Int32Array | undefined> {
    this.#worker ??= this.#start(source);
    this.#lastTicket += 1;
    const ticket = this.#lastTicket;
    const task: EncodeTask = { ticket, text, ...options };
    return new Promise((resolve, reject) => {
      this.#waiting.set(ticket, { resolve, reject });
      this.#worker?.postMessage(task);
    });
  }

  #start(source: TokenizerSource): Worker {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const url = new URL(`./encode-worker.${extension}`, import.meta.url);
    const worker = new Worker(url, { workerData: source, name: 'tokenizer' });
    worker.unref();
    worker.on('message', ({ ticket, ids }: EncodeAnswer) => {
      this.#waiting.get(ticket)?.resolve(ids);
      this.#waiting.delete(ticket);
    });
    worker.on('error', (cause) => {
      // The next long prompt starts a new thread.
      this.#worker = undefined;
      const failure = new ServerError('internal', 'The prompt could not be tokenised.', { cause });
      for (const { reject } of this.#waiting.values()) reject(failure);
      this.#waiting.clear();
    });
    return worker;
  }
}
