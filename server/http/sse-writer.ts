// Server-sent events over a raw response: exact framing, one write a call, bounded memory. Nothing is sent before the
// first event, so that an early failure can still be answered with a status.
import type { ServerResponse } from 'node:http';

export const DONE = 'data: [DONE]\n\n';

/** One event that carries `json`. */
export function event(json: string): string {
  return `data: ${json}\n\n`;
}

export class SseWriter {
  readonly #response: ServerResponse;
  readonly #unreadLimitBytes: number;
  readonly #headers: Record<string, string>;

  constructor(response: ServerResponse, unreadLimitBytes: number, headers: Record<string, string>) {
    this.#response = response;
    this.#unreadLimitBytes = unreadLimitBytes;
    this.#headers = headers;
  }

  get begun(): boolean {
    return this.#response.headersSent;
  }

  /** Sends complete events. A reader who left too much unread loses the connection. */
  write(events: string): void {
    this.#begin();
    if (this.#response.destroyed) return;
    this.#response.write(events);
    if (this.#response.writableLength > this.#unreadLimitBytes) this.#response.destroy();
  }

  /** Sends the last events and ends the body. */
  end(events: string): void {
    this.#begin();
    this.#response.end(events);
  }

  #begin(): void {
    if (this.#response.headersSent) return;
    this.#response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
      ...this.#headers,
    });
  }
}
