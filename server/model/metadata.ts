// Typed reading of GGUF metadata: a value that is missing or of the wrong kind is one clear sentence.
import { ModelError } from './errors.ts';
import type { GgufValue } from './gguf-reader.ts';

export class Metadata {
  readonly #values: ReadonlyMap<string, GgufValue>;
  constructor(values: ReadonlyMap<string, GgufValue>) {
    this.#values = values;
  }

  has(key: string): boolean {
    return this.#values.has(key);
  }

  number(key: string): number {
    return this.optionalNumber(key) ?? this.#missing(key);
  }
  optionalNumber(key: string): number | undefined {
    const value = this.#values.get(key);
    if (value === undefined || typeof value === 'number') return value;
    return this.#wrong(key, 'a number');
  }

  /** A whole number from 1 to `most`. */
  size(key: string, most = 2 ** 31 - 1): number {
    const value = this.number(key);
    if (Number.isInteger(value) && value >= 1 && value <= most) return value;
    throw new ModelError('corrupt', `metadata ${key} is ${value}; it must be from 1 to ${most}.`);
  }
  optionalSize(key: string, most?: number): number | undefined {
    return this.has(key) ? this.size(key, most) : undefined;
  }

  string(key: string): string {
    return this.optionalString(key) ?? this.#missing(key);
  }
  optionalString(key: string): string | undefined {
    const value = this.#values.get(key);
    if (value === undefined || typeof value === 'string') return value;
    return this.#wrong(key, 'text');
  }

  optionalBoolean(key: string): boolean | undefined {
    const value = this.#values.get(key);
    if (value === undefined || typeof value === 'boolean') return value;
    return this.#wrong(key, 'true or false');
  }

  strings(key: string): string[] {
    return this.#array(key, (value) => typeof value === 'string', 'a list of texts');
  }
  numbers(key: string): number[] {
    return this.#array(key, (value) => typeof value === 'number', 'a list of numbers');
  }

  #array<T extends GgufValue>(
    key: string,
    isElement: (value: GgufValue) => boolean,
    kind: string,
  ): T[] {
    const value = this.#values.get(key) ?? this.#missing(key);
    if (!Array.isArray(value) || !value.every(isElement)) return this.#wrong(key, kind);
    return value as T[];
  }

  #missing(key: string): never {
    throw new ModelError('corrupt', `metadata ${key} is missing.`);
  }
  #wrong(key: string, kind: string): never {
    throw new ModelError('corrupt', `metadata ${key} is not ${kind}.`);
  }
}
