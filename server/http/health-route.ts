// GET /health, /ping, /version and /server_info, /openapi.json: whether the server works, and what exactly is running.
import type { FastifyInstance } from 'fastify';
import { openApiDocument } from '../protocol/openapi.ts';
import type { AppContext } from './context.ts';

export function healthRoute(app: FastifyInstance, context: AppContext): void {
  const { engine, model, admission, settings } = context;
  const status = (): string => {
    if (engine.state !== 'ready') return engine.state;
    return admission.draining ? 'draining' : 'ok';
  };
  const health = () => {
    const { isa, activations, threads, kvFormat } = engine.info;
    return {
      status: status(),
      isa,
      activations,
      threads,
      kv_format: kvFormat,
      model: model.name,
      synthetic: model.synthetic,
      version: settings.version,
    };
  };
  for (const path of ['/health', '/v1/health', '/ping']) {
    app.get(path, (_request, reply) => {
      return reply.code(status() === 'ok' ? 200 : 503).send(health());
    });
  }
  const document = openApiDocument(settings.version);
  app.get('/openapi.json', () => document);
  app.get('/version', () => ({ version: settings.version }));
  app.get('/server_info', async () => ({
    version: settings.version,
    config: settings.shownConfig,
    engine: engine.info,
    model: {
      name: model.name,
      path: model.path,
      synthetic: model.synthetic,
      quantisation: model.quantisation,
      parameters: model.parameters,
      file_bytes: model.fileBytes,
      sha256: await model.sha256(),
      vocabulary: model.vocabulary,
    },
  }));
}
