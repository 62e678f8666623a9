// GET /v1/models and /v1/models/{id}: the one model that is served, under each of its names.
import type { FastifyInstance } from 'fastify';
import { checkModel } from '../frontend/completion-request.ts';
import type { AppContext } from './context.ts';

export function modelsRoute(app: FastifyInstance, context: AppContext): void {
  const { model, engine } = context;
  const card = (id: string) => ({
    id,
    object: 'model',
    created: model.created,
    owned_by: 'mxbench',
    root: model.path,
    parent: null,
    max_model_len: engine.info.maxModelLength,
    permission: [],
    meta: {
      n_vocab: model.vocabulary,
      n_params: model.parameters,
      size: model.fileBytes,
      quantisation: model.quantisation,
      synthetic: model.synthetic,
    },
  });
  app.get('/v1/models', () => ({ object: 'list', data: model.names.map(card) }));
  // Names may hold slashes.
  app.get<{ Params: { '*': string } }>('/v1/models/*', (request) => {
    const id = request.params['*'];
    checkModel(id, model);
    return card(id === '' ? model.name : id);
  });
}
