// One spelling of a JSON value (RFC 8785): sorted keys, shortest numbers, no spaces. Equal values have equal bytes, so
// a hash over them names the value. It refuses what JSON cannot carry instead of dropping it silently.
import { createHash } from 'node:crypto';

/**
 * The canonical text of plain data. Fields that are undefined are left out. Throws a TypeError that names the path of
 * what JSON cannot carry: numbers that are not finite, lone surrogates, functions, class instances.
 */
export function canonicalJson(value: unknown): string {
  return write(value, '$');
}

/** Sha256 (hex) of the canonical text. */
export function canonicalSha256(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

function write(value: unknown, path: string): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value))
      throw new TypeError(`${path} is ${value}, which JSON cannot hold.`);
    return JSON.stringify(value);
  }
  if (typeof value === 'string') {
    if (/\p{Surrogate}/u.test(value)) throw new TypeError(`${path} holds half a surrogate pair.`);
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) {
    return `[${value.map((item, index) => write(item, `${path}[${index}]`)).join(',')}]`;
  }
  if (typeof value === 'object' && isPlain(value)) {
    // The default order of strings in JavaScript is that of UTF-16 code units, as the RFC asks.
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    const sorted = fields.sort(([a], [b]) => (a < b ? -1 : 1));
    const written = sorted.map(
      ([key, field]) => `${write(key, `${path} key`)}:${write(field, `${path}.${key}`)}`,
    );
    return `{${written.join(',')}}`;
  }
  throw new TypeError(`${path} is a ${typeof value}, which JSON cannot hold.`);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
