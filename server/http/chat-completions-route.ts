// POST /v1/chat/completions.
import type { FastifyInstance } from 'fastify';
import { chatGeneration } from '../frontend/chat-request.ts';
import { chatRequest } from '../protocol/chat.ts';
import { parseBody } from '../protocol/parse-body.ts';
import { ChatFormat } from './chat-format.ts';
import type { AppContext } from './context.ts';
import { collect, stream } from './run-generation.ts';

export function chatCompletionsRoute(app: FastifyInstance, context: AppContext): void {
  const { model, engine } = context;
  app.post('/v1/chat/completions', async (request, reply) => {
    const body = parseBody(chatRequest, request.body);
    const { generation, makeParser } = await chatGeneration(body, { model, engine: engine.info });
    const format = new ChatFormat(body, model, makeParser);
    if (body.stream) {
      stream(generation, context, reply, (news) => format.events(news));
      return reply;
    }
    const done = await collect(generation, context, reply);
    return reply.type('application/json; charset=utf-8').send(format.whole(done));
  });
}
