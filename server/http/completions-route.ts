// POST /v1/completions.
import type { FastifyInstance } from 'fastify';
import { completionGeneration } from '../frontend/completion-request.ts';
import { completionRequest } from '../protocol/completions.ts';
import { parseBody } from '../protocol/parse-body.ts';
import { CompletionFormat } from './completion-format.ts';
import type { AppContext } from './context.ts';
import { collect, stream } from './run-generation.ts';

export function completionsRoute(app: FastifyInstance, context: AppContext): void {
  const { model, engine } = context;
  app.post('/v1/completions', async (request, reply) => {
    const body = parseBody(completionRequest, request.body);
    const generation = await completionGeneration(body, { model, engine: engine.info });
    const format = new CompletionFormat(body, model);
    if (body.stream) {
      stream(generation, context, reply, (news) => format.events(news));
      return reply;
    }
    const done = await collect(generation, context, reply);
    return reply.type('application/json; charset=utf-8').send(format.whole(done));
  });
}
