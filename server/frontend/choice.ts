// One choice of a reply as it grows: tokens become text, stop strings are found, and what is new since the last write
// waits here. It knows nothing of the wire format.
import { IncrementalDetokenizer } from '../model/detokenizer.ts';
import type { FinishReason } from '../protocol/completions.ts';
import { FINISH, type FinishCode } from '../scheduler/stop-rules.ts';
import type { TokenExtras, TokenLogprob } from './engine-client.ts';
import type { Prompt } from './prompts.ts';
import type { ServedModel } from './served-model.ts';
import { StopMatcher } from './stop-strings.ts';

export interface ChoiceOptions {
  stops: readonly string[];
  includeStop: boolean;
  skipSpecialTokens: boolean;
  minTokens: number;
  /** The drawn token is only a means to read the prompt's logits; it is not part of the reply. */
  promptOnly: boolean;
}

export class Choice {
  readonly index: number;
  readonly promptIndex: number;
  readonly prompt: Prompt;
  completionTokens = 0;
  cachedTokens = 0;
  finishReason: FinishReason | null = null;
  stopReason: string | number | null = null;
  /** Since the last clear(). */
  text = '';
  tokenIds: number[] = [];
  logprobs: TokenLogprob[] = [];
  news = false;
  /** Entry i belongs to prompt token i + 1. */
  readonly promptLogprobs: TokenLogprob[] = [];
  /** CLOCK_MONOTONIC ns; 0 before. */
  firstTokenNs = 0;
  lastTokenNs = 0;
  queuedNs = 0;
  scheduledNs = 0;
  /** What the request allowed. */
  maxTokens = 0;
  readonly #options: ChoiceOptions;
  readonly #detokenizer: IncrementalDetokenizer;
  readonly #matcher: StopMatcher | undefined;

  constructor(
    place: { index: number; promptIndex: number; prompt: Prompt },
    model: ServedModel,
    options: ChoiceOptions,
  ) {
    this.index = place.index;
    this.promptIndex = place.promptIndex;
    this.prompt = place.prompt;
    this.#options = options;
    this.#detokenizer = new IncrementalDetokenizer(model.tokenizer, {
      skipSpecialTokens: options.skipSpecialTokens,
    });
    if (options.stops.length > 0) {
      this.#matcher = new StopMatcher(options.stops, options.includeStop);
    }
  }

  get finished(): boolean {
    return this.finishReason !== null;
  }

  /** False where the drawn token is not part of the reply. */
  get countsTokens(): boolean {
    return !this.#options.promptOnly;
  }

  /** Takes a drawn token; afterwards `finished` may be true although `finish` is none: a stop string was found. */
  accept(token: number, finish: FinishCode, extras: TokenExtras | undefined): void {
    if (extras?.promptLogprobs) this.promptLogprobs.push(...extras.promptLogprobs.entries);
    this.news = true;
    if (this.#options.promptOnly) {
      this.finishReason = 'length';
      return;
    }
    this.completionTokens += 1;
    this.tokenIds.push(token);
    if (extras?.logprob) this.logprobs.push(extras.logprob);
    const isStopToken = finish === FINISH.eos || finish === FINISH.stopId;
    const shown = !isStopToken || (finish === FINISH.stopId && this.#options.includeStop);
    let piece = shown ? this.#detokenizer.push(token) : '';
    if (finish !== FINISH.none) piece += this.#detokenizer.finish();
    this.#take(piece);
    if (finish !== FINISH.none && !this.finished) this.#finish(token, finish);
  }

  /** Forgets what was written. */
  clear(): void {
    this.text = '';
    this.tokenIds = [];
    this.logprobs = [];
    this.news = false;
  }

  #take(piece: string): void {
    const { minTokens } = this.#options;
    const tooEarly = minTokens > 0 && this.completionTokens <= minTokens;
    if (!this.#matcher || tooEarly) {
      this.text += piece;
      return;
    }
    const { text, stop } = this.#matcher.push(piece);
    this.text += text;
    if (stop === undefined) return;
    this.finishReason = 'stop';
    this.stopReason = stop;
  }

  #finish(token: number, finish: FinishCode): void {
    this.text += this.#matcher?.flush() ?? '';
    this.finishReason = finish === FINISH.length ? 'length' : 'stop';
    if (finish === FINISH.stopId) this.stopReason = token;
  }
}
