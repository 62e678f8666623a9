// Sends generated requests and broken HTTP to a server and checks every answer: no 5xx, nothing unanswered, each reply
// valid by its own schema. Used in a short form by the tests and in a long form by the slow ones.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { z } from 'zod';
import { errorReply, OPERATIONS, openApiDocument } from '../protocol/openapi.ts';
import { type Answer, post, rawConnection, rawPost, readEvents } from './http-client.ts';
import { arbitraryOf, type JsonSchema } from './schema-arbitrary.ts';
import type { TestApp } from './test-app.ts';

const document = z.object({
  paths: z.record(
    z.string(),
    z.object({
      post: z
        .object({
          requestBody: z.object({
            content: z.object({ 'application/json': z.object({ schema: z.unknown() }) }),
          }),
        })
        .optional(),
    }),
  ),
});

function bodiesOf(path: string): fc.Arbitrary<unknown> {
  const { paths } = document.parse(openApiDocument('0'));
  const schema = paths[path]?.post?.requestBody.content['application/json'].schema as JsonSchema;
  return arbitraryOf(schema);
}

function checkAnswer(path: string, answer: Answer): void {
  assert.ok(answer.status < 500, `${answer.status}: ${answer.text}`);
  if (answer.status !== 200) {
    errorReply.parse(answer.json);
    return;
  }
  if (answer.headers.get('content-type')?.startsWith('text/event-stream')) {
    readEvents(answer.text);
    return;
  }
  const operation = OPERATIONS.find((each) => each.path === path && each.method === 'post');
  operation?.reply.parse(answer.json);
}

/** Sends `count` generated bodies, eight at a time; resolves with how many were accepted. */
export async function storm(app: TestApp, count: number, seed: number): Promise<number> {
  const posts = OPERATIONS.filter(({ method }) => method === 'post').map(({ path }) => path);
  const each = Math.ceil(count / posts.length);
  let accepted = 0;
  for (const path of posts) {
    const bodies = fc.sample(bodiesOf(path), { numRuns: each, seed });
    const next = bodies.values();
    const worker = async (): Promise<void> => {
      for (const body of next) {
        const answer = await post(app, path, JSON.stringify(body) ?? '');
        try {
          checkAnswer(path, answer);
        } catch (cause) {
          const shown = JSON.stringify(body)?.slice(0, 2000);
          throw new Error(`seed ${seed}, ${path} ${shown}: ${cause}`, { cause });
        }
        if (answer.status === 200) accepted += 1;
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
  }
  return accepted;
}

/** A valid request with some of its bytes changed, removed, repeated or added. */
const mutatedBytes = fc
  .tuple(
    fc.constantFrom('/v1/completions', '/health', '/v1/chat/completions', '/tokenize'),
    fc.array(fc.tuple(fc.nat(), fc.nat(255), fc.constantFrom('set', 'drop', 'insert', 'cut')), {
      minLength: 1,
      maxLength: 6,
    }),
  )
  .map(([path, mutations]) => {
    let bytes = Buffer.from(
      rawPost(path, { prompt: 'ab', max_tokens: 2 }, 'Connection: close\r\n'),
    );
    for (const [place, value, kind] of mutations) {
      const at = place % Math.max(1, bytes.length);
      if (kind === 'set') bytes[at] = value;
      else if (kind === 'drop')
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
      else if (kind === 'insert')
        bytes = Buffer.concat([bytes.subarray(0, at), Buffer.of(value), bytes.subarray(at)]);
      else bytes = bytes.subarray(0, at);
    }
    return bytes;
  });

/** Sends `count` broken requests over sockets of their own. */
export async function rawStorm(app: TestApp, count: number, seed: number): Promise<void> {
  const next = fc.sample(mutatedBytes, { numRuns: count, seed }).values();
  const worker = async (): Promise<void> => {
    for (const bytes of next) {
      const { socket, closed, received } = await rawConnection(app);
      socket.end(bytes);
      await closed;
      assert.ok(!/^HTTP\/1\.1 5/.test(received()), `seed ${seed}: ${received().slice(0, 500)}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}
