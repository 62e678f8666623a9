// What is known of JSON schema: which keywords constrain which type, which only describe, and which bounds are kept.
import { z } from 'zod';
import { GrammarError } from './grammar-error.ts';

export type Schema = boolean | Readonly<Record<string, unknown>>;

/** They describe and do not constrain. */
export const NOTES = new Set([
  '$schema',
  '$id',
  '$comment',
  '$defs',
  'definitions',
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  'format',
  'strict',
  'contentMediaType',
]);
export const TYPES = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'] as const;
export const KEYWORDS: Readonly<Record<(typeof TYPES)[number], readonly string[]>> = {
  object: ['properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties'],
  array: ['items', 'minItems', 'maxItems', 'prefixItems'],
  string: ['minLength', 'maxLength'],
  integer: [],
  number: [],
  boolean: [],
  null: [],
};
export const KNOWN = new Set(['type', ...Object.values(KEYWORDS).flat()]);
export const DEEPEST = 48;
export const MOST_COUNTED = 4096;

/** Any object, before it is known to be a schema. */
export const map = z.record(z.string(), z.unknown());

/** The value as a schema; GrammarError when it is none. */
export function asSchema(value: unknown, pointer: string): Schema {
  if (typeof value === 'boolean') return value;
  const parsed = map.safeParse(value);
  if (!parsed.success) throw new GrammarError(`${pointer.slice(0, 200)} is no schema`);
  return parsed.data;
}
