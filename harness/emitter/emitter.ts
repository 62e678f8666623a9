// An OpenAI-compatible server that emits tokens on a known schedule and says when each one left, so that a client's
// stamps can be held against the truth. It computes nothing: its tokens mean only their own time.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createHistogram } from 'node:perf_hooks';
import { z } from 'zod';
import { HarnessError } from '../errors.ts';
import { Deadlines, monotonicNs } from './deadlines.ts';
import { type Answer, Emission, type EmissionHost } from './emission.ts';
import type { EmitterOptions, EmitterStats, Fault } from './options.ts';

export const EMITTER_MODEL = 'emitter';
const VOCABULARY_SIZE = 32_000;
const MAX_BODY_BYTES = 64 * 1024 * 1024;

const requestSchema = z.object({
  model: z.string().max(1000).default(EMITTER_MODEL),
  prompt: z.union([z.string(), z.array(z.number().int().nonnegative())]).optional(),
  messages: z.array(z.unknown()).optional(),
  max_tokens: z.number().int().min(1).max(1_000_000).optional(),
  max_completion_tokens: z.number().int().min(1).max(1_000_000).optional(),
  stream: z.literal(true, 'The emitter only streams; send "stream": true.'),
  stream_options: z.object({ include_usage: z.boolean().optional() }).nullish(),
});

export interface RunningEmitter {
  baseUrl: string;
  stats(): EmitterStats;
  close(): Promise<void>;
}

/** Listens; rejects with PORT_IN_USE when the port is taken. */
export async function startEmitter(options: EmitterOptions): Promise<RunningEmitter> {
  const emitter = new Emitter(options);
  const server = createServer({ noDelay: true, keepAliveTimeout: 0, requestTimeout: 0 });
  server.on('request', (request, response) => void emitter.serve(request, response));
  await listen(server, options);
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : options.port;
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  return {
    baseUrl: `http://${host}:${port}`,
    stats: () => emitter.stats(),
    close: () => {
      emitter.stop();
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

class Emitter implements EmissionHost {
  readonly options: EmitterOptions;
  readonly deadlines = new Deadlines();
  readonly #startNs = monotonicNs();
  readonly #lateness = createHistogram();
  readonly #answersOnSocket = new WeakMap<object, number>();
  #requests = 0;

  constructor(options: EmitterOptions) {
    this.options = options;
  }

  stretch(nowNs: number): number {
    return 1 + (this.options.driftPercentPerMinute / 100) * ((nowNs - this.#startNs) / 60e9);
  }

  emitted(latenessNs: number): void {
    this.#lateness.record(Math.max(1, Math.round(latenessNs)));
  }

  stats(): EmitterStats {
    const { count, max } = this.#lateness;
    const at = (percent: number) => (count > 0 ? this.#lateness.percentile(percent) : 0);
    return {
      requests: this.#requests,
      events: count,
      latenessNs: { p50: at(50), p99: at(99), max: count > 0 ? max : 0 },
    };
  }

  stop(): void {
    this.deadlines.clear();
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    if (request.method === 'POST' && /^\/v1\/(chat\/)?completions$/.test(path)) {
      const received = await readBody(request);
      this.#complete(path.includes('/chat/'), received, request, response);
      return;
    }
    request.resume();
    if (path === '/health') sendJson(response, 200, { status: 'ok' });
    else if (path === '/emitter/stats') sendJson(response, 200, this.stats());
    else if (path === '/v1/models') sendJson(response, 200, MODELS);
    else sendError(response, 404, `There is no ${request.method} ${path} here.`);
  }

  #complete(
    chat: boolean,
    { body, receivedNs }: Received,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    const parsed = parseRequest(body);
    if (typeof parsed === 'string') {
      sendError(response, 400, parsed);
      return;
    }
    this.#requests += 1;
    const fault = this.#requests % this.options.faultEvery === 0 ? this.options.fault : 'none';
    if (fault === 'status') {
      sendError(response, 503, 'A planted fault.');
      return;
    }
    const answered = this.#answersOnSocket.get(request.socket) ?? 0;
    if (fault === 'close_kept' && answered > 0) {
      request.socket.destroy();
      return;
    }
    this.#answersOnSocket.set(request.socket, answered + 1);
    new Emission(this, response, answerTo(chat, parsed, fault), receivedNs).start();
  }
}

const MODELS = {
  object: 'list',
  data: [
    {
      id: EMITTER_MODEL,
      object: 'model',
      created: 0,
      owned_by: 'mxbench-emitter',
      meta: { n_vocab: VOCABULARY_SIZE },
    },
  ],
};

function answerTo(chat: boolean, request: z.infer<typeof requestSchema>, fault: Fault): Answer {
  const { prompt, messages, model } = request;
  const words = (text: string) => Math.max(1, text.split(/\s+/).length);
  const promptTokens =
    typeof prompt === 'string'
      ? words(prompt)
      : (prompt?.length ?? words(JSON.stringify(messages)));
  return {
    chat,
    model,
    promptTokens,
    outputTokens: request.max_tokens ?? request.max_completion_tokens ?? 16,
    includeUsage: request.stream_options?.include_usage ?? false,
    fault,
  };
}

/** The request, or one sentence that says what is wrong with it. */
function parseRequest(body: string): z.infer<typeof requestSchema> | string {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return 'The body is not JSON.';
  }
  const parsed = requestSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  return `${issue?.path.join('.') || 'The body'}: ${issue?.message ?? 'is not valid'}`;
}

interface Received {
  body: string;
  /** When its last byte was read. */
  receivedNs: number;
}

function readBody(request: IncomingMessage): Promise<Received> {
  const parts: Buffer[] = [];
  let bytes = 0;
  let receivedNs = 0;
  return new Promise((resolve) => {
    const settle = () => resolve({ body: Buffer.concat(parts).toString('utf8'), receivedNs });
    request.on('data', (part: Buffer) => {
      receivedNs = monotonicNs();
      bytes += part.length;
      if (bytes <= MAX_BODY_BYTES) parts.push(part);
      else request.destroy();
    });
    request.on('end', settle);
    // The client is gone; there is nobody to answer.
    request.on('error', settle);
  });
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  const body = JSON.stringify(value);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

function sendError(response: ServerResponse, status: number, message: string): void {
  sendJson(response, status, { error: { message, type: 'invalid_request_error', code: status } });
}

function listen(server: Server, { host, port }: EmitterOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = error.code === 'EADDRINUSE';
      reject(
        taken
          ? new HarnessError('PORT_IN_USE', `Port ${port} of ${host} is in use.`, { cause: error })
          : new HarnessError('USAGE', `Cannot listen on ${host}:${port}: ${error.message}.`, {
              cause: error,
            }),
      );
    });
    server.listen(port, host, resolve);
  });
}
