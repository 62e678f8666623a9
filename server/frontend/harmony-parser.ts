// Splits what a gpt-oss model writes: messages with a header that names a channel and perhaps a recipient, then a body.
// The analysis channel is reasoning, a body for functions.NAME is a tool call, all else is content. The marks themselves
// never show.
import type { ChatPart, OutputParser } from './chat-parser.ts';
import { TagScanner } from './tag-scanner.ts';

const MESSAGE = '<|message|>';
const START = '<|start|>';
const ENDS = ['<|end|>', '<|return|>', '<|call|>'];
const HEADER_MARKS = ['<|channel|>', '<|constrain|>'];

/** What a body is, by its header. */
interface Body {
  kind: 'reasoning' | 'content' | 'tool';
  tool: string;
}

function bodyOf(header: string): Body {
  const recipient = /\bto=functions\.([\w.-]+)/.exec(header)?.[1];
  if (recipient !== undefined) return { kind: 'tool', tool: recipient };
  const channel = /<\|channel\|>\s*(\w+)/.exec(header)?.[1];
  return { kind: channel === 'analysis' ? 'reasoning' : 'content', tool: '' };
}

export class HarmonyParser implements OutputParser {
  readonly #scanner = new TagScanner([MESSAGE, START, ...ENDS, ...HEADER_MARKS]);
  #header = '';
  /** Undefined while a header is being written. */
  #body: Body | undefined;
  #arguments = '';
  #sawMessage = false;

  push(piece: string): ChatPart[] {
    const parts: ChatPart[] = [];
    for (const scanned of this.#scanner.push(piece)) {
      if ('tag' in scanned) this.#takeTag(scanned.tag, parts);
      else this.#takeText(scanned.text, parts);
    }
    return parts;
  }

  finish(): ChatPart[] {
    const parts: ChatPart[] = [];
    const held = this.#scanner.flush();
    if (held !== '') this.#takeText(held, parts);
    this.#endBody(parts);
    // A model that wrote no message at all has written text; a header that was cut short is none.
    const isText = !this.#sawMessage && !HEADER_MARKS.some((mark) => this.#header.includes(mark));
    if (isText && this.#header !== '') parts.push({ kind: 'content', text: this.#header });
    return parts;
  }

  #takeTag(tag: string, parts: ChatPart[]): void {
    if (tag === MESSAGE && !this.#body) {
      this.#body = bodyOf(this.#header);
      this.#sawMessage = true;
      this.#arguments = '';
    } else if (tag === START || ENDS.includes(tag)) {
      this.#endBody(parts);
      this.#header = '';
    } else if (!this.#body) {
      this.#header += tag;
    }
  }

  #takeText(text: string, parts: ChatPart[]): void {
    if (!this.#body) this.#header += text;
    else if (this.#body.kind === 'tool') this.#arguments += text;
    else parts.push({ kind: this.#body.kind, text });
  }

  #endBody(parts: ChatPart[]): void {
    const body = this.#body;
    this.#body = undefined;
    if (body?.kind !== 'tool') return;
    const argumentsJson = this.#arguments.trim();
    if (isJson(argumentsJson)) parts.push({ kind: 'tool', name: body.tool, argumentsJson });
    else if (argumentsJson !== '') parts.push({ kind: 'content', text: this.#arguments });
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
