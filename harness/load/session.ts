// What closed and open loop share: the connections, the bodies made before the first request leaves, the timelines, and
// the judgement when the last response has ended. It decides neither when a request is sent nor how many.
import { type Clock, startClock } from '../client/clock.ts';
import { Connection } from '../client/connection.ts';
import type { Dialect } from '../client/dialect.ts';
import { type Expectation, judge } from '../client/judge.ts';
import type { Endpoint } from '../client/openai-stream.ts';
import { pathOf, requestBody } from '../client/request-body.ts';
import type { Phase, RequestTimeline } from '../client/timeline.ts';
import type { Prompt } from './prompts.ts';
import { type SelfCost, watchSelf } from './self-watch.ts';

/** What both loops are told. */
export interface SessionOptions {
  baseUrl: string;
  model: string;
  endpoint: Endpoint;
  dialect: Dialect;
  outputTokens: number;
  /** The prompt of the request with this index: warm-up first, then measured, then those that keep the load up. */
  prompt(index: number): Prompt;
  /** The longest a request may take, from the moment it is handed to the connection. */
  requestTimeoutMs: number;
  signal: AbortSignal;
  /** Called from a timer, at most four times a second, never from the measured path. */
  onProgress?: (progress: DriveProgress) => void;
  /** Default true: the answer must have exactly `outputTokens` tokens and finish_reason "length". */
  exactOutput?: boolean;
  /** Default true: an answer out of a prefix cache (cached_tokens > 0) is a failure. */
  requireColdCache?: boolean;
  apiKey?: string;
}

export interface DriveProgress {
  /** Requests ended so far, warm-up included. */
  finished: number;
  /** Requests that will have ended when the run is complete, warm-up included. */
  total: number;
  /** Requests that broke so far as the transport tells (lengths are judged at the end). */
  failed: number;
  elapsedMs: number;
  /** Absent until enough has happened to tell. */
  remainingMs?: number;
}

interface Prepared {
  body: Buffer;
  expectation: Expectation;
}

const NOTHING_WATCHED: SelfCost = { eventLoopDelayNs: { p50: 0, p99: 0, max: 0 }, cpuNs: 0 };
/** Bodies made ahead; beyond this a run is so long that making one on the way does not show, and memory would. */
const MAX_PREPARED = 4096;
const CONNECT_TIMEOUT_MS = 10_000;
const PROGRESS_INTERVAL_MS = 250;

export class Session {
  readonly clock: Clock = startClock();
  readonly timelines: RequestTimeline[] = [];
  readonly connections: Connection[];
  readonly #options: SessionOptions;
  readonly #total: number;
  readonly #prepared = new Map<number, Prepared>();
  readonly #expectations = new Map<RequestTimeline, Expectation>();
  #stopWatching: (() => SelfCost) | undefined;
  readonly #interrupt = () => this.abortAll('The run was interrupted.');
  #progressTimer: NodeJS.Timeout | undefined;
  #finished = 0;
  #failed = 0;

  private constructor(options: SessionOptions, connections: number, total: number) {
    this.#options = options;
    this.#total = total;
    const { baseUrl, apiKey } = options;
    this.connections = Array.from(
      { length: connections },
      () =>
        new Connection({
          baseUrl,
          clock: this.clock,
          connectTimeoutMs: CONNECT_TIMEOUT_MS,
          ...(apiKey === undefined ? {} : { apiKey }),
        }),
    );
  }

  /** Makes `prepare` bodies, opens all connections, then starts to watch. Rejects when the server cannot be reached. */
  static async open(
    options: SessionOptions,
    plan: { connections: number; total: number; prepare: number },
  ): Promise<Session> {
    const session = new Session(options, plan.connections, plan.total);
    const ahead = Math.min(plan.prepare, MAX_PREPARED);
    for (let index = 0; index < ahead; index += 1) session.#prepare(index);
    try {
      await Promise.all(session.connections.map((connection) => connection.open()));
    } catch (error) {
      await session.close();
      throw error;
    }
    options.signal.addEventListener('abort', session.#interrupt);
    session.#startProgress();
    session.#stopWatching = watchSelf();
    return session;
  }

  /** Sends the request with this index on this connection; resolves with its timeline when its response has ended. */
  async issue(slot: number, index: number, phase: Phase, intendedNs: number) {
    const { body, expectation } = this.#prepare(index);
    this.#prepared.delete(index);
    const timeline: RequestTimeline = {
      index,
      slot,
      phase,
      intendedNs,
      sentNs: intendedNs,
      contentNs: [],
      text: '',
      bytesReceived: 0,
      reconnects: 0,
    };
    this.timelines.push(timeline);
    this.#expectations.set(timeline, expectation);
    const { endpoint, requestTimeoutMs: timeoutMs } = this.#options;
    await this.connections[slot]?.send({
      path: pathOf(endpoint),
      endpoint,
      body,
      timeoutMs,
      timeline,
    });
    this.#finished += phase === 'drain' ? 0 : 1;
    if (timeline.failure !== undefined && phase !== 'drain') this.#failed += 1;
    return timeline;
  }

  abortAll(message: string): void {
    for (const connection of this.connections) connection.abort(message);
  }

  /** Closes everything, and judges what came. */
  async close(): Promise<SelfCost> {
    const cost = this.#stopWatching?.() ?? NOTHING_WATCHED;
    clearInterval(this.#progressTimer);
    this.#options.signal.removeEventListener('abort', this.#interrupt);
    await Promise.all(this.connections.map((connection) => connection.close()));
    for (const [timeline, expectation] of this.#expectations) {
      const failure = judge(timeline, expectation);
      if (failure !== undefined) timeline.failure = failure;
    }
    return cost;
  }

  #prepare(index: number): Prepared {
    const known = this.#prepared.get(index);
    if (known !== undefined) return known;
    const options = this.#options;
    const { model, endpoint, dialect, outputTokens } = options;
    const exactOutput = options.exactOutput ?? true;
    const prompt = options.prompt(index);
    const promptTokens = 'text' in prompt ? prompt.promptTokens : prompt.tokenIds.length;
    const prepared = {
      body: requestBody({ model, endpoint, dialect, outputTokens, exactOutput, prompt }),
      expectation: {
        outputTokens,
        exactOutput,
        requireColdCache: options.requireColdCache ?? true,
        ...(promptTokens === undefined ? {} : { promptTokens }),
      },
    };
    this.#prepared.set(index, prepared);
    return prepared;
  }

  #startProgress(): void {
    const { onProgress } = this.#options;
    if (onProgress === undefined) return;
    this.#progressTimer = setInterval(() => onProgress(this.#progress()), PROGRESS_INTERVAL_MS);
  }

  #progress(): DriveProgress {
    const elapsedMs = this.clock.nowNs() / 1e6;
    let done = this.#finished;
    // A request that is half through counts half: with few long requests nothing else would move.
    for (const timeline of this.timelines.slice(-2 * this.connections.length)) {
      if (timeline.closedNs !== undefined || timeline.phase === 'drain') continue;
      done += Math.min(1, timeline.contentNs.length / this.#options.outputTokens);
    }
    const left = Math.max(0, this.#total - done);
    return {
      finished: this.#finished,
      total: this.#total,
      failed: this.#failed,
      elapsedMs,
      ...(done >= 1 ? { remainingMs: (elapsedMs * left) / done } : {}),
    };
  }
}
