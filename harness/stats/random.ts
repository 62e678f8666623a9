// The generator behind every random choice of a plan and of a test: xoshiro128** 1.1 (Blackman and Vigna), its state
// filled by splitmix64. The seed is stored in the record, so any choice can be drawn again. Not for secrets.

/** The name that records store beside the seed. */
export const GENERATOR = 'xoshiro128**/splitmix64';

export interface Random {
  /** Uniform over 0 .. 2^32 - 1. */
  uint32(): number;
  /** Uniform over [0, 1), 53 bits. */
  unit(): number;
  /** Uniform over 0 .. bound - 1 without bias. RangeError unless bound is a whole number 1 .. 2^32. */
  below(bound: number): number;
}

/** Steps splitmix64: the next output for each call. Exported because its published vectors are a test. */
export function splitmix64(seed: bigint): () => bigint {
  let state = BigInt.asUintN(64, seed);
  return () => {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
    let z = state;
    z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return z ^ (z >> 31n);
  };
}

/** xoshiro128** from four 32-bit words, not all zero (RangeError otherwise). */
export function xoshiro128(words: readonly [number, number, number, number]): Random {
  let [a, b, c, d] = words.map((word) => word | 0) as [number, number, number, number];
  if ((a | b | c | d) === 0) {
    throw new RangeError('The state of xoshiro128** is all zero; give at least one bit.');
  }
  const uint32 = () => {
    const scaled = Math.imul(b, 5);
    const result = Math.imul((scaled << 7) | (scaled >>> 25), 9) >>> 0;
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = (d << 11) | (d >>> 21);
    return result;
  };
  return {
    uint32,
    unit: () => ((uint32() >>> 5) * 0x400_0000 + (uint32() >>> 6)) / 2 ** 53,
    below: (bound) => {
      if (!Number.isInteger(bound) || bound < 1 || bound > 2 ** 32) {
        throw new RangeError(`A bound of ${bound} was asked for; give a whole number from 1.`);
      }
      // Reject the incomplete last block, so that every remainder is equally likely.
      const limit = 2 ** 32 - (2 ** 32 % bound);
      let draw = uint32();
      while (draw >= limit) draw = uint32();
      return draw % bound;
    },
  };
}

/**
 * A generator for one purpose: same seed and labels, same draws; another label, an unrelated stream.
 * RangeError unless the seed is a whole number 0 .. 2^53 - 1.
 */
export function seededRandom(seed: number, ...labels: readonly (string | number)[]): Random {
  if (!Number.isSafeInteger(seed) || seed < 0) {
    throw new RangeError(`A seed of ${seed} was given; give a whole number from 0 to 2^53 - 1.`);
  }
  const next = splitmix64(BigInt(seed) ^ fnv1a64(JSON.stringify(labels)));
  const [low, high] = [next(), next()];
  return xoshiro128([
    Number(low & 0xffffffffn),
    Number(low >> 32n),
    Number(high & 0xffffffffn),
    // splitmix64 gives two zero words in a row for no state, but the type system cannot know.
    Number(high >> 32n),
  ]);
}

/** A new array with the items in random order (Fisher-Yates); the input is left as it is. */
export function shuffled<T>(items: readonly T[], random: Random): T[] {
  const rest = [...items];
  const result: T[] = [];
  while (rest.length > 0) result.push(...rest.splice(random.below(rest.length), 1));
  return result;
}

function fnv1a64(text: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return hash;
}
