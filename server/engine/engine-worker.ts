// Entry of the engine's thread. It never returns to the event loop while it serves: between steps it takes all commands
// from its port, and without work it sleeps on a futex that the front end wakes. An exception ends the thread, which
// the front end reports.
import { type MessagePort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { type EngineOptions, NativeError } from '../../native/index.ts';
import type { EngineDescription } from '../frontend/engine-client.ts';
import { monotonicNs } from '../monotonic-clock.ts';
import { Scheduler, type SchedulerOptions } from '../scheduler/scheduler.ts';
import { BLOCK_TOKENS } from '../scheduler/sequence.ts';
import { EngineCore } from './engine-core.ts';
import { FakeRunner, type FakeRunnerOptions } from './fake-runner.ts';
import { delayAt, type Injection } from './injection.ts';
import { LiveStats } from './live-stats.ts';
import type { EngineCommand, EngineEvent } from './messages.ts';
import { NativeRunner, nameThread } from './native-runner.ts';
import type { Runner } from './runner.ts';
import { StepRing } from './step-ring.ts';

export type RunnerChoice =
  | { kind: 'native'; options: EngineOptions }
  | { kind: 'fake'; options: FakeRunnerOptions };

export interface WorkerInput {
  port: MessagePort;
  wake: SharedArrayBuffer;
  ring: SharedArrayBuffer;
  stats: SharedArrayBuffer;
  scheduler: SchedulerOptions;
  runner: RunnerChoice;
  injection: Injection | undefined;
}

/** Bounds the wait for a wake-up that was somehow lost; the engine then looks for itself. */
const LONGEST_SLEEP_MS = 1000;

function createRunner(choice: RunnerChoice): { runner: Runner; info: Partial<EngineDescription> } {
  if (choice.kind === 'fake') return { runner: new FakeRunner(choice.options), info: {} };
  nameThread('engine-core');
  const runner = new NativeRunner(choice.options);
  const { isa, activations, threads, kvFormat, weightBytes, kvBytes } = runner.info;
  return { runner, info: { isa, activations, threads, kvFormat, weightBytes, kvBytes } };
}

function describe(options: SchedulerOptions, known: Partial<EngineDescription>): EngineDescription {
  return {
    isa: 'none',
    activations: 'none',
    threads: 1,
    kvFormat: 'none',
    weightBytes: 0,
    kvBytes: 0,
    ...known,
    kvBlocks: options.blockCount,
    blockTokens: BLOCK_TOKENS,
    maxSequences: options.maxSequences,
    maxModelLength: options.maxModelLength,
    maxTokensPerStep: options.maxTokensPerStep,
    prefixCaching: options.prefixCaching,
    schedulingPolicy: options.policy,
  };
}

function takeCommands(port: MessagePort, core: EngineCore): void {
  for (;;) {
    const received = receiveMessageOnPort(port) as { message: EngineCommand } | undefined;
    if (!received) return;
    core.handle(received.message);
  }
}

function serve(input: WorkerInput, core: EngineCore): void {
  const wake = new Int32Array(input.wake);
  let seen = -1;
  while (!core.closed) {
    const signal = Atomics.load(wake, 0);
    if (signal !== seen) {
      seen = signal;
      takeCommands(input.port, core);
    }
    if (core.closed || core.step()) continue;
    core.publish();
    const beganNs = monotonicNs();
    if (Atomics.wait(wake, 0, signal, LONGEST_SLEEP_MS) === 'timed-out') seen = -1;
    core.slept(monotonicNs() - beganNs);
  }
}

function main(input: WorkerInput): void {
  const post = (event: EngineEvent): void => input.port.postMessage(event);
  let created: ReturnType<typeof createRunner>;
  try {
    created = createRunner(input.runner);
  } catch (error) {
    if (!(error instanceof NativeError)) throw error;
    post({ type: 'failed', code: error.code, message: error.message, hint: error.hint });
    return;
  }
  const core = new EngineCore({
    scheduler: new Scheduler(input.scheduler),
    runner: created.runner,
    ring: new StepRing(input.ring),
    stats: new LiveStats(input.stats),
    maxLogitRows: input.scheduler.maxLogitRows,
    eosIds: input.scheduler.eosIds,
    injectedUs: delayAt('engine', input.injection),
    report: post,
    answerReset: (ticket, done) => post({ type: 'prefixCacheReset', ticket, done }),
  });
  post({ type: 'ready', info: describe(input.scheduler, created.info) });
  serve(input, core);
  created.runner.close();
  input.port.close();
}

main(workerData as WorkerInput);
