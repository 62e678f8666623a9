import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeRunner, fakeNextToken } from '../engine/fake-runner.ts';
import type { SchedulingPolicy } from './request-queue.ts';
import { Scheduler, type SchedulerOptions } from './scheduler.ts';
import { BLOCK_TOKENS, type Sequence, type SequenceSpec } from './sequence.ts';
import type { StepPlan } from './step-plan.ts';

const VOCABULARY = 211;
const EOS = 7;

type Random = () => number;

/** mulberry32: the same numbers for the same seed. */
function randomFrom(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const between = (random: Random, low: number, high: number): number =>
  low + Math.floor(random() * (high - low + 1));

function specFrom(random: Random, id: number, maxModelLength: number): SequenceSpec {
  const promptLength = between(random, 1, maxModelLength - 2);
  // Few distinct beginnings, so that prefixes repeat.
  const family = between(random, 0, 2);
  const promptIds = Int32Array.from(
    { length: promptLength },
    (_, at) => (family * 31 + at) % VOCABULARY,
  );
  if (random() < 0.3) promptIds[promptLength - 1] = between(random, 0, VOCABULARY - 1);
  const maxTokens = between(random, 1, maxModelLength - promptLength);
  return {
    id,
    promptIds,
    maxTokens,
    minTokens: random() < 0.2 ? between(random, 0, maxTokens) : 0,
    ignoreEos: random() < 0.5,
    stopTokenIds: random() < 0.2 ? [between(random, 0, VOCABULARY - 1)] : [],
    priority: between(random, 0, 3),
    sampling: { temperature: 0, topK: 0, topP: 1, minP: 0, seedLow: 1, seedHigh: 0 },
    ...(random() < 0.1 && { promptLogprobs: 0 }),
    ...(random() < 0.2 && { cacheSalt: 'salt' }),
  };
}

/** What the sequence must draw whatever else runs. */
function expectedOutput(spec: SequenceSpec, maxModelLength: number): number[] {
  const tokens = [...spec.promptIds];
  const output: number[] = [];
  for (;;) {
    const token = fakeNextToken(tokens, VOCABULARY);
    tokens.push(token);
    output.push(token);
    const early = output.length < spec.minTokens;
    if (tokens.length >= maxModelLength) return output;
    if (early) continue;
    if (!spec.ignoreEos && token === EOS) return output;
    if (spec.stopTokenIds.includes(token) || output.length >= spec.maxTokens) return output;
  }
}

interface Simulation {
  options: SchedulerOptions;
  scheduler: Scheduler;
  runner: FakeRunner;
  /** Every live sequence, by id; learnt from plans. */
  live: Map<number, SequenceSpec>;
  seen: Set<Sequence>;
  outputs: Map<number, number[]>;
}

function begin(random: Random): Simulation {
  const maxModelLength = between(random, 20, 120);
  const maxSequences = between(random, 1, 8);
  const minimum = Math.ceil(maxModelLength / BLOCK_TOKENS);
  const options: SchedulerOptions = {
    maxTokensPerStep: between(random, Math.max(4, maxSequences), 60),
    maxSequences,
    maxModelLength,
    maxLogitRows: maxSequences + between(random, 0, 8),
    blockCount: between(random, minimum, minimum * 2),
    policy: (random() < 0.5 ? 'fcfs' : 'priority') satisfies SchedulingPolicy,
    prefixCaching: random() < 0.5,
    eosIds: [EOS],
  };
  return {
    options,
    scheduler: new Scheduler(options),
    runner: new FakeRunner({ vocabulary: VOCABULARY, kvBlocks: options.blockCount, stepMs: 0 }),
    live: new Map(),
    seen: new Set(),
    outputs: new Map(),
  };
}

function checkPlan(plan: StepPlan, { options }: Simulation): void {
  assert.ok(plan.tokenCount <= options.maxTokensPerStep, 'the token budget is kept');
  assert.ok(plan.sequenceCount <= options.maxSequences, 'the sequence budget is kept');
  assert.ok(plan.logitRowCount <= options.maxLogitRows, 'the logit rows are kept');
  assert.equal(plan.prefillTokens + plan.decodeTokens, plan.tokenCount);
  for (let row = 1; row < plan.logitRowCount; row += 1) {
    assert.ok((plan.logitRows[row] ?? 0) > (plan.logitRows[row - 1] ?? 0), 'logit rows ascend');
  }
  plan.sequences.forEach((sequence, index) => {
    const start = plan.queryStart[index] ?? 0;
    const end = plan.queryStart[index + 1] ?? 0;
    assert.ok(end > start, 'nobody is in a step without a token');
    assert.ok(
      sequence.blockCount * BLOCK_TOKENS >= sequence.computed,
      'blocks cover every position',
    );
  });
}

function checkBlocks({ scheduler, options, seen }: Simulation): void {
  const holders = new Map<number, number>();
  for (const sequence of seen) {
    if (sequence.status !== 'running')
      assert.equal(sequence.blockCount, 0, 'only the running hold blocks');
    const own = [...sequence.blocks.subarray(0, sequence.blockCount)];
    assert.equal(new Set(own).size, own.length, 'no block twice in one table');
    for (const block of own) holders.set(block, (holders.get(block) ?? 0) + 1);
  }
  for (let block = 0; block < options.blockCount; block += 1) {
    assert.equal(
      scheduler.blocks.references(block),
      holders.get(block) ?? 0,
      `holders of block ${block}`,
    );
  }
  assert.equal(scheduler.blocks.freeBlocks, options.blockCount - holders.size, 'no block is lost');
  if (!options.prefixCaching) {
    for (const count of holders.values())
      assert.equal(count, 1, 'blocks are shared only by the cache');
  }
}

function step(simulation: Simulation): boolean {
  const { scheduler, runner, options, live, seen, outputs } = simulation;
  const before = new Set(scheduler.running);
  const plan = scheduler.schedule();
  if (!plan) return false;
  checkPlan(plan, simulation);
  for (const sequence of plan.sequences) {
    if (!seen.has(sequence) && options.policy === 'fcfs') {
      const earlier = [...seen].every(({ arrival, status }) => {
        return arrival < sequence.arrival && status !== 'waiting';
      });
      assert.ok(earlier, 'first come, first served, also after a preemption');
    }
    if (plan.preempted > 0) assert.ok(before.has(sequence), 'nobody is admitted as others go');
    seen.add(sequence);
  }
  runner.forward(plan);
  const drawn = new Int32Array(options.maxLogitRows);
  runner.sample(plan, drawn);
  scheduler.update(drawn, (sequence, token, finish) => {
    const output = outputs.get(sequence.id) ?? [];
    outputs.set(sequence.id, output);
    output.push(token);
    if (finish === 0) return;
    const spec = live.get(sequence.id);
    assert.ok(spec, 'only live sequences draw');
    assert.deepEqual(
      output,
      expectedOutput(spec, options.maxModelLength),
      'the batch changes nothing',
    );
    live.delete(sequence.id);
  });
  checkBlocks(simulation);
  return true;
}

function simulate(seed: number): Scheduler['counters'] {
  const random = randomFrom(seed);
  const simulation = begin(random);
  const { scheduler, live, options } = simulation;
  const count = between(random, 10, 30);
  let added = 0;
  let steps = 0;
  while (added < count || live.size > 0) {
    if (added < count && random() < 0.5) {
      const spec = specFrom(random, added, options.maxModelLength);
      live.set(spec.id, spec);
      scheduler.add(spec);
      added += 1;
    }
    if (live.size > 0 && random() < 0.05) {
      const [id] = [...live.keys()].slice(between(random, 0, live.size - 1));
      assert.ok(id !== undefined && scheduler.abort(id), 'a live sequence can be aborted');
      assert.equal(scheduler.abort(id), false, 'and only once');
      live.delete(id);
      checkBlocks(simulation);
    }
    const ran = step(simulation);
    assert.ok(ran || live.size === 0, 'something runs while anything is live');
    steps += 1;
    assert.ok(steps < 60_000, 'everyone finishes');
  }
  assert.equal(scheduler.runningCount + scheduler.waitingCount, 0);
  assert.equal(scheduler.blocks.freeBlocks, options.blockCount);
  assert.ok(scheduler.blocks.reset());
  return scheduler.counters;
}

test('300 random schedules lose no block, keep every budget and let everyone finish with its own tokens', () => {
  const totals = { preemptions: 0, prefixHitTokens: 0 };
  for (let seed = 1; seed <= 300; seed += 1) {
    try {
      const { preemptions, prefixHitTokens } = simulate(seed);
      totals.preemptions += preemptions;
      totals.prefixHitTokens += prefixHitTokens;
    } catch (cause) {
      throw new Error(`seed ${seed}: ${cause instanceof Error ? cause.message : cause}`, { cause });
    }
  }
  assert.ok(totals.preemptions > 600, 'the pools were small enough to preempt');
  assert.ok(totals.prefixHitTokens > 10_000, 'the prefix cache was hit');
});
