// One answer of the emitter: tokens at their deadlines, each carrying in its text the moment at which it was written.
// The first token's text is "RECEIVED/EMITTED ", every other "EMITTED ", both CLOCK_MONOTONIC in ns.
import type { ServerResponse } from 'node:http';
import { type Deadlines, monotonicNs } from './deadlines.ts';
import type { EmitterOptions, Fault } from './options.ts';

export interface Answer {
  chat: boolean;
  model: string;
  promptTokens: number;
  outputTokens: number;
  includeUsage: boolean;
  fault: Fault;
}

export interface EmissionHost {
  options: EmitterOptions;
  deadlines: Deadlines;
  /** Schedule factor right now; above 1 when a drift was asked for. */
  stretch(nowNs: number): number;
  /** Called for every token event with how late it was. */
  emitted(latenessNs: number): void;
}

/** What one event text says of its origin. */
export interface EmittedStamp {
  emittedNs: number;
  receivedNs?: number;
}

/** Reads the stamps back from the text of an answer, one for each event; undefined when the text is not an emitter's. */
export function parseStamps(text: string): EmittedStamp[] | undefined {
  const stamps: EmittedStamp[] = [];
  for (const word of text.trim().split(' ')) {
    const [, received, emitted] = /^(?:(\d+)\/)?(\d+)$/.exec(word) ?? [];
    if (emitted === undefined) return undefined;
    const emittedNs = Number(emitted);
    stamps.push(
      received === undefined ? { emittedNs } : { emittedNs, receivedNs: Number(received) },
    );
  }
  return stamps;
}

export class Emission {
  readonly #host: EmissionHost;
  readonly #response: ServerResponse;
  readonly #answer: Answer;
  readonly #receivedNs: number;
  readonly #eventEnd: string;
  #deadlineNs: number;
  #sent = 0;

  constructor(host: EmissionHost, response: ServerResponse, answer: Answer, receivedNs: number) {
    this.#host = host;
    this.#response = response;
    this.#answer = answer;
    this.#receivedNs = receivedNs;
    this.#eventEnd = answer.fault === 'crlf' ? '\r\n\r\n' : '\n\n';
    this.#deadlineNs = receivedNs + host.options.ttftMs * 1e6 * host.stretch(receivedNs);
  }

  /** Sends the head at once; the tokens follow by themselves. */
  start(): void {
    this.#response.writeHead(200, { 'content-type': 'text/event-stream' });
    this.#response.flushHeaders();
    if (this.#answer.fault === 'role_first') this.#write(this.#event('', null, true));
    this.#schedule();
  }

  #schedule(): void {
    this.#host.deadlines.at(this.#deadlineNs, (nowNs) => this.#token(nowNs));
  }

  #token(nowNs: number): void {
    const host = this.#host;
    const { options } = host;
    const socket = this.#response.socket;
    if (socket === null || socket.destroyed) return;
    if (socket.writableNeedDrain) {
      socket.once('drain', () => this.#schedule());
      return;
    }
    const { fault, outputTokens } = this.#answer;
    const middle = this.#sent >= outputTokens / 2;
    if (middle && this.#breakOff(fault)) return;
    host.emitted(nowNs - this.#deadlineNs);
    if (fault === 'comments') this.#write(`: alive${this.#eventEnd}`);
    const first = this.#sent === 0 ? `${this.#receivedNs}/` : '';
    this.#write(this.#event(`${first}${monotonicNs()} `, null));
    this.#sent = Math.min(outputTokens, this.#sent + options.tokensPerEvent);
    if (this.#sent >= outputTokens) {
      this.#end('length');
      return;
    }
    this.#deadlineNs += options.itlMs * 1e6 * options.tokensPerEvent * host.stretch(nowNs);
    this.#schedule();
  }

  /** Plants the faults of the middle; true when the answer is over. */
  #breakOff(fault: Fault): boolean {
    if (fault === 'cut') this.#response.socket?.destroySoon();
    else if (fault === 'reset') this.#response.socket?.resetAndDestroy();
    else if (fault === 'error') {
      this.#write(`data: {"error":{"message":"planted","code":500}}${this.#eventEnd}`);
      this.#response.end();
    } else if (fault === 'short') this.#end('stop');
    else return fault === 'stall';
    return true;
  }

  #end(reason: string): void {
    const { fault, includeUsage, promptTokens } = this.#answer;
    let tail = this.#event('', reason);
    if (includeUsage && fault !== 'no_usage') {
      const completion = this.#sent + (fault === 'miscount' ? 1 : 0);
      const cached = fault === 'cached' ? promptTokens : 0;
      tail +=
        `data: {"object":"emitter.usage","choices":[],"usage":{"prompt_tokens":${promptTokens},` +
        `"completion_tokens":${completion},"total_tokens":${promptTokens + completion},` +
        `"prompt_tokens_details":{"cached_tokens":${cached}}}}${this.#eventEnd}`;
    }
    if (fault !== 'no_done') tail += `data: [DONE]${this.#eventEnd}`;
    this.#write(tail);
    this.#response.end();
  }

  #event(text: string, finish: string | null, role = false): string {
    const { chat, model } = this.#answer;
    const object = chat ? 'chat.completion.chunk' : 'text_completion';
    const reason = finish === null ? 'null' : `"${finish}"`;
    const content = chat
      ? `"delta":{${role ? '"role":"assistant",' : ''}"content":"${text}"}`
      : `"text":"${text}"`;
    return (
      `data: {"id":"emitter-${this.#receivedNs}","object":"${object}","created":0,` +
      `"model":${JSON.stringify(model)},"choices":[{"index":0,${content},"logprobs":null,` +
      `"finish_reason":${reason}}]}${this.#eventEnd}`
    );
  }

  /** One HTTP chunk straight to the socket: node:http would hold it back to the end of the turn. */
  #write(bytes: string): void {
    const frame = `${Buffer.byteLength(bytes).toString(16)}\r\n${bytes}\r\n`;
    this.#response.socket?.write(frame);
  }
}
