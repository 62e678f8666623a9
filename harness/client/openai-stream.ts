// The meaning of OpenAI stream events: which carry content, how many tokens, what usage says, and what is broken.
// It writes into a timeline. It judges no length: that is judge.ts, after the run.
import type { SseSink } from './sse-parser.ts';
import type { FailureCode, RequestTimeline } from './timeline.ts';

export type Endpoint = 'completions' | 'chat';

type Json = Readonly<Record<string, unknown>>;

/** One stream's events, written into its timeline as they come. */
export class OpenAiStream implements SseSink {
  readonly #timeline: RequestTimeline;
  readonly #endpoint: Endpoint;
  /** Tokens of each content event; given up as soon as one event does not say. */
  readonly #counts: number[] = [];
  #countsKnown = true;
  /** Tokens that came without text (a character's first bytes); they belong to the next content event. */
  #carriedTokens = 0;
  #carriedNs = 0;
  #usageSoFar = 0;
  #otherForm = false;
  #extraChoice = false;

  constructor(timeline: RequestTimeline, endpoint: Endpoint) {
    this.#timeline = timeline;
    this.#endpoint = endpoint;
  }

  event(type: string, data: string, stampNs: number): void {
    const timeline = this.#timeline;
    timeline.firstEventNs ??= stampNs;
    if (timeline.doneNs !== undefined) {
      this.#fail('leftover_bytes', `After [DONE] came: ${excerpt(data)}`);
    } else if (type === 'error') {
      this.#fail('stream_error', `The stream carried an error event: ${excerpt(data)}`);
    } else if (data === '[DONE]') {
      timeline.doneNs = stampNs;
    } else {
      this.#message(data, stampNs);
    }
  }

  invalid(message: string): void {
    this.#fail('invalid_sse', message);
  }

  /** To be called once, when the response has ended: settles what only the end can tell. */
  finish(): void {
    const timeline = this.#timeline;
    if (this.#countsKnown && this.#carriedTokens > 0 && this.#counts.length > 0) {
      timeline.contentNs.push(this.#carriedNs);
      this.#counts.push(this.#carriedTokens);
    }
    const only = timeline.contentNs.length === 1 ? timeline.outputTokens : undefined;
    if (this.#countsKnown && this.#counts.length > 0) timeline.contentTokens = this.#counts;
    else if (only !== undefined) timeline.contentTokens = [only];
    if (this.#extraChoice) {
      this.#fail('token_count', 'The stream holds more than one choice; one was asked for.');
    }
    if (this.#otherForm && timeline.contentNs.length === 0 && timeline.doneNs !== undefined) {
      const form = this.#endpoint === 'chat' ? 'completions' : 'chat';
      this.#fail(
        'no_content',
        `The ${this.#endpoint} request was answered in the form of ${form}; none of it counts.`,
      );
    }
  }

  #fail(code: FailureCode, message: string): void {
    this.#timeline.failure ??= { code, message };
  }

  #message(data: string, stampNs: number): void {
    let message: unknown;
    try {
      message = JSON.parse(data);
    } catch {
      this.#fail('invalid_sse', `An event's data is not JSON: ${excerpt(data)}`);
      return;
    }
    if (!isObject(message)) {
      this.#fail('invalid_sse', `An event's data is not a JSON object: ${excerpt(data)}`);
      return;
    }
    const { error, choices } = message;
    if ((error !== undefined && error !== null) || message['object'] === 'error') {
      this.#fail('stream_error', `The stream carried an error: ${excerpt(data)}`);
      return;
    }
    const usageDelta = this.#usage(message);
    if (!Array.isArray(choices)) return;
    for (const choice of choices as unknown[]) {
      if (isObject(choice)) this.#choice(choice, usageDelta, stampNs);
    }
  }

  #choice(choice: Json, usageDelta: number | undefined, stampNs: number): void {
    const index = choice['index'];
    if (typeof index === 'number' && index !== 0) {
      this.#extraChoice = true;
      return;
    }
    const timeline = this.#timeline;
    const finish = choice['finish_reason'];
    if (typeof finish === 'string' && finish !== '') timeline.finishReason = finish;

    let tokens = usageDelta;
    const ids = choice['token_ids'];
    if (Array.isArray(ids) && ids.length > 0) {
      timeline.tokenIds ??= [];
      for (const id of ids as unknown[]) timeline.tokenIds.push(Number(id));
      tokens = ids.length;
    } else if (timeline.tokenIds !== undefined) {
      // A stream that gives ids gives all of them: usage beside them would count the same tokens twice.
      tokens = 0;
    }
    if (this.#hasContent(choice)) this.#content(tokens, stampNs);
    else if (tokens !== undefined && tokens > 0) {
      this.#carriedTokens += tokens;
      this.#carriedNs = stampNs;
    }
  }

  #content(tokens: number | undefined, stampNs: number): void {
    this.#timeline.contentNs.push(stampNs);
    if (tokens === undefined) this.#countsKnown = false;
    else this.#counts.push(tokens + this.#carriedTokens);
    this.#carriedTokens = 0;
  }

  /** Appends the choice's text to the timeline and tells whether the choice carries anything that a reader would see. */
  #hasContent(choice: Json): boolean {
    const { text, delta } = choice;
    if (this.#endpoint === 'completions') {
      if (isObject(delta)) this.#otherForm = true;
      return this.#append(text);
    }
    if (typeof text === 'string') this.#otherForm = true;
    if (!isObject(delta)) return false;
    const reasoned = this.#append(delta['reasoning_content']) || this.#append(delta['reasoning']);
    const said = this.#append(delta['content']) || this.#append(delta['refusal']);
    return reasoned || said || callsTool(delta);
  }

  #append(text: unknown): boolean {
    if (typeof text !== 'string' || text === '') return false;
    this.#timeline.text += text;
    return true;
  }

  /** Takes the totals; returns how many tokens are new, where this event says so. */
  #usage(message: Json): number | undefined {
    const timeline = this.#timeline;
    const { usage, timings } = message;
    const kept = isObject(timings) ? count(timings['cache_n']) : undefined;
    if (kept !== undefined) timeline.cachedTokens ??= kept;
    if (!isObject(usage)) return undefined;
    const details = usage['prompt_tokens_details'];
    const cached = isObject(details) ? count(details['cached_tokens']) : undefined;
    if (cached !== undefined) timeline.cachedTokens = cached;
    const prompt = count(usage['prompt_tokens']);
    if (prompt !== undefined) timeline.promptTokens = prompt;
    const total = count(usage['completion_tokens']);
    if (total === undefined) return undefined;
    timeline.outputTokens = total;
    const delta = total - this.#usageSoFar;
    this.#usageSoFar = total;
    return delta >= 0 ? delta : undefined;
  }
}

function callsTool(delta: Json): boolean {
  const { tool_calls: calls, function_call: legacy } = delta;
  if (Array.isArray(calls)) {
    return (calls as unknown[]).some((call) => isObject(call) && namesOrArgues(call['function']));
  }
  return namesOrArgues(legacy);
}

function namesOrArgues(call: unknown): boolean {
  if (!isObject(call)) return false;
  const { name, arguments: argument } = call;
  return (
    (typeof name === 'string' && name !== '') || (typeof argument === 'string' && argument !== '')
  );
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function excerpt(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
}
