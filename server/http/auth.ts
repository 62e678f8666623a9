// Bearer keys. Everything but the open paths needs one when any is set; keys are compared in constant time.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { ServerError } from '../errors.ts';

/** What probes and scrapers may read without a key. */
const OPEN_PATHS = new Set(['/health', '/v1/health', '/ping', '/version', '/metrics']);

function digest(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

export function guard(app: FastifyInstance, apiKeys: readonly string[]): void {
  if (apiKeys.length === 0) return;
  const digests = apiKeys.map(digest);
  app.addHook('onRequest', async (request) => {
    const path = request.url.split('?', 1)[0] ?? '';
    if (OPEN_PATHS.has(path) || request.method === 'OPTIONS') return;
    const given = /^Bearer +(.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const hash = digest(given);
    // Every key is compared, so that the time does not tell which one was close.
    const matches = digests.filter((known) => timingSafeEqual(known, hash));
    if (matches.length > 0) return;
    throw new ServerError(
      'invalid_api_key',
      'A valid API key is needed: send "Authorization: Bearer KEY".',
    );
  });
}
