// The OpenAPI document, generated from the same schemas that check the requests; nothing in it is written twice.
import { z } from 'zod';
import { chatReply, chatRequest } from './chat.ts';
import { completionReply, completionRequest } from './completions.ts';
import { detokenizeReply, detokenizeRequest, tokenizeReply, tokenizeRequest } from './tokenize.ts';

export const errorReply = z.object({
  error: z.object({
    message: z.string().min(1),
    type: z.string().min(1),
    param: z.string().nullable(),
    code: z.string(),
  }),
});

const modelCard = z.looseObject({ id: z.string(), object: z.literal('model'), created: z.int() });
const modelList = z.object({ object: z.literal('list'), data: z.array(modelCard) });
const health = z.looseObject({
  status: z.enum(['ok', 'draining', 'dead', 'closed']),
  model: z.string(),
});

interface Operation {
  path: string;
  method: 'get' | 'post';
  summary: string;
  request?: z.ZodType;
  reply: z.ZodType;
  /** Also answers as a stream of events. */
  streams?: boolean;
}

/** What the document describes; tests send requests from it. */
export const OPERATIONS: readonly Operation[] = [
  {
    path: '/v1/completions',
    method: 'post',
    summary: 'Continue prompts.',
    request: completionRequest,
    reply: completionReply,
    streams: true,
  },
  {
    path: '/v1/chat/completions',
    method: 'post',
    summary: 'Continue a chat.',
    request: chatRequest,
    reply: chatReply,
    streams: true,
  },
  {
    path: '/tokenize',
    method: 'post',
    summary: 'Token ids of a prompt or a chat.',
    request: tokenizeRequest,
    reply: tokenizeReply,
  },
  {
    path: '/detokenize',
    method: 'post',
    summary: 'Text of token ids.',
    request: detokenizeRequest,
    reply: detokenizeReply,
  },
  { path: '/v1/models', method: 'get', summary: 'The models served.', reply: modelList },
  { path: '/health', method: 'get', summary: 'Whether the engine works.', reply: health },
  {
    path: '/version',
    method: 'get',
    summary: "The server's version.",
    reply: z.object({ version: z.string() }),
  },
  {
    path: '/load',
    method: 'get',
    summary: 'Sequences held.',
    reply: z.object({ server_load: z.int().min(0) }),
  },
];

const ERROR_STATUSES: Readonly<Record<string, string>> = {
  400: 'The request is not valid or asks for something unsupported.',
  401: 'A valid API key is needed.',
  404: 'There is no such model or path.',
  413: 'The body is too large.',
  500: 'The server failed.',
  503: 'The server is overloaded, shutting down or dead.',
  504: 'The reply took longer than the server allows.',
};

function jsonContent(schema: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return { 'application/json': { schema: json } };
}

function operationObject({ summary, request, reply, streams }: Operation): object {
  const errors = Object.entries(ERROR_STATUSES).map(([status, description]) => {
    return [status, { description, content: jsonContent(errorReply, 'output') }];
  });
  const content = {
    ...jsonContent(reply, 'output'),
    ...(streams && { 'text/event-stream': { schema: { type: 'string' } } }),
  };
  return {
    summary,
    ...(request && { requestBody: { required: true, content: jsonContent(request, 'input') } }),
    responses: { 200: { description: 'Done.', content }, ...Object.fromEntries(errors) },
  };
}

/** The whole document, OpenAPI 3.1. */
export function openApiDocument(version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of OPERATIONS) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method]: operationObject(operation),
    };
  }
  return { openapi: '3.1.0', info: { title: 'mxbench reference server', version }, paths };
}
