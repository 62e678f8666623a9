// Replies of /v1/chat/completions, whole and as events. Content goes out as soon as no tag can begin in it; reasoning is
// sent under both names that clients read.
import { randomUUID } from 'node:crypto';
import type { ChatPart, OutputParser } from '../frontend/chat-parser.ts';
import type { Choice } from '../frontend/choice.ts';
import type { TokenLogprob } from '../frontend/engine-client.ts';
import type { Generation } from '../frontend/generation.ts';
import type { ServedModel } from '../frontend/served-model.ts';
import type { ChatLogprobs, ChatRequest } from '../protocol/chat.ts';
import { finishFields, type ReplyHead, replyHead } from './completion-format.ts';
import { finite, promptLogprobList, tokenName } from './completion-logprobs.ts';

interface ChoiceState {
  parser: OutputParser;
  begun: boolean;
  calls: number;
}

interface Message {
  role: 'assistant';
  content: string | null;
  reasoning: string | null;
  reasoning_content: string | null;
  refusal: null;
  tool_calls: object[];
}

export class ChatFormat {
  readonly #body: ChatRequest;
  readonly #model: ServedModel;
  readonly #makeParser: () => OutputParser;
  readonly #head: ReplyHead;
  readonly #eventHead: string;
  readonly #usageInEvents: boolean;
  readonly #usageAtEnd: boolean;
  readonly #states: ChoiceState[] = [];

  constructor(body: ChatRequest, model: ServedModel, makeParser: () => OutputParser) {
    this.#body = body;
    this.#model = model;
    this.#makeParser = makeParser;
    this.#head = replyHead('chatcmpl', model);
    const { id, created, model: name } = this.#head;
    const fields = { id, object: 'chat.completion.chunk', created, model: name };
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
      events += this.#choiceEvents(choice, generation);
      choice.clear();
    }
    if (generation.ended && this.#usageAtEnd) {
      events += `${this.#eventHead}[],"usage":${JSON.stringify(generation.usage())}}\n\n`;
    }
    return events;
  }

  /** The reply that is not streamed, as JSON. */
  whole(generation: Generation): string {
    const { id, created, model } = this.#head;
    const withIds = this.#body.return_token_ids === true;
    const choices = generation.choices.map((choice) => {
      const state = this.#stateOf(choice);
      const message = this.#message(
        [...state.parser.push(choice.text), ...state.parser.finish()],
        state,
      );
      return {
        index: choice.index,
        message,
        logprobs: this.#logprobsOf(choice),
        finish_reason: finishReasonOf(choice, state),
        stop_reason: choice.stopReason,
        ...(withIds && { token_ids: choice.tokenIds }),
        ...(this.#body.prompt_logprobs !== undefined && {
          prompt_logprobs: promptLogprobList(this.#model, choice.promptLogprobs),
        }),
      };
    });
    const promptIds = [...(generation.choices[0]?.prompt.ids ?? [])];
    return JSON.stringify({
      id,
      object: 'chat.completion',
      created,
      model,
      choices,
      usage: generation.usage(),
      ...(withIds && { prompt_token_ids: promptIds }),
    });
  }

  #stateOf(choice: Choice): ChoiceState {
    let state = this.#states[choice.index];
    if (!state) {
      state = { parser: this.#makeParser(), begun: false, calls: 0 };
      this.#states[choice.index] = state;
    }
    return state;
  }

  #message(parts: readonly ChatPart[], state: ChoiceState): Message {
    let content = this.#echoed();
    let reasoning = '';
    const calls: object[] = [];
    for (const part of parts) {
      if (part.kind === 'content') content += part.text;
      else if (part.kind === 'reasoning') reasoning += part.text;
      else calls.push(callOf(part, state));
    }
    const thoughts = reasoning === '' || this.#body.include_reasoning === false ? null : reasoning;
    return {
      role: 'assistant',
      content: content === '' && calls.length > 0 ? null : content,
      reasoning: thoughts,
      reasoning_content: thoughts,
      refusal: null,
      tool_calls: calls,
    };
  }

  /** With echo, the last message when the assistant is to continue it. */
  #echoed(): string {
    const last = this.#body.messages.at(-1);
    if (!this.#body.echo || last?.role !== 'assistant' || typeof last.content !== 'string')
      return '';
    return last.content;
  }

  #choiceEvents(choice: Choice, generation: Generation): string {
    const state = this.#stateOf(choice);
    const parts = state.parser.push(choice.text);
    if (choice.finished) parts.push(...state.parser.finish());
    const deltas = parts.flatMap((part) => this.#delta(part, state));
    const reports = this.#body.return_token_ids || this.#body.logprobs;
    const silent = deltas.length === 0 && !choice.finished && !reports;
    if (silent) return '';
    let events = '';
    if (!state.begun) {
      // The role leaves in the same write as the first text, so that all clients see the same first token.
      events += this.#event(
        choice,
        `{"role":"assistant","content":${JSON.stringify(this.#echoed())}}`,
        generation,
        'first',
      );
      state.begun = true;
    }
    if (deltas.length === 0) deltas.push('{}');
    deltas.forEach((delta, index) => {
      const place = index === deltas.length - 1 ? 'last' : 'inner';
      events += this.#event(choice, delta, generation, place);
    });
    return events;
  }

  #delta(part: ChatPart, state: ChoiceState): string[] {
    if (part.kind === 'content') return [`{"content":${JSON.stringify(part.text)}}`];
    if (part.kind === 'tool') {
      const index = state.calls;
      return [JSON.stringify({ tool_calls: [{ index, ...callOf(part, state) }] })];
    }
    if (this.#body.include_reasoning === false) return [];
    const text = JSON.stringify(part.text);
    return [`{"reasoning":${text},"reasoning_content":${text}}`];
  }

  /** The last event of a step carries what belongs to the step's tokens and not to one part of them. */
  #event(
    choice: Choice,
    delta: string,
    generation: Generation,
    place: 'first' | 'inner' | 'last',
  ): string {
    const withIds = this.#body.return_token_ids === true;
    let json = `${this.#eventHead}[{"index":${choice.index},"delta":${delta},"logprobs":`;
    json +=
      place === 'last' && this.#body.logprobs ? JSON.stringify(this.#logprobsOf(choice)) : 'null';
    json += place === 'last' ? this.#finishOf(choice) : ',"finish_reason":null,"stop_reason":null';
    if (withIds) json += `,"token_ids":[${place === 'last' ? choice.tokenIds.join(',') : ''}]`;
    json += '}]';
    if (withIds && place === 'first')
      json += `,"prompt_token_ids":[${choice.prompt.ids.join(',')}]`;
    if (this.#usageInEvents) json += `,"usage":${JSON.stringify(generation.usage())}`;
    else if (this.#usageAtEnd) json += ',"usage":null';
    return `${json}}\n\n`;
  }

  #finishOf(choice: Choice): string {
    if (!choice.finished) return finishFields(choice);
    const reason = finishReasonOf(choice, this.#stateOf(choice));
    return `,"finish_reason":"${reason}","stop_reason":${JSON.stringify(choice.stopReason)}`;
  }

  #logprobsOf(choice: Choice): ChatLogprobs | null {
    if (!this.#body.logprobs) return null;
    const asIds = this.#body.return_tokens_as_token_ids ?? false;
    const named = (token: number, logprob: number) => ({
      token: tokenName(this.#model, token, asIds),
      logprob: finite(logprob),
      bytes: [...this.#model.tokenizer.tokenBytes(token)],
    });
    const entry = ({ token, logprob, topIds, topLogprobs }: TokenLogprob) => ({
      ...named(token, logprob),
      top_logprobs: [...topIds].map((id, rank) => named(id, topLogprobs[rank] ?? 0)),
    });
    return { content: choice.logprobs.map(entry) };
  }
}

function callOf(part: Extract<ChatPart, { kind: 'tool' }>, state: ChoiceState): object {
  state.calls += 1;
  const id = `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
  return { id, type: 'function', function: { name: part.name, arguments: part.argumentsJson } };
}

/** Tool calls replace only "stop": a reply that was cut short stays "length". */
function finishReasonOf(choice: Choice, state: ChoiceState): string | null {
  return choice.finishReason === 'stop' && state.calls > 0 ? 'tool_calls' : choice.finishReason;
}
