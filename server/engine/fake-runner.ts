// A runner for tests: the next token is a fixed function of all tokens before it, read back through the block tables
// from a pretended KV cache. So a lost, shared or stale block changes the output, just as it would in a model.
import { BLOCK_TOKENS } from '../scheduler/sequence.ts';
import type { StepPlan } from '../scheduler/step-plan.ts';
import type { Runner } from './runner.ts';

export interface FakeRunnerOptions {
  vocabulary: number;
  kvBlocks: number;
  /** How long a step takes; 0 is as fast as possible. */
  stepMs: number;
  /** The step at which forward() throws. */
  crashAtStep?: number;
  /** Every sequence draws these tokens, the last one again and again, instead of noise. */
  script?: readonly number[];
}

function mix(state: number, token: number): number {
  let mixed = Math.imul(state ^ (token + 0x9e3779b9), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) | 0;
}

/** The token that FakeRunner draws greedily after `tokens`. */
export function fakeNextToken(tokens: Iterable<number>, vocabulary: number): number {
  let state = 0;
  for (const token of tokens) state = mix(state, token);
  return (state >>> 0) % vocabulary;
}

export class FakeRunner implements Runner {
  readonly #options: FakeRunnerOptions;
  /** The "keys and values": a digest of everything up to and including each position. */
  readonly #cache: Int32Array;
  readonly #rowState: number[] = [];
  readonly #rowLogits: (Float32Array | undefined)[] = [];
  #steps = 0;

  constructor(options: FakeRunnerOptions) {
    this.#options = options;
    this.#cache = new Int32Array(options.kvBlocks * BLOCK_TOKENS);
  }

  forward(plan: StepPlan): void {
    if (this.#steps === this.#options.crashAtStep)
      throw new Error('the fake runner was told to crash');
    this.#steps += 1;
    this.#rowState.length = 0;
    this.#rowLogits.length = 0;
    let row = 0;
    for (let index = 0; index < plan.sequenceCount; index += 1) {
      const start = plan.queryStart[index] ?? 0;
      const end = plan.queryStart[index + 1] ?? 0;
      const first = plan.firstPosition[index] ?? 0;
      for (let at = start; at < end; at += 1) {
        const state = this.#compute(plan, index, first + at - start, plan.tokens[at] ?? 0);
        if (row < plan.logitRowCount && plan.logitRows[row] === at) {
          this.#rowState.push(state);
          row += 1;
        }
      }
    }
    if (this.#options.stepMs > 0) sleep(this.#options.stepMs);
  }

  logits(row: number): Float32Array {
    const known = this.#rowLogits[row];
    if (known) return known;
    const { vocabulary } = this.#options;
    const state = this.#rowState[row] ?? 0;
    const logits = Float32Array.from({ length: vocabulary }, (_, id) => {
      return ((mix(state, id) >>> 0) / 2 ** 32) * 4;
    });
    logits[(state >>> 0) % vocabulary] = 6;
    this.#rowLogits[row] = logits;
    return logits;
  }

  sample(plan: StepPlan, drawn: Int32Array): void {
    const { script } = this.#options;
    for (let row = 0; row < plan.rowCount; row += 1) {
      if (script) {
        drawn[row] = script[Math.min(plan.drawIndex[row] ?? 0, script.length - 1)] ?? 0;
        continue;
      }
      const temperature = plan.temperature[row] ?? 0;
      const untouched = this.#rowLogits[row] === undefined && temperature === 0;
      if (untouched) drawn[row] = ((this.#rowState[row] ?? 0) >>> 0) % this.#options.vocabulary;
      else drawn[row] = this.#draw(plan, row, temperature);
    }
  }

  close(): void {}

  #compute(plan: StepPlan, index: number, position: number, token: number): number {
    const before = position === 0 ? 0 : (this.#cache[this.#slot(plan, index, position - 1)] ?? 0);
    const state = mix(before, token);
    this.#cache[this.#slot(plan, index, position)] = state;
    return state;
  }

  #slot(plan: StepPlan, index: number, position: number): number {
    const entry = index * plan.blockTableStride + Math.floor(position / BLOCK_TOKENS);
    return (plan.blockTables[entry] ?? 0) * BLOCK_TOKENS + (position % BLOCK_TOKENS);
  }

  #draw(plan: StepPlan, row: number, temperature: number): number {
    const seed = mix(
      plan.seed[row * 2] ?? 0,
      mix(plan.seed[row * 2 + 1] ?? 0, plan.drawIndex[row] ?? 0),
    );
    let best = 0;
    let bestScore = Number.NEGATIVE_INFINITY;
    this.logits(row).forEach((logit, id) => {
      const uniform = ((mix(seed, id) >>> 0) + 1) / (2 ** 32 + 1);
      const score = temperature === 0 ? logit : logit / temperature - Math.log(-Math.log(uniform));
      if (score <= bestScore) return;
      best = id;
      bestScore = score;
    });
    return best;
  }
}

function sleep(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
