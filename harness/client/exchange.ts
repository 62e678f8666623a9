// One request and its response: undici's callbacks, with the stamps of the reads, to a timeline. Every way in which a
// response can break ends in exactly one typed failure. It neither prints nor throws.
import type { Dispatcher } from 'undici';
import type { Clock } from './clock.ts';
import { type Endpoint, OpenAiStream } from './openai-stream.ts';
import { SseParser } from './sse-parser.ts';
import type { FailureCode, RequestTimeline } from './timeline.ts';

export interface ExchangeOptions {
  path: string;
  endpoint: Endpoint;
  body: Buffer;
  /** The longest the request may take, from the call on. */
  timeoutMs: number;
  /** Filled in place. */
  timeline: RequestTimeline;
}

/** What an exchange asks of the connection that carries it. */
export interface Carrier {
  readonly readNs: number;
  /** Responses that the current socket has carried so far. */
  readonly answersOnSocket: number;
  bytesRead(): number;
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

const ERROR_BODY_BYTES = 2048;
/** News of a closed socket takes a round trip; a server that is silent for longer has taken the request and dropped it. */
const STALE_WITHIN_NS = 1e9;

export class Exchange implements Dispatcher.DispatchHandler {
  /** Resolves when nothing more will come. */
  readonly ended: Promise<void>;
  /** The server had closed the kept socket before the first byte of an answer: the request can be sent again. */
  staleSocket = false;
  readonly #options: ExchangeOptions;
  readonly #carrier: Carrier;
  readonly #clock: Clock;
  readonly #stream: OpenAiStream;
  readonly #parser: SseParser;
  readonly #timer: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  #end: () => void = () => undefined;
  #over = false;
  #bytesBefore = 0;
  #events = false;
  #refusal: Buffer[] | undefined;
  #refusalBytes = 0;

  constructor(options: ExchangeOptions, carrier: Carrier, clock: Clock) {
    this.#options = options;
    this.#carrier = carrier;
    this.#clock = clock;
    this.#stream = new OpenAiStream(options.timeline, options.endpoint);
    this.#parser = new SseParser(this.#stream);
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#timer = setTimeout(() => {
      this.stop('timeout', `The request took longer than ${options.timeoutMs} ms.`);
    }, options.timeoutMs);
  }

  /** Ends the exchange from our side with this failure. */
  stop(code: FailureCode, message: string): void {
    if (this.#over) return;
    const controller = this.#controller;
    this.#fail(code, message);
    this.#finish();
    controller?.abort(new Error(message));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) {
      controller.abort(new Error('stopped before it was sent'));
      return;
    }
    this.#bytesBefore = this.#carrier.bytesRead();
    // A request that is sent again is timed from the second sending, the only one that the server saw; what its closing
    // cost lies between the intended time and this one, and in the throughput.
    this.#options.timeline.sentNs = this.#clock.nowNs();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Headers,
  ): void {
    if (status < 200 || this.#over) return;
    this.#options.timeline.headersNs = this.#carrier.readNs;
    const type = String(headers['content-type'] ?? '');
    const encoding = String(headers['content-encoding'] ?? 'identity');
    if (status > 299) {
      this.#refuse('status', `The server answered with HTTP status ${status}`);
    } else if (!/^text\/event-stream\s*(;|$)/i.test(type)) {
      const found = type === '' ? 'missing' : JSON.stringify(type);
      this.#refuse('content_type', `The content type is ${found}, not text/event-stream`);
    } else if (encoding.toLowerCase() !== 'identity') {
      this.#refuse('content_type', `The stream is encoded as ${encoding}, which was not asked for`);
    } else {
      this.#events = true;
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return;
    this.#options.timeline.bytesReceived += chunk.length;
    if (this.#events) {
      this.#parser.push(chunk, this.#carrier.readNs);
    } else if (this.#refusal !== undefined && this.#refusalBytes < ERROR_BODY_BYTES) {
      this.#refusal.push(Buffer.from(chunk.subarray(0, ERROR_BODY_BYTES - this.#refusalBytes)));
      this.#refusalBytes += chunk.length;
    }
  }

  onResponseEnd(): void {
    if (this.#over) return;
    const timeline = this.#options.timeline;
    timeline.closedNs = this.#carrier.readNs;
    if (this.#events) this.#checkEnd('The response ended');
    this.#finish();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#over) return;
    const timeline = this.#options.timeline;
    const reason = `${error.message || error.name}${codeOf(error)}`;
    if (timeline.headersNs === undefined) {
      this.#failBeforeAnswer(error, reason);
    } else if (isMalformed(error)) {
      this.#fail('invalid_sse', `The response is not valid HTTP: ${reason}.`);
    } else {
      this.#fail('truncated', `The connection broke before the response was complete: ${reason}.`);
    }
    if (!this.staleSocket) timeline.closedNs = this.#clock.nowNs();
    this.#finish();
  }

  #failBeforeAnswer(error: Error, reason: string): void {
    if (this.#controller === undefined) {
      this.#fail('connect', `No connection: ${reason}.`);
    } else if (isMalformed(error)) {
      this.#fail('invalid_sse', `The response is not valid HTTP: ${reason}.`);
    } else if (this.#carrier.bytesRead() !== this.#bytesBefore) {
      this.#fail('truncated', `The connection broke within the head of the response: ${reason}.`);
    } else if (this.#wasIdleClosed()) {
      this.staleSocket = true;
    } else {
      this.#fail('connect', `The connection broke before the first byte of an answer: ${reason}.`);
    }
  }

  /** The server closed a kept socket about when the request was sent, so it cannot have worked on it. */
  #wasIdleClosed(): boolean {
    const { sentNs, reconnects } = this.#options.timeline;
    const soon = this.#clock.nowNs() - sentNs < STALE_WITHIN_NS;
    return soon && this.#carrier.answersOnSocket > 0 && reconnects === 0;
  }

  #checkEnd(how: string): void {
    const timeline = this.#options.timeline;
    const unfinished = this.#parser.unfinishedBytes();
    if (timeline.doneNs === undefined) {
      const rest = unfinished > 0 ? `, in the middle of an event (${unfinished} bytes of it)` : '';
      this.#fail('truncated', `${how} without [DONE]${rest}.`);
    } else if (unfinished > 0) {
      this.#fail('leftover_bytes', `${unfinished} bytes of an unfinished event follow [DONE].`);
    }
  }

  #refuse(code: FailureCode, message: string): void {
    this.#refusal = [];
    this.#fail(code, message);
  }

  #fail(code: FailureCode, message: string): void {
    this.#options.timeline.failure ??= { code, message };
  }

  #finish(): void {
    this.#over = true;
    clearTimeout(this.#timer);
    this.#stream.finish();
    const failure = this.#options.timeline.failure;
    if (this.#refusal !== undefined && failure !== undefined) {
      const said = Buffer.concat(this.#refusal).toString('utf8').replace(/\s+/g, ' ').trim();
      failure.message += said === '' ? '.' : `: ${said.slice(0, 300)}`;
    }
    this.#end();
  }
}

function codeOf(error: Error): string {
  const code = (error as NodeJS.ErrnoException).code;
  return code === undefined || error.message.includes(code) ? '' : ` (${code})`;
}

function isMalformed(error: Error): boolean {
  return error.name === 'HTTPParserError' || error.name === 'HeadersOverflowError';
}
