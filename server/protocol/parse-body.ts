// Turns a failed validation into one sentence that names the field, what was expected and what came.
import type { z } from 'zod';
import { ServerError } from '../errors.ts';

const LONGEST_ECHO = 200;

/** The value as short JSON; undefined reads "nothing". */
function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  // Only the beginning is shown, so only the beginning is serialised.
  const head = typeof value === 'string' ? value.slice(0, LONGEST_ECHO) : value;
  const json = JSON.stringify(Array.isArray(head) ? head.slice(0, 20) : head) ?? typeof value;
  return json.length > LONGEST_ECHO ? `${json.slice(0, LONGEST_ECHO)}...` : json;
}

function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => {
    return value !== null && typeof value === 'object' ? Reflect.get(value, key) : undefined;
  }, body);
}

/** The validated body; ServerError invalid_request names the first field that is wrong. */
export function parseBody<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): z.infer<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = issue?.path ?? [];
  const param = path.map(String).join('.').slice(0, LONGEST_ECHO);
  const complaint = issue?.message ?? 'is not valid';
  if (param === '') {
    throw new ServerError(
      'invalid_request',
      `The request body must be a JSON object: ${complaint}.`,
    );
  }
  const message = `Invalid ${param}: ${complaint}; got ${shown(valueAt(body, path))}.`;
  throw new ServerError('invalid_request', message, { param });
}
