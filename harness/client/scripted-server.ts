// For tests: a TCP server that answers each request with a script of scheduled writes, byte for byte, so that a test can
// break HTTP and SSE in every way that a real server might. It never interprets what it sends.
import { createServer, type Server, type Socket } from 'node:net';

/** What the server does once a request has arrived; steps run in order. */
export type Step =
  | { write: string | Buffer }
  | { waitMs: number }
  /** Ends the connection in order (FIN), or by a reset (RST). */
  | { close: 'fin' | 'rst' };

export interface Script {
  /** Called for each complete request; `connection` and `request` (on that connection) count from 0. */
  steps(connection: number, request: number): readonly Step[];
  /** Called just before a step is carried out. */
  onStep?(index: number): void;
}

export interface ScriptedServer {
  baseUrl: string;
  connections(): number;
  /** Bodies of the requests, in the order of arrival. */
  bodies: string[];
  close(): Promise<void>;
}

export const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';

/** One HTTP chunk. */
export function chunk(bytes: string | Buffer): Step {
  const data = Buffer.from(bytes);
  return { write: Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, CRLF]) };
}

export const LAST_CHUNK: Step = { write: '0\r\n\r\n' };

const CRLF = Buffer.from('\r\n');

/** Listens on a free port of the loopback interface. */
export async function scriptedServer(script: Script): Promise<ScriptedServer> {
  const bodies: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer({ noDelay: true }, (socket) => {
    const connection = connections;
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    serve(socket, (body, request) => {
      bodies.push(body);
      void play(socket, script.steps(connection, request), script.onStep);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${portOf(server)}`,
    connections: () => connections,
    bodies,
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function serve(socket: Socket, onRequest: (body: string, request: number) => void) {
  let received = Buffer.alloc(0);
  let requests = 0;
  socket.on('data', (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    for (;;) {
      const head = received.indexOf('\r\n\r\n');
      if (head < 0) return;
      const length = /content-length: *(\d+)/i.exec(received.toString('latin1', 0, head))?.[1];
      const end = head + 4 + Number(length ?? 0);
      if (received.length < end) return;
      const body = received.toString('utf8', head + 4, end);
      received = received.subarray(end);
      onRequest(body, requests);
      requests += 1;
    }
  });
}

async function play(
  socket: Socket,
  steps: readonly Step[],
  onStep: Script['onStep'],
): Promise<void> {
  for (const [index, step] of steps.entries()) {
    if (socket.destroyed) return;
    onStep?.(index);
    if ('write' in step) socket.write(step.write);
    else if ('waitMs' in step) await new Promise((resolve) => setTimeout(resolve, step.waitMs));
    else if (step.close === 'fin') socket.end();
    else socket.resetAndDestroy();
  }
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return address.port;
}
