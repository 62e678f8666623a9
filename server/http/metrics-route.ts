// GET /metrics in Prometheus' text format, and GET /load.
import type { FastifyInstance } from 'fastify';
import type { AppContext } from './context.ts';

export function metricsRoute(app: FastifyInstance, context: AppContext): void {
  const { metrics, admission } = context;
  app.get('/metrics', async (_request, reply) => {
    const text = await metrics.registry.metrics();
    return reply.type(metrics.registry.contentType).send(text);
  });
  app.get('/load', () => ({ server_load: admission.held }));
}
