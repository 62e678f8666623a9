// The engine: schedule, forward, draw, append, report; one report a step. It runs in its own thread but knows nothing
// of threads: commands are handed in, reports go to a callback, and it never waits for whoever reads them.
import type { TokenExtras } from '../frontend/engine-client.ts';
import { monotonicNs } from '../monotonic-clock.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
import type { Sequence } from '../scheduler/sequence.ts';
import type { StepPlan } from '../scheduler/step-plan.ts';
import { FINISH, type FinishCode } from '../scheduler/stop-rules.ts';
import { spinFor } from './injection.ts';
import type { LiveStats } from './live-stats.ts';
import { LogitStage } from './logit-stage.ts';
import { type EngineCommand, type StepReport, TOKEN_STRIDE } from './messages.ts';
import type { Runner } from './runner.ts';
import type { StepRing } from './step-ring.ts';

export interface EngineCoreParts {
  scheduler: Scheduler;
  runner: Runner;
  ring: StepRing;
  stats: LiveStats;
  maxLogitRows: number;
  eosIds: readonly number[];
  /** Spun once a step, after the draw; 0 unless attribution asks for it. */
  injectedUs: number;
  report(report: StepReport): void;
  answerReset(ticket: number, done: boolean): void;
}

export class EngineCore {
  readonly #parts: EngineCoreParts;
  readonly #logitStage: LogitStage;
  readonly #drawn: Int32Array;
  readonly #tokens: Int32Array;
  /** When each sequence that was never admitted was queued. */
  readonly #queuedNs = new Map<number, number>();
  #step = 0;
  #tokenCount = 0;
  #sleptNs = 0;
  #closed = false;
  #extras: (TokenExtras | undefined)[] | undefined;
  readonly #onToken = (sequence: Sequence, token: number, finish: FinishCode): void => {
    const base = this.#tokenCount * TOKEN_STRIDE;
    this.#tokens[base] = sequence.id;
    this.#tokens[base + 1] = token;
    this.#tokens[base + 2] = finish;
    const extras = this.#logitStage.extrasOf(sequence, token);
    if (extras) {
      this.#extras ??= [];
      this.#extras[this.#tokenCount] = extras;
    }
    this.#tokenCount += 1;
    if (finish !== 0) this.#logitStage.forget(sequence);
  };

  constructor(parts: EngineCoreParts) {
    this.#parts = parts;
    this.#logitStage = new LogitStage(parts.runner, parts.eosIds);
    this.#drawn = new Int32Array(parts.maxLogitRows);
    this.#tokens = new Int32Array(parts.maxLogitRows * TOKEN_STRIDE);
    this.publish();
  }

  get closed(): boolean {
    return this.#closed;
  }

  handle(command: EngineCommand): void {
    const { scheduler } = this.#parts;
    switch (command.type) {
      case 'add':
        for (const sequence of command.sequences) {
          scheduler.add(sequence);
          this.#queuedNs.set(sequence.id, command.queuedNs);
        }
        return;
      case 'abort':
        for (const id of command.ids) {
          scheduler.abort(id);
          this.#queuedNs.delete(id);
          this.#logitStage.forgetId(id);
        }
        return;
      case 'resetPrefixCache':
        this.#parts.answerReset(command.ticket, scheduler.blocks.reset());
        return;
      case 'vocabulary':
        this.#logitStage.grammars.learn(command.vocabulary);
        return;
      case 'close':
        this.#closed = true;
    }
  }

  /** The time the engine had nothing to do; the next step's record tells it. */
  slept(ns: number): void {
    this.#sleptNs += ns;
  }

  /** Runs one step; false when there is nothing to run. */
  step(): boolean {
    const { scheduler, runner } = this.#parts;
    const beginNs = monotonicNs();
    const waiting = scheduler.waitingCount;
    const plan = scheduler.schedule();
    if (!plan) return false;
    const scheduledNs = monotonicNs();
    runner.forward(plan);
    const forwardNs = monotonicNs();
    this.#logitStage.beforeDraw(plan);
    runner.sample(plan, this.#drawn);
    const sampledNs = monotonicNs();
    spinFor(this.#parts.injectedUs);
    const admitted = this.#admitted(plan, scheduledNs);
    const contextTokens = plan.sequences.reduce((sum, { computed }) => sum + computed, 0);
    this.#tokenCount = 0;
    this.#extras = undefined;
    scheduler.update(this.#drawn, this.#onToken);
    this.#endFailed();
    const report = this.#makeReport(plan, contextTokens, admitted);
    const { prefillTokens, decodeTokens, sequenceCount: sequences, preempted } = plan;
    this.#parts.ring.record(this.#step, {
      prefillTokens,
      decodeTokens,
      sequences,
      waiting,
      kvBlocksFree: scheduler.blocks.freeBlocks,
      preempted,
      sleptNs: this.#sleptNs,
      beginNs,
      scheduledNs,
      forwardNs,
      sampledNs,
      postedNs: monotonicNs(),
    });
    this.#step += 1;
    this.#sleptNs = 0;
    this.publish();
    this.#parts.report(report);
    this.#parts.ring.posted(report.step, monotonicNs());
    return true;
  }

  /** Makes the gauges true; also called before the engine sleeps, since aborts change them without a step. */
  publish(): void {
    const { scheduler, stats } = this.#parts;
    stats.write({
      running: scheduler.runningCount,
      waiting: scheduler.waitingCount,
      kvBlocksFree: scheduler.blocks.freeBlocks,
      kvBlocks: scheduler.blocks.blockCount,
      ...scheduler.counters,
      steps: this.#step,
    });
  }

  /** Ends sequences that the logit stage gave up; the token that they drew means nothing. */
  #endFailed(): void {
    for (const id of this.#logitStage.failed) {
      if (!this.#parts.scheduler.abort(id)) continue;
      this.#logitStage.forgetId(id);
      for (let entry = 0; entry < this.#tokenCount; entry += 1) {
        const base = entry * TOKEN_STRIDE;
        if (this.#tokens[base] === id) this.#tokens[base + 2] = FINISH.error;
      }
    }
    this.#logitStage.failed.length = 0;
  }

  #makeReport(
    plan: StepPlan,
    contextTokens: number,
    admitted: Pick<StepReport, 'admitted' | 'admittedNs'>,
  ): StepReport {
    return {
      type: 'step',
      step: this.#step,
      tokensRun: plan.tokenCount,
      contextTokens,
      tokenCount: this.#tokenCount,
      tokens: this.#tokens.slice(0, this.#tokenCount * TOKEN_STRIDE),
      ...admitted,
      extras: this.#extras,
    };
  }

  #admitted(plan: StepPlan, nowNs: number): Pick<StepReport, 'admitted' | 'admittedNs'> {
    if (this.#queuedNs.size === 0) return NONE_ADMITTED;
    const fresh = plan.sequences.filter(({ id }) => this.#queuedNs.has(id));
    if (fresh.length === 0) return NONE_ADMITTED;
    const admitted = Int32Array.from(fresh.flatMap(({ id, cachedTokens }) => [id, cachedTokens]));
    const times = fresh.flatMap(({ id }) => [this.#queuedNs.get(id) ?? nowNs, nowNs]);
    for (const { id } of fresh) this.#queuedNs.delete(id);
    return { admitted, admittedNs: Float64Array.from(times) };
  }
}

const NONE_ADMITTED = { admitted: undefined, admittedNs: undefined };
