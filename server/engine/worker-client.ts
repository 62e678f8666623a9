// The front end's side of the engine thread: starts it, hands commands over, spreads each step's report over the
// requests that it concerns, and notices when the thread dies.
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type {
  EngineClient,
  EngineDescription,
  EngineStats,
  FailureReason,
  SequenceListener,
  VocabularyBytes,
} from '../frontend/engine-client.ts';
import { monotonicNs } from '../monotonic-clock.ts';
import type { StepRecord, ThreadMap } from '../protocol/step-trace.ts';
import type { SchedulerOptions } from '../scheduler/scheduler.ts';
import type { SequenceSpec } from '../scheduler/sequence.ts';
import type { FinishCode } from '../scheduler/stop-rules.ts';
import type { RunnerChoice, WorkerInput } from './engine-worker.ts';
import { delayAt, type Injection, spinFor } from './injection.ts';
import { LiveStats } from './live-stats.ts';
import { type EngineCommand, type EngineEvent, type StepReport, TOKEN_STRIDE } from './messages.ts';
import { StepRing } from './step-ring.ts';
import { readThreadMap } from './thread-map.ts';

export interface EngineStart {
  scheduler: SchedulerOptions;
  runner: RunnerChoice;
  injection?: Injection | undefined;
  /** Told of exceptions that ended one request, for the log. */
  onFault(error: unknown): void;
}

/** The engine could not start; the message is one sentence for the person who started the server. */
export class EngineStartError extends Error {
  readonly code: string;
  readonly hint: string;
  constructor(code: string, message: string, hint: string) {
    super(message);
    this.name = 'EngineStartError';
    this.code = code;
    this.hint = hint;
  }
}

const CLOSE_PATIENCE_MS = 5000;

/** Starts the engine thread and resolves when the model is loaded; EngineStartError when it cannot be. */
export async function startEngine(start: EngineStart): Promise<EngineClient> {
  const ring = new StepRing();
  const stats = new LiveStats();
  const wake = new Int32Array(new SharedArrayBuffer(4));
  const { port1, port2 } = new MessageChannel();
  const shared = { wake: wake.buffer, ring: ring.shared, stats: stats.shared };
  const { scheduler, runner, injection, onFault } = start;
  const workerData: WorkerInput = { port: port2, ...shared, scheduler, runner, injection };
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const worker = new Worker(new URL(`./engine-worker.${extension}`, import.meta.url), {
    workerData,
    transferList: [port2],
    name: 'engine-core',
  });
  const info = await new Promise<EngineDescription>((resolve, reject) => {
    port1.once('message', (event: EngineEvent) => {
      if (event.type === 'ready') resolve(event.info);
      if (event.type === 'failed')
        reject(new EngineStartError(event.code, event.message, event.hint));
    });
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('The engine thread ended while it was starting.')));
  });
  worker.removeAllListeners();
  const injectedUs = delayAt('frontend', injection);
  return new WorkerClient({
    info,
    worker,
    port: port1,
    wake,
    ring,
    live: stats,
    injectedUs,
    onFault,
  });
}

interface Parts {
  info: EngineDescription;
  worker: Worker;
  port: MessagePort;
  wake: Int32Array;
  ring: StepRing;
  live: LiveStats;
  /** Spun once a step before its tokens are looked at; 0 unless attribution asks for it. */
  injectedUs: number;
  onFault(error: unknown): void;
}

class WorkerClient implements EngineClient {
  readonly info: EngineDescription;
  state: EngineClient['state'] = 'ready';
  failure: string | undefined;
  readonly #parts: Parts;
  readonly #listeners = new Map<number, SequenceListener>();
  readonly #touched = new Set<SequenceListener>();
  readonly #resets = new Map<number, (done: boolean) => void>();
  readonly #exited: Promise<void>;
  #observers: ((tokens: number, contextTokens: number) => void)[] = [];
  #lastId = 0;
  #lastTicket = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.info = parts.info;
    parts.port.on('message', (event: EngineEvent) => this.#receive(event));
    parts.worker.on('error', (error) => this.#die(error));
    this.#exited = new Promise((resolve) => {
      parts.worker.on('exit', () => {
        if (this.state === 'ready') this.#die(new Error('the engine thread ended'));
        resolve();
      });
    });
  }

  nextId(): number {
    this.#lastId = (this.#lastId + 1) & 0x7fffffff;
    return this.#lastId;
  }

  submit(sequences: readonly SequenceSpec[], listener: SequenceListener): void {
    if (this.state !== 'ready') throw new Error('The engine is not running.');
    for (const { id } of sequences) this.#listeners.set(id, listener);
    this.#send({ type: 'add', sequences, queuedNs: monotonicNs() });
  }

  learnVocabulary(vocabulary: VocabularyBytes): void {
    this.#send({ type: 'vocabulary', vocabulary });
  }

  abort(ids: readonly number[]): void {
    const live = ids.filter((id) => this.#listeners.delete(id));
    if (live.length > 0) this.#send({ type: 'abort', ids: live });
  }

  stats(): EngineStats {
    return this.#parts.live.read();
  }

  onStep(observer: (tokens: number, contextTokens: number) => void): void {
    this.#observers = [...this.#observers, observer];
  }

  resetPrefixCache(): Promise<boolean> {
    this.#lastTicket += 1;
    const ticket = this.#lastTicket;
    return new Promise((resolve) => {
      this.#resets.set(ticket, resolve);
      this.#send({ type: 'resetPrefixCache', ticket });
    });
  }

  stepRecords(after: number): StepRecord[] {
    return this.#parts.ring.read(after);
  }

  threads(): ThreadMap {
    return readThreadMap();
  }

  async close(): Promise<void> {
    if (this.state === 'ready') {
      this.state = 'closed';
      this.#failAll('shutdown');
      this.#send({ type: 'close' });
    }
    const impatient = setTimeout(() => void this.#parts.worker.terminate(), CLOSE_PATIENCE_MS);
    await this.#exited;
    clearTimeout(impatient);
    this.#parts.port.close();
  }

  #send(command: EngineCommand): void {
    const { port, wake } = this.#parts;
    port.postMessage(command);
    Atomics.add(wake, 0, 1);
    Atomics.notify(wake, 0);
  }

  #receive(event: EngineEvent): void {
    if (event.type === 'step') this.#spread(event);
    if (event.type !== 'prefixCacheReset') return;
    this.#resets.get(event.ticket)?.(event.done);
    this.#resets.delete(event.ticket);
  }

  #spread(report: StepReport): void {
    const receivedNs = monotonicNs();
    spinFor(this.#parts.injectedUs);
    if (report.admitted) this.#spreadAdmitted(report.admitted, report.admittedNs);
    const { tokens, extras } = report;
    for (let entry = 0; entry < report.tokenCount; entry += 1) {
      const id = tokens[entry * TOKEN_STRIDE] ?? 0;
      // A request that was aborted meanwhile is no longer known.
      const listener = this.#listeners.get(id);
      if (!listener) continue;
      const finish = (tokens[entry * TOKEN_STRIDE + 2] ?? 0) as FinishCode;
      if (finish !== 0) this.#listeners.delete(id);
      this.#touched.add(listener);
      const token = tokens[entry * TOKEN_STRIDE + 1] ?? 0;
      try {
        listener.onToken(id, token, finish, extras?.[entry]);
      } catch (error) {
        this.#expel(listener, error);
      }
    }
    const detokenisedNs = monotonicNs();
    for (const listener of this.#touched) {
      try {
        listener.onStepEnd();
      } catch (error) {
        this.#expel(listener, error);
      }
    }
    this.#touched.clear();
    this.#parts.ring.stamp(report.step, receivedNs, detokenisedNs, monotonicNs());
    for (const observer of this.#observers) observer(report.tokensRun, report.contextTokens);
  }

  /** One request's fault must not be the others': it alone is ended. */
  #expel(listener: SequenceListener, error: unknown): void {
    this.#touched.delete(listener);
    const own = [...this.#listeners].filter(([, each]) => each === listener);
    this.abort(own.map(([id]) => id));
    this.#parts.onFault(error);
    listener.onFailure('internal');
  }

  #spreadAdmitted(admitted: Int32Array, times: Float64Array | undefined): void {
    for (let index = 0; index < admitted.length; index += 2) {
      const id = admitted[index] ?? 0;
      this.#listeners.get(id)?.onScheduled(id, admitted[index + 1] ?? 0, {
        queuedNs: times?.[index] ?? 0,
        scheduledNs: times?.[index + 1] ?? 0,
      });
    }
  }

  #die(error: unknown): void {
    if (this.state !== 'ready') return;
    this.state = 'dead';
    this.#parts.onFault(error);
    this.failure = error instanceof Error ? error.message : String(error);
    this.#failAll('died');
  }

  #failAll(reason: FailureReason): void {
    const listeners = new Set(this.#listeners.values());
    this.#listeners.clear();
    for (const listener of listeners) listener.onFailure(reason);
    for (const resolve of this.#resets.values()) resolve(false);
    this.#resets.clear();
  }
}
