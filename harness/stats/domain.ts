// Checks that the functions of this folder share, and the rounding that makes stored statistics equal across engines.

/** Throws a RangeError unless every value is finite and there are at least `least` of them. */
export function requireSample(values: readonly number[], least: number, what: string): void {
  if (values.length < least) {
    throw new RangeError(`${what} needs at least ${least} values; ${values.length} were given.`);
  }
  const index = values.findIndex((value) => !Number.isFinite(value));
  if (index >= 0) {
    throw new RangeError(`${what} needs finite numbers; value ${index} is ${values[index]}.`);
  }
}

/** Throws a RangeError unless 0 < p < 1. */
export function requireProbability(p: number, what: string): void {
  if (!(p > 0 && p < 1)) {
    throw new RangeError(`${what} is ${p}; it must lie between 0 and 1, both excluded.`);
  }
}

/** Throws a RangeError unless n is a whole number of at least `least`. */
export function requireCount(n: number, least: number, what: string): void {
  if (!Number.isSafeInteger(n) || n < least) {
    throw new RangeError(`${what} is ${n}; it must be a whole number from ${least}.`);
  }
}

/** The element at an index that the caller has proven to exist; RangeError otherwise. */
export function at(values: ArrayLike<number>, index: number): number {
  const value = values[index];
  if (value === undefined) {
    throw new RangeError(`Index ${index} is outside of ${values.length} values.`);
  }
  return value;
}

/**
 * Rounds to 12 significant digits and at most 12 decimals: what records store (statistics section 6). Logarithms of ratios
 * near 1 lose their last digits to cancellation, so decimals are limited too; engines then agree on every byte.
 */
export function stored(value: number): number {
  if (!Number.isFinite(value)) return value;
  // Adding zero turns -0, which JSON cannot hold, into 0.
  return Number(Math.abs(value) < 1 ? value.toFixed(12) : value.toPrecision(12)) + 0;
}
