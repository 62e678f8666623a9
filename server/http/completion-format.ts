// Replies of /v1/completions, whole and as events. A token's event is put together from strings made once a request;
// only its text is serialised, because this runs for every token of every stream beside the kernels.
import { randomUUID } from 'node:crypto';
import type { Choice } from '../frontend/choice.ts';
import type { Generation } from '../frontend/generation.ts';
import type { ServedModel } from '../frontend/served-model.ts';
import type { CompletionRequest } from '../protocol/completions.ts';
import { LogprobWriter, promptLogprobList } from './completion-logprobs.ts';

export interface ReplyHead {
  id: string;
  created: number;
  model: string;
}

/** Id, time and model of a reply. */
export function replyHead(prefix: string, model: ServedModel): ReplyHead {
  const created = Math.floor((performance.timeOrigin + performance.now()) / 1000);
  return { id: `${prefix}-${randomUUID().replaceAll('-', '')}`, created, model: model.name };
}

export class CompletionFormat {
  readonly #body: CompletionRequest;
  readonly #model: ServedModel;
  readonly #head: ReplyHead;
  readonly #eventHead: string;
  readonly #usageInEvents: boolean;
  readonly #usageAtEnd: boolean;
  readonly #logprobs: LogprobWriter[] = [];
  readonly #begun: boolean[] = [];

  constructor(body: CompletionRequest, model: ServedModel) {
    this.#body = body;
    this.#model = model;
    this.#head = replyHead('cmpl', model);
    const { id, created, model: name } = this.#head;
    const fields = { id, object: 'text_completion', created, model: name };
    this.#eventHead = `data: ${JSON.stringify(fields).slice(0, -1)},"choices":`;
    this.#usageAtEnd = body.stream_options?.include_usage ?? false;
    this.#usageInEvents =
      this.#usageAtEnd && (body.stream_options?.continuous_usage_stats ?? false);
  }

  /** All that a step brought, and the usage when it was the last one. */
  events(generation: Generation): string {
    let events = '';
    for (const choice of generation.choices) {
      if (!choice.news) continue;
      events += this.#event(choice, generation);
      choice.clear();
    }
    if (generation.ended && this.#usageAtEnd) {
      events += `${this.#eventHead}[],"usage":${JSON.stringify(generation.usage())}}\n\n`;
    }
    return events;
  }

  /** The reply that is not streamed, as JSON. */
  whole(generation: Generation): string {
    const choices = generation.choices.map((choice) => ({
      index: choice.index,
      text: this.#echoed(choice) + choice.text,
      logprobs: this.#logprobsOf(choice, true),
      finish_reason: choice.finishReason,
      stop_reason: choice.stopReason,
      ...(this.#body.return_token_ids && {
        prompt_token_ids: [...choice.prompt.ids],
        token_ids: choice.tokenIds,
      }),
      ...(this.#body.prompt_logprobs !== undefined && {
        prompt_logprobs: promptLogprobList(this.#model, choice.promptLogprobs),
      }),
    }));
    const { id, created, model } = this.#head;
    const usage = generation.usage();
    return JSON.stringify({ id, object: 'text_completion', created, model, choices, usage });
  }

  #event(choice: Choice, generation: Generation): string {
    const { return_token_ids: withIds, logprobs } = this.#body;
    const first = this.#begun[choice.index] !== true;
    const text = first ? this.#echoed(choice) + choice.text : choice.text;
    const silent = text === '' && !choice.finished && !withIds && logprobs === undefined;
    if (silent) return '';
    this.#begun[choice.index] = true;
    let json = `${this.#eventHead}[{"index":${choice.index},"text":${JSON.stringify(text)},"logprobs":`;
    json += logprobs === undefined ? 'null' : JSON.stringify(this.#logprobsOf(choice, first));
    json += finishFields(choice);
    if (withIds) {
      if (first) json += `,"prompt_token_ids":[${choice.prompt.ids.join(',')}]`;
      json += `,"token_ids":[${choice.tokenIds.join(',')}]`;
    }
    json += '}]';
    if (this.#usageInEvents) json += `,"usage":${JSON.stringify(generation.usage())}`;
    else if (this.#usageAtEnd) json += ',"usage":null';
    return `${json}}\n\n`;
  }

  #echoed(choice: Choice): string {
    if (!this.#body.echo) return '';
    const { ids, text } = choice.prompt;
    return text ?? this.#model.tokenizer.decode([...ids], { skipSpecialTokens: false });
  }

  #logprobsOf(choice: Choice, first: boolean): object | null {
    if (this.#body.logprobs === undefined) return null;
    const asIds = this.#body.return_tokens_as_token_ids ?? false;
    this.#logprobs[choice.index] ??= new LogprobWriter(this.#model, asIds);
    const echoes = first && this.#body.echo;
    const entries = echoes ? [...choice.promptLogprobs, ...choice.logprobs] : choice.logprobs;
    const firstToken = echoes ? choice.prompt.ids[0] : undefined;
    return this.#logprobs[choice.index]?.write(firstToken, entries) ?? null;
  }
}

/** The two closing fields of a choice; both are null until it ends. */
export function finishFields(choice: Choice): string {
  if (!choice.finished) return ',"finish_reason":null,"stop_reason":null';
  return `,"finish_reason":"${choice.finishReason}","stop_reason":${JSON.stringify(choice.stopReason)}`;
}
