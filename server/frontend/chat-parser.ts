// Splits what a chat model writes into reasoning, content and tool calls, as it arrives. Thoughts stand between <think>
// and </think> at the beginning; tool calls between <tool_call> and </tool_call> (Qwen, Hermes). What does not parse as
// a call is content: no text of the model is ever lost.
import { z } from 'zod';
import { TagScanner } from './tag-scanner.ts';

export type ChatPart =
  | { kind: 'reasoning'; text: string }
  | { kind: 'content'; text: string }
  | { kind: 'tool'; name: string; argumentsJson: string };

/** Turns text, as it comes, into parts; finish() gives the rest. */
export interface OutputParser {
  push(piece: string): ChatPart[];
  finish(): ChatPart[];
}

export interface ChatParserOptions {
  /** The model marks its thoughts. */
  thinks: boolean;
  /** The prompt already opened the thoughts. */
  opened: boolean;
  /** The request offers tools. */
  tools: boolean;
}

const THINK = '<think>';
const THINK_END = '</think>';
const CALL = '<tool_call>';
const CALL_END = '</tool_call>';

const toolCall = z.object({
  name: z.string().min(1),
  arguments: z.union([z.record(z.string(), z.unknown()), z.string()]).default({}),
});

type Stage = 'start' | 'thinking' | 'content' | 'call';

export class ChatParser implements OutputParser {
  readonly #tools: boolean;
  readonly #scanner: TagScanner;
  #stage: Stage;
  /** Text of the call being written. */
  #call = '';
  /** White space at the beginning of a section is dropped. */
  #sectionBegun = false;

  constructor({ thinks, opened, tools }: ChatParserOptions) {
    this.#tools = tools;
    this.#stage = !thinks ? 'content' : opened ? 'thinking' : 'start';
    this.#sectionBegun = this.#stage === 'content';
    const tags = [...(thinks ? [THINK, THINK_END] : []), ...(tools ? [CALL, CALL_END] : [])];
    this.#scanner = new TagScanner(tags);
  }

  push(piece: string): ChatPart[] {
    const parts: ChatPart[] = [];
    for (const scanned of this.#scanner.push(piece)) {
      if ('tag' in scanned) this.#takeTag(scanned.tag, parts);
      else this.#takeText(scanned.text, parts);
    }
    return parts;
  }

  /** The rest, at the end of the reply. */
  finish(): ChatPart[] {
    const parts: ChatPart[] = [];
    const held = this.#scanner.flush();
    if (held !== '') this.#takeText(held, parts);
    if (this.#stage === 'call') this.#endCall('', parts);
    return parts;
  }

  #takeTag(tag: string, parts: ChatPart[]): void {
    if (tag === THINK && this.#stage === 'start') {
      this.#enter('thinking');
    } else if (tag === THINK_END && this.#stage === 'thinking') {
      this.#enter('content');
    } else if (
      tag === CALL &&
      this.#tools &&
      this.#stage !== 'thinking' &&
      this.#stage !== 'call'
    ) {
      this.#stage = 'call';
      this.#call = '';
    } else if (tag === CALL_END && this.#stage === 'call') {
      this.#endCall(CALL_END, parts);
    } else {
      this.#takeText(tag, parts);
    }
  }

  #enter(stage: Stage): void {
    this.#stage = stage;
    this.#sectionBegun = false;
  }

  #takeText(text: string, parts: ChatPart[]): void {
    if (this.#stage === 'call') {
      this.#call += text;
      return;
    }
    const shown = this.#sectionBegun ? text : text.trimStart();
    if (shown === '') return;
    this.#sectionBegun = true;
    if (this.#stage === 'start') this.#stage = 'content';
    parts.push({ kind: this.#stage === 'thinking' ? 'reasoning' : 'content', text: shown });
  }

  #endCall(closing: string, parts: ChatPart[]): void {
    const call = parseCall(this.#call);
    this.#enter('content');
    if (call) parts.push(call);
    else this.#takeText(`${CALL}${this.#call}${closing}`, parts);
    this.#call = '';
  }
}

function parseCall(text: string): ChatPart | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const parsed = toolCall.safeParse(value);
  if (!parsed.success) return undefined;
  const { name, arguments: given } = parsed.data;
  return {
    kind: 'tool',
    name,
    argumentsJson: typeof given === 'string' ? given : JSON.stringify(given),
  };
}
