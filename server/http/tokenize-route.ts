// POST /tokenize and /detokenize.
import type { FastifyInstance } from 'fastify';
import { ServerError } from '../errors.ts';
import { renderChat } from '../frontend/chat-template.ts';
import { checkModel } from '../frontend/completion-request.ts';
import { checkIds } from '../frontend/sampling.ts';
import type { ServedModel } from '../frontend/served-model.ts';
import { parseBody } from '../protocol/parse-body.ts';
import { detokenizeRequest, type TokenizeRequest, tokenizeRequest } from '../protocol/tokenize.ts';
import { tokenName } from './completion-logprobs.ts';
import type { AppContext } from './context.ts';

export function tokenizeRoute(app: FastifyInstance, context: AppContext): void {
  const { model, engine } = context;
  app.post('/tokenize', async (request) => {
    const body = parseBody(tokenizeRequest, request.body);
    checkModel(body.model, model);
    const addSpecialTokens = body.add_special_tokens ?? body.messages === undefined;
    const encoded = await model.encoder.encode(textOf(body, model), {
      addSpecialTokens,
      mostTokens: undefined,
    });
    const tokens = [...(encoded ?? [])];
    const strings = body.return_token_strs
      ? tokens.map((token) => tokenName(model, token, false))
      : null;
    return {
      count: tokens.length,
      max_model_len: engine.info.maxModelLength,
      tokens,
      token_strs: strings,
    };
  });
  app.post('/detokenize', (request) => {
    const body = parseBody(detokenizeRequest, request.body);
    checkModel(body.model, model);
    checkIds(body.tokens, model.vocabulary, 'tokens');
    return { prompt: model.tokenizer.decode(body.tokens, { skipSpecialTokens: false }) };
  });
}

function textOf(body: TokenizeRequest, model: ServedModel): string {
  const { messages, prompt, ...rest } = body;
  if (messages) return renderChat({ ...rest, messages }, model);
  if (prompt !== undefined) return prompt;
  throw new ServerError('invalid_request', 'Invalid prompt: send a prompt or messages.', {
    param: 'prompt',
  });
}
