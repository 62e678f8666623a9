// Joins a generation to its response: starts it, ends it when the client goes away, and turns its failure into a status
// or, once the stream has begun, into an error event.
import type { FastifyReply } from 'fastify';
import { ServerError } from '../errors.ts';
import { Generation, type GenerationRequest, type GenerationSink } from '../frontend/generation.ts';
import type { AppContext } from './context.ts';
import { DONE, event, SseWriter } from './sse-writer.ts';

function generationFor(
  request: GenerationRequest,
  context: AppContext,
  sink: GenerationSink,
): Generation {
  const { engine, model, admission, metrics: observer, settings } = context;
  const { requestTimeoutMs } = settings;
  return new Generation(request, { engine, model, admission, observer, requestTimeoutMs }, sink);
}

/** Runs a generation and resolves with the whole of it; rejects with its ServerError. */
export function collect(
  request: GenerationRequest,
  context: AppContext,
  reply: FastifyReply,
): Promise<Generation> {
  return new Promise((resolve, reject) => {
    const generation = generationFor(request, context, {
      onNews: (news) => {
        if (news.ended) resolve(news);
      },
      onError: reject,
    });
    if (reply.raw.destroyed) {
      reject(clientLeft());
      return;
    }
    generation.start();
    // The request's own 'close' fires as soon as its body was read; only the response tells that the client left.
    reply.raw.on('close', () => {
      if (reply.raw.writableEnded) return;
      generation.cancel();
      reject(clientLeft());
    });
  });
}

/** Makes the events of one step; `last` is true when nothing follows. */
export type EventMaker = (generation: Generation) => string;

/** Runs a generation as a stream of events; throws a ServerError while that can still be a status. */
export function stream(
  request: GenerationRequest,
  context: AppContext,
  reply: FastifyReply,
  makeEvents: EventMaker,
): void {
  const response = reply.raw;
  const requestId = reply.getHeader('x-request-id');
  const headers = typeof requestId === 'string' ? { 'x-request-id': requestId } : {};
  const writer = new SseWriter(response, context.settings.unreadLimitBytes, headers);
  const generation = generationFor(request, context, {
    onNews: (news) => {
      const events = makeEvents(news);
      if (news.ended) writer.end(events + DONE);
      else if (events !== '') writer.write(events);
    },
    onError: (error) => fail(reply, writer, error),
  });
  // It may have left while its prompt was tokenised.
  if (response.destroyed) throw clientLeft();
  generation.start();
  reply.hijack();
  response.on('close', () => {
    if (!response.writableEnded) generation.cancel();
  });
}

function fail(reply: FastifyReply, writer: SseWriter, error: ServerError): void {
  const json = JSON.stringify(error.toBody());
  if (writer.begun) {
    writer.end(event(json) + DONE);
    return;
  }
  reply.raw.writeHead(error.status, { 'content-type': 'application/json; charset=utf-8' });
  reply.raw.end(json);
}

/** Nobody reads this; it only ends the handler. */
function clientLeft(): ServerError {
  return new ServerError('invalid_request', 'The client closed the connection.');
}
