// What happens to logits between the forward pass and the draw: log-probabilities are read from them as the model
// left them, then min_tokens, penalties, bias and allowed ids change them. Rows that ask for nothing are not touched.
import type { TokenExtras, TokenLogprob } from '../frontend/engine-client.ts';
import type { Sequence } from '../scheduler/sequence.ts';
import type { StepPlan } from '../scheduler/step-plan.ts';
import { GrammarMasks } from './grammar-mask.ts';
import { applyRules, TokenCounts } from './logit-rules.ts';
import { type RowLogprobs, rowLogprobs } from './logprobs.ts';
import type { Runner } from './runner.ts';

export class LogitStage {
  readonly #runner: Runner;
  readonly #eosIds: readonly number[];
  /** How often each sequence with penalties has drawn each token. */
  readonly #counts = new Map<number, TokenCounts>();
  readonly grammars: GrammarMasks;
  /** Sequences that cannot go on: their grammar costs too much. */
  readonly failed: number[] = [];
  readonly #drawLogprobs = new Map<number, RowLogprobs>();
  readonly #promptLogprobs = new Map<number, { from: number; entries: TokenLogprob[] }>();

  constructor(runner: Runner, eosIds: readonly number[]) {
    this.#runner = runner;
    this.#eosIds = eosIds;
    this.grammars = new GrammarMasks(eosIds);
  }

  beforeDraw(plan: StepPlan): void {
    for (let row = 0; row < plan.rowCount; row += 1) {
      const sequence = plan.rowSequence[row];
      if (!sequence) continue;
      if (plan.rowDraws[row] === 0) this.#readPrompt(sequence, row, plan.rowPosition[row] ?? 0);
      else this.#prepareDraw(sequence, row);
    }
  }

  /** What is to be reported with the token that the sequence has just drawn. */
  extrasOf(sequence: Sequence, token: number): TokenExtras | undefined {
    const draw = this.#drawLogprobs.get(sequence.id);
    const promptLogprobs = this.#promptLogprobs.get(sequence.id);
    if (!draw && !promptLogprobs) return undefined;
    const extras: TokenExtras = {};
    if (draw) extras.logprob = draw.of(token);
    if (promptLogprobs) extras.promptLogprobs = promptLogprobs;
    this.#drawLogprobs.delete(sequence.id);
    this.#promptLogprobs.delete(sequence.id);
    return extras;
  }

  forget(sequence: Sequence): void {
    this.forgetId(sequence.id);
  }

  forgetId(id: number): void {
    this.#counts.delete(id);
    this.grammars.forget(id);
    this.#drawLogprobs.delete(id);
    this.#promptLogprobs.delete(id);
  }

  #readPrompt(sequence: Sequence, row: number, position: number): void {
    const top = sequence.spec.promptLogprobs ?? 0;
    const entry = rowLogprobs(this.#runner.logits(row), top).of(sequence.tokens[position + 1] ?? 0);
    const known = this.#promptLogprobs.get(sequence.id);
    if (known) known.entries.push(entry);
    else this.#promptLogprobs.set(sequence.id, { from: position + 1, entries: [entry] });
  }

  #prepareDraw(sequence: Sequence, row: number): void {
    const { spec } = sequence;
    if (spec.logprobs !== undefined) {
      this.#drawLogprobs.set(sequence.id, rowLogprobs(this.#runner.logits(row), spec.logprobs));
    }
    const tooShort = sequence.outputTokens < spec.minTokens;
    if (!tooShort && !spec.rules && !spec.grammar) return;
    const logits = this.#runner.logits(row);
    if (spec.rules) applyRules(logits, sequence, spec.rules, this.#countsOf(sequence));
    if (!this.grammars.apply(logits, sequence)) this.failed.push(sequence.id);
    if (tooShort) {
      if (!spec.ignoreEos) for (const id of this.#eosIds) logits[id] = Number.NEGATIVE_INFINITY;
      for (const id of spec.stopTokenIds) logits[id] = Number.NEGATIVE_INFINITY;
    }
  }

  #countsOf(sequence: Sequence): TokenCounts {
    let counts = this.#counts.get(sequence.id);
    if (!counts) {
      counts = new TokenCounts();
      this.#counts.set(sequence.id, counts);
    }
    counts.advance(sequence);
    return counts;
  }
}
