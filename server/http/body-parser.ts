// Reads request bodies: UTF-8 JSON and nothing else. A browser page cannot send that type to a local server without
// asking first, which is why other types are refused and not guessed.
import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServerError } from '../errors.ts';

/** Deeper nesting than any real request has; what walks a body may recurse this far. */
const DEEPEST = 64;

/** The parsed body; invalid_request when it is not UTF-8 or not JSON. */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) {
    throw new ServerError('invalid_request', 'The request body is not valid UTF-8.');
  }
  const text = bytes.toString('utf8');
  if (text === '') return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message.slice(0, 200) : '';
    throw new ServerError('invalid_request', `The request body is not valid JSON: ${detail}.`, {
      cause,
    });
  }
  if (isDeeperThan(value, DEEPEST)) {
    throw new ServerError(
      'invalid_request',
      `The request body is nested more than ${DEEPEST} deep.`,
    );
  }
  return value;
}

function isDeeperThan(value: unknown, depth: number): boolean {
  if (value === null || typeof value !== 'object') return false;
  if (depth === 0) return true;
  const parts: unknown[] = Array.isArray(value) ? value : Object.values(value);
  return parts.some((part) => isDeeperThan(part, depth - 1));
}

export function installBodyParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_request: FastifyRequest, body: Buffer) => parseJson(body),
  );
}
