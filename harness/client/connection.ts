// One connection of a load slot: exactly one socket, opened before it is needed, stamped once per read before anything
// decodes the bytes, replaced when the server closes it. Requests go through undici's dispatch, never through fetch.
import type { Socket } from 'node:net';
import { buildConnector, Client } from 'undici';
import type { Clock } from './clock.ts';
import { directReads, serveDirectReads } from './direct-reads.ts';
import { Exchange, type ExchangeOptions } from './exchange.ts';

export interface ConnectionOptions {
  /** Such as http://127.0.0.1:8000; a path prefix is kept. */
  baseUrl: string;
  clock: Clock;
  connectTimeoutMs: number;
  apiKey?: string;
}

/** Idle sockets are kept as long as the server keeps them: our own side never closes one between requests. */
const KEEP_IDLE_MS = 600_000;

export class Connection {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #connector: buildConnector.connector;
  readonly #origin: URL;
  readonly #headers: string[];
  /** Not TLS. */
  readonly #plain: boolean;
  readonly #stampRead = () => {
    this.readNs = this.#clock.nowNs();
  };
  #socket: Socket | undefined;
  #opened: Socket | undefined;
  #exchange: Exchange | undefined;
  /** Stamp of the latest read of the current socket. */
  readNs = 0;
  connectionsOpened = 0;
  answersOnSocket = 0;

  constructor(options: ConnectionOptions) {
    this.#clock = options.clock;
    this.#origin = new URL(options.baseUrl);
    this.#plain = this.#origin.protocol === 'http:';
    this.#headers = ['content-type', 'application/json', 'accept', 'text/event-stream'];
    this.#headers.push('accept-encoding', 'identity');
    if (options.apiKey !== undefined) {
      this.#headers.push('authorization', `Bearer ${options.apiKey}`);
    }
    this.#connector = buildConnector({
      timeout: options.connectTimeoutMs,
      ...(this.#plain ? { onread: directReads(this.#stampRead) } : {}),
    });
    this.#client = new Client(this.#origin.origin, {
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_IDLE_MS,
      keepAliveMaxTimeout: KEEP_IDLE_MS,
      keepAliveTimeoutThreshold: 0,
      connect: (target, callback) => this.#provide(target, callback),
    });
    // Each request learns of its own fate; what happens to an idle socket is seen when the next one is sent.
    this.#client.on('connectionError', () => undefined);
  }

  /** Opens the socket now, so that no request pays for it. Rejects when the server cannot be reached. */
  open(): Promise<void> {
    const { protocol, host, hostname, port } = this.#origin;
    return new Promise((resolve, reject) => {
      this.#connector(
        { protocol, host, hostname: unbracketed(hostname), port },
        (error, socket) => {
          if (error !== null) {
            reject(error);
            return;
          }
          this.#adopt(socket);
          this.#opened = socket;
          resolve();
        },
      );
    });
  }

  /** Sends one request; resolves when its response has ended, whatever came of it. Never rejects. */
  async send(options: ExchangeOptions): Promise<void> {
    let resent = false;
    const timeline = options.timeline;
    for (;;) {
      const exchange = new Exchange(options, this, this.#clock);
      this.#exchange = exchange;
      this.#client.dispatch(
        {
          method: 'POST',
          path: joinPath(this.#origin.pathname, options.path),
          headers: this.#headers,
          body: options.body,
        },
        exchange,
      );
      await exchange.ended;
      this.#exchange = undefined;
      if (timeline.headersNs !== undefined) this.answersOnSocket += 1;
      if (!exchange.staleSocket || resent) break;
      resent = true;
      timeline.reconnects += 1;
    }
    timeline.closedNs ??= this.#clock.nowNs();
  }

  /** Stops the request in flight; its timeline ends with the failure "aborted". */
  abort(message: string): void {
    this.#exchange?.stop('aborted', message);
  }

  /** Bytes that the current socket has received: none more since the request means no byte of an answer. */
  bytesRead(): number {
    return this.#socket?.bytesRead ?? 0;
  }

  async close(): Promise<void> {
    this.#opened?.destroy();
    await this.#client.destroy();
  }

  #adopt(socket: Socket): void {
    this.connectionsOpened += 1;
    this.answersOnSocket = 0;
    this.#socket = socket;
    if (this.#plain) serveDirectReads(socket);
    // Registered before undici's own listener, so the stamp precedes all decoding.
    else socket.on('readable', this.#stampRead);
    socket.on('error', () => undefined);
  }

  #provide(target: buildConnector.Options, callback: buildConnector.Callback): void {
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened !== undefined && !opened.destroyed) {
      // Undici expects the answer later than its question.
      queueMicrotask(() => callback(null, opened));
      return;
    }
    this.#connector(target, (...result) => {
      // On an error undici leaves the second argument out, whatever its types say.
      if (result[0] === null) this.#adopt(result[1]);
      callback(...result);
    });
  }
}

function unbracketed(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

function joinPath(prefix: string, path: string): string {
  const base = prefix.replace(/\/+$/, '');
  // Many people give the base URL of OpenAI clients, which ends in /v1.
  return base.endsWith('/v1') && path.startsWith('/v1/') ? base + path.slice(3) : base + path;
}
