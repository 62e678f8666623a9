// Endpoints that exist only with --debug-endpoints: the step trace, the thread map, and emptying the prefix cache.
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { ServerError } from '../errors.ts';
import { parseBody } from '../protocol/parse-body.ts';
import type { AppContext } from './context.ts';

const stepsQuery = z.object({ after: z.coerce.number().int().min(-1).default(-1) });

export function debugRoute(app: FastifyInstance, context: AppContext): void {
  const { engine, settings } = context;
  if (!settings.debugEndpoints) return;
  app.get('/debug/steps', (request, reply) => {
    const { after } = parseBody(stepsQuery, request.query);
    const lines = engine.stepRecords(after).map((record) => `${JSON.stringify(record)}\n`);
    return reply.type('application/x-ndjson').send(lines.join(''));
  });
  app.get('/debug/threads', () => engine.threads());
  app.get('/debug/config', () => settings.shownConfig);
  app.get('/debug/stats', () => engine.stats());
  app.post('/reset_prefix_cache', async () => {
    const done = await engine.resetPrefixCache();
    if (done) return { done };
    throw new ServerError(
      'invalid_request',
      'The prefix cache cannot be reset while requests are running; try again when they have ended.',
    );
  });
}
