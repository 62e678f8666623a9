// Small clients for tests: JSON in and out, whole event streams, and raw bytes over a socket.
import { connect, type Socket } from 'node:net';
import { z } from 'zod';
import type { TestApp } from './test-app.ts';

/** JSON of a shape that the test knows. */
export type Parsed = ReturnType<typeof JSON.parse>;

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  json: Parsed;
}

/** POSTs a body (an object becomes JSON) and reads the whole answer. */
export async function post(
  app: Pick<TestApp, 'url'>,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(`${app.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  });
  return readAnswer(response);
}

export async function get(
  app: Pick<TestApp, 'url'>,
  path: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return readAnswer(await fetch(`${app.url}${path}`, { headers }));
}

async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  const json =
    isJson && text.trim() !== '' && !text.includes('}\n{') ? JSON.parse(text) : undefined;
  return { status: response.status, headers: response.headers, text, json };
}

export const errorBody = z.strictObject({
  error: z.strictObject({
    message: z.string().min(1),
    type: z.string().min(1),
    param: z.string().nullable(),
    code: z.string(),
  }),
});

/** The JSON of each event; throws unless the framing is exact and [DONE] is last. */
export function readEvents(text: string): Parsed[] {
  if (!text.endsWith('\n\n')) throw new Error('the stream does not end with a blank line');
  const events = text.slice(0, -2).split('\n\n');
  if (events.pop() !== 'data: [DONE]') throw new Error('[DONE] is not the last event');
  return events.map((event) => {
    if (!event.startsWith('data: {') || event.includes('\n'))
      throw new Error(`bad event: ${event}`);
    return JSON.parse(event.slice('data: '.length));
  });
}

/** A connected socket and everything that it has received. */
export interface RawConnection {
  socket: Socket;
  received(): string;
  closed: Promise<void>;
}

export async function rawConnection(app: Pick<TestApp, 'port'>): Promise<RawConnection> {
  const socket = connect(app.port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => resolve());
  });
  await new Promise<void>((resolve) => {
    socket.once('connect', () => resolve());
  });
  return { socket, received: () => Buffer.concat(chunks).toString('utf8'), closed };
}

/** A POST as raw bytes. */
export function rawPost(path: string, body: unknown, headers = ''): string {
  const json = JSON.stringify(body);
  const length = Buffer.byteLength(json);
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n${headers}\r\n${json}`;
}
