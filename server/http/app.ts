// The HTTP server: limits, errors and routes put together. It binds no port and starts no engine.
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply } from 'fastify';
import { ServerError } from '../errors.ts';
import { guard } from './auth.ts';
import { installBodyParser } from './body-parser.ts';
import { chatCompletionsRoute } from './chat-completions-route.ts';
import { completionsRoute } from './completions-route.ts';
import { answerClientError, bodyTooLarge, refuseLargeExpectations } from './connection-errors.ts';
import type { AppContext } from './context.ts';
import { debugRoute } from './debug-route.ts';
import { healthRoute } from './health-route.ts';
import { metricsRoute } from './metrics-route.ts';
import { modelsRoute } from './models-route.ts';
import { tokenizeRoute } from './tokenize-route.ts';

/** Longer than the pools of common clients (300 s), so that no socket closes just as a client takes it. */
const KEEP_ALIVE_MS = 310_000;
/** To receive a whole request; generation is not counted. */
const RECEIVE_MS = 120_000;
const LONGEST_REQUEST_ID = 128;

/** The server with all its routes, ready to listen. */
export function createApp(context: AppContext): FastifyInstance {
  const { settings } = context;
  const app = fastify({
    bodyLimit: settings.bodyLimitBytes,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: RECEIVE_MS,
    clientErrorHandler: answerClientError,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 1024 },
    return503OnClosing: false,
    http: { headersTimeout: 60_000, maxHeaderSize: 16 * 1024 },
  });
  installBodyParser(app);
  echoRequestId(app);
  guard(app, settings.apiKeys);
  app.addHook('onResponse', async (request, reply) => {
    const handler = request.routeOptions.url ?? 'none';
    context.metrics.onHttpAnswer(handler, request.method, reply.raw.statusCode, reply.elapsedTime);
  });
  app.setErrorHandler((error, _request, reply) => answerError(error, reply, context));
  app.setNotFoundHandler((request, reply) =>
    answerNotFound(app, request.url, request.method, reply),
  );
  refuseLargeExpectations(app.server, settings.bodyLimitBytes);
  healthRoute(app, context);
  modelsRoute(app, context);
  completionsRoute(app, context);
  chatCompletionsRoute(app, context);
  metricsRoute(app, context);
  tokenizeRoute(app, context);
  debugRoute(app, context);
  return app;
}

/** A client's request id is only ever repeated to it; the server has its own. */
function echoRequestId(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    const id = request.headers['x-request-id'];
    if (typeof id === 'string' && id.length <= LONGEST_REQUEST_ID) reply.header('x-request-id', id);
  });
}

function toServerError(error: unknown, { settings, log }: AppContext): ServerError {
  if (error instanceof ServerError) return error;
  const { statusCode, code, message } = error as Partial<FastifyError>;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return bodyTooLarge(settings.bodyLimitBytes);
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new ServerError('invalid_request', 'Send the body as "Content-Type: application/json".');
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new ServerError('invalid_request', message ?? 'The request is not valid.');
  }
  log.error({ err: error }, 'a request failed');
  return new ServerError('internal', 'The server failed to handle the request; its log tells why.');
}

function answerError(error: unknown, reply: FastifyReply, context: AppContext): FastifyReply {
  const known = toServerError(error, context);
  if (known.status === 503) reply.header('retry-after', '1');
  if (known.code === 'invalid_api_key') reply.header('www-authenticate', 'Bearer');
  if (known.code === 'body_too_large') reply.header('connection', 'close');
  return reply.code(known.status).send(known.toBody());
}

function answerNotFound(
  app: FastifyInstance,
  url: string,
  method: string,
  reply: FastifyReply,
): FastifyReply {
  const path = (url.split('?', 1)[0] ?? '').slice(0, 200);
  const other = (['GET', 'POST'] as const).find((each) =>
    app.hasRoute({ url: path, method: each }),
  );
  const error = other
    ? new ServerError('method_not_allowed', `${path} takes ${other}, not ${method}.`)
    : new ServerError('not_found', `There is nothing at ${path}.`);
  if (other) reply.header('allow', other);
  return reply.code(error.status).send(error.toBody());
}
