// Answers to what never becomes a request: malformed HTTP, headers that are too large, bodies refused before they are
// sent. Each gets its status in OpenAI's form, and the connection is closed.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ServerError } from '../errors.ts';

const REASONS: Record<number, string> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  431: 'Request Header Fields Too Large',
};

function errorFor(code: string | undefined): ServerError {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new ServerError(
      'headers_too_large',
      'The request headers are too large; send at most 16 KiB.',
    );
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new ServerError('request_receive_timeout', 'The request was not received in time.');
  }
  return new ServerError('invalid_request', 'The request is not valid HTTP/1.1.');
}

/** Fastify's clientErrorHandler. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const known = errorFor(error.code);
  const body = JSON.stringify(known.toBody());
  socket.end(
    `HTTP/1.1 ${known.status} ${REASONS[known.status] ?? ''}\r\n` +
      'content-type: application/json; charset=utf-8\r\n' +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

/** Tells a client that waits for "100 Continue" at once that its body is too large, instead of inviting it. */
export function refuseLargeExpectations(server: Server, bodyLimitBytes: number): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (Number(request.headers['content-length'] ?? 0) <= bodyLimitBytes) {
      response.writeContinue();
      server.emit('request', request, response);
      return;
    }
    const error = bodyTooLarge(bodyLimitBytes);
    response.writeHead(error.status, { 'content-type': 'application/json', connection: 'close' });
    response.end(JSON.stringify(error.toBody()));
  });
}

export function bodyTooLarge(limitBytes: number): ServerError {
  return new ServerError('body_too_large', `The request body is larger than ${limitBytes} bytes.`);
}
