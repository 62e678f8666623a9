// Decides what the next step runs: continuous batching under one token budget with chunked prefill, prefix cache,
// preemption by recompute. Running sequences go first; newcomers are admitted only in a step that preempted nobody.
// Pure: no I/O, no clock; the same calls give the same plans.
import { blockHash } from './block-hash.ts';
import { BlockManager } from './block-manager.ts';
import { precedes, RequestQueue, type SchedulingPolicy } from './request-queue.ts';
import { BLOCK_TOKENS, Sequence, type SequenceSpec } from './sequence.ts';
import { type PlanBounds, StepPlan } from './step-plan.ts';
import { FINISH, type FinishCode, finishOf } from './stop-rules.ts';

export interface SchedulerOptions extends PlanBounds {
  blockCount: number;
  policy: SchedulingPolicy;
  prefixCaching: boolean;
  eosIds: readonly number[];
}

/** Called once for each token that a step drew. */
export type TokenListener = (
  sequence: Sequence,
  token: number,
  finish: FinishCode,
  row: number,
) => void;

export interface SchedulerCounters {
  preemptions: number;
  prefixQueryTokens: number;
  prefixHitTokens: number;
}

export class Scheduler {
  readonly counters: SchedulerCounters = {
    preemptions: 0,
    prefixQueryTokens: 0,
    prefixHitTokens: 0,
  };
  readonly blocks: BlockManager;
  readonly #options: SchedulerOptions;
  readonly #plan: StepPlan;
  readonly #waiting: RequestQueue;
  #running: Sequence[] = [];
  readonly #byId = new Map<number, Sequence>();
  #arrivals = 0;
  #budget = 0;
  #promptRows = 0;

  /** The pool must hold one sequence of the greatest length, else the last one could never finish. */
  constructor(options: SchedulerOptions) {
    const needed = Math.ceil(options.maxModelLength / BLOCK_TOKENS);
    if (options.blockCount < needed) {
      throw new RangeError(
        `${options.blockCount} KV blocks cannot hold one sequence of ${options.maxModelLength} tokens; ${needed} are needed.`,
      );
    }
    this.#options = options;
    this.#plan = new StepPlan(options);
    this.#waiting = new RequestQueue(options.policy);
    this.blocks = new BlockManager(options.blockCount);
  }

  get runningCount(): number {
    return this.#running.length;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  get running(): readonly Sequence[] {
    return this.#running;
  }

  /** Queues a sequence; its prompt must be 1 .. maxModelLength - 1 tokens and its id new. */
  add(spec: SequenceSpec): void {
    const sequence = new Sequence(spec, this.#arrivals);
    this.#arrivals += 1;
    this.#byId.set(spec.id, sequence);
    this.#waiting.add(sequence);
  }

  /** Drops a sequence wherever it is and frees its blocks; false when it is not (or no longer) known. */
  abort(id: number): boolean {
    const sequence = this.#byId.get(id);
    if (sequence === undefined) return false;
    if (sequence.status === 'running') this.#running.splice(this.#running.indexOf(sequence), 1);
    else this.#waiting.remove(sequence);
    this.#finish(sequence);
    return true;
  }

  /** Ids of all live sequences. */
  liveIds(): number[] {
    return [...this.#byId.keys()];
  }

  /** Plans the next step; the plan is reused. undefined when there is nothing to run. */
  schedule(): StepPlan | undefined {
    const plan = this.#plan;
    plan.clear();
    this.#budget = this.#options.maxTokensPerStep;
    this.#promptRows = 0;
    this.#scheduleRunning();
    if (plan.preempted === 0) this.#admit();
    for (const sequence of this.#running) {
      if (sequence.chunk === 0) continue;
      plan.add(sequence);
      sequence.computed += sequence.chunk;
      sequence.chunk = 0;
    }
    return plan.sequenceCount === 0 ? undefined : plan;
  }

  /** Appends what the step drew, one token a logit row, and ends the sequences that are done. */
  update(drawn: Int32Array, onToken: TokenListener): void {
    const plan = this.#plan;
    if (this.#options.prefixCaching)
      for (const sequence of plan.sequences) this.#register(sequence);
    let finished = 0;
    plan.rowSequence.forEach((sequence, row) => {
      if (plan.rowDraws[row] === 0) {
        sequence.promptRowsDone = Math.max(
          sequence.promptRowsDone,
          (plan.rowPosition[row] ?? 0) + 1,
        );
        return;
      }
      const token = drawn[row] ?? 0;
      sequence.append(token);
      const { eosIds, maxModelLength } = this.#options;
      const finish = finishOf(sequence, token, eosIds, maxModelLength);
      onToken(sequence, token, finish, row);
      if (finish === FINISH.none) return;
      this.#finish(sequence);
      finished += 1;
    });
    if (finished > 0) this.#running = this.#running.filter(({ status }) => status === 'running');
  }

  #scheduleRunning(): void {
    let index = 0;
    while (index < this.#running.length && this.#budget > 0) {
      const sequence = this.#running[index];
      if (sequence === undefined) return;
      const chunk = this.#chunkOf(sequence);
      const before = this.#plan.preempted;
      // Where it was preempted itself, the next one has moved to its index.
      if (!this.#makeRoom(sequence, chunk)) continue;
      if (this.#plan.preempted > before) index = this.#running.indexOf(sequence);
      this.#take(sequence, chunk);
      index += 1;
    }
  }

  /** Tokens that the sequence may run now: bounded by what it knows, the budget and the logit rows. */
  #chunkOf(sequence: Sequence): number {
    const wanted = Math.min(sequence.length - sequence.computed, this.#budget);
    if (sequence.spec.promptLogprobs === undefined) return wanted;
    const free = this.#options.maxLogitRows - this.#options.maxSequences - this.#promptRows;
    const from = Math.max(sequence.computed, sequence.promptRowsDone);
    const skipped = from - sequence.computed;
    return Math.min(wanted, skipped + Math.max(1, free));
  }

  #take(sequence: Sequence, chunk: number): void {
    sequence.chunk = chunk;
    this.#budget -= chunk;
    if (sequence.spec.promptLogprobs === undefined) return;
    const from = Math.max(sequence.computed, sequence.promptRowsDone);
    // Each position leaves at most one row; the first of them is paid for by maxSequences.
    this.#promptRows += Math.max(0, sequence.computed + chunk - from - 1);
  }

  /** Gives the sequence blocks for `chunk` more tokens, preempting others; false when it was itself preempted. */
  #makeRoom(sequence: Sequence, chunk: number): boolean {
    const needed = Math.ceil((sequence.computed + chunk) / BLOCK_TOKENS);
    while (sequence.blockCount < needed) {
      const block = this.blocks.allocate();
      if (block >= 0) {
        sequence.addBlock(block);
        continue;
      }
      const victim = this.#victim();
      this.#preempt(victim ?? sequence);
      if (victim === sequence || victim === undefined) return false;
    }
    return true;
  }

  #victim(): Sequence | undefined {
    const last = this.#running.at(-1);
    if (this.#options.policy === 'fcfs' || last === undefined) return last;
    return this.#running.reduce((worst, each) => (precedes(worst, each) ? each : worst), last);
  }

  #preempt(sequence: Sequence): void {
    this.#running.splice(this.#running.indexOf(sequence), 1);
    this.#budget += sequence.chunk;
    sequence.chunk = 0;
    this.#releaseBlocks(sequence);
    sequence.computed = 0;
    sequence.status = 'waiting';
    sequence.preemptions += 1;
    this.counters.preemptions += 1;
    this.#plan.preempted += 1;
    this.#waiting.putBack(sequence);
  }

  #admit(): void {
    const { maxSequences } = this.#options;
    while (this.#budget > 0 && this.#running.length < maxSequences) {
      const sequence = this.#waiting.first();
      if (sequence === undefined || !this.#place(sequence)) return;
      this.#waiting.takeFirst();
      sequence.status = 'running';
      this.#running.push(sequence);
      this.#take(sequence, this.#chunkOf(sequence));
    }
  }

  /** Takes cached blocks and new ones for all known tokens; nothing is taken when they do not fit. */
  #place(sequence: Sequence): boolean {
    const hits = this.#options.prefixCaching ? this.#cachedBlocks(sequence) : [];
    const needed = Math.ceil(sequence.length / BLOCK_TOKENS) - hits.length;
    for (const block of hits) this.blocks.share(block);
    if (needed > this.blocks.freeBlocks) {
      for (const block of hits.toReversed()) this.blocks.release(block);
      return false;
    }
    for (const block of hits) sequence.addBlock(block);
    sequence.computed = hits.length * BLOCK_TOKENS;
    sequence.registeredBlocks = hits.length;
    const firstChunkEnd = sequence.computed + this.#chunkOf(sequence);
    while (sequence.blockCount < Math.ceil(firstChunkEnd / BLOCK_TOKENS)) {
      sequence.addBlock(this.blocks.allocate());
    }
    if (sequence.cachedTokens < 0) {
      sequence.cachedTokens = sequence.computed;
      this.counters.prefixQueryTokens += this.#options.prefixCaching ? sequence.length : 0;
      this.counters.prefixHitTokens += sequence.computed;
    }
    return true;
  }

  /** Blocks of the longest cached prefix; the last known token is always left to compute, for its logits. */
  #cachedBlocks(sequence: Sequence): number[] {
    const hits: number[] = [];
    if (
      sequence.promptRowsDone < sequence.promptLength - 1 &&
      sequence.spec.promptLogprobs !== undefined
    )
      return hits;
    const limit = Math.floor((sequence.length - 1) / BLOCK_TOKENS);
    for (let index = 0; index < limit; index += 1) {
      const block = this.blocks.lookup(blockHash(sequence, index));
      if (block < 0) break;
      hits.push(block);
    }
    return hits;
  }

  #register(sequence: Sequence): void {
    const full = Math.floor(sequence.computed / BLOCK_TOKENS);
    for (let index = sequence.registeredBlocks; index < full; index += 1) {
      this.blocks.register(sequence.block(index), blockHash(sequence, index));
    }
    sequence.registeredBlocks = Math.max(sequence.registeredBlocks, full);
  }

  #finish(sequence: Sequence): void {
    this.#releaseBlocks(sequence);
    sequence.status = 'finished';
    this.#byId.delete(sequence.id);
  }

  #releaseBlocks(sequence: Sequence): void {
    for (let index = sequence.blockCount - 1; index >= 0; index -= 1) {
      this.blocks.release(sequence.block(index));
    }
    sequence.blockCount = 0;
    sequence.registeredBlocks = 0;
  }
}
