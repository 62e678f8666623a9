// A range of code points as the byte sequences of UTF-8 that spell it. Surrogates are no characters and are left out.
import { byte, either, type GrammarNode, sequence } from './grammar-node.ts';

export type CodeRange = readonly [low: number, high: number];

export const LAST_CODE_POINT = 0x10ffff;
/** Greatest code point of each encoded length. */
const LENGTH_ENDS = [0x7f, 0x7ff, 0xffff, LAST_CODE_POINT];

function encode(code: number): number[] {
  return [...Buffer.from(String.fromCodePoint(code), 'utf8')];
}

/** Byte ranges, position by position, for code points of one encoded length whose tails are full or equal. */
function split(low: number, high: number, length: number): CodeRange[][] {
  for (let tail = 1; tail < length; tail += 1) {
    const mask = (1 << (6 * tail)) - 1;
    if ((low & ~mask) === (high & ~mask)) continue;
    if ((low & mask) !== 0) {
      return [...split(low, low | mask, length), ...split((low | mask) + 1, high, length)];
    }
    if ((high & mask) !== mask) {
      return [...split(low, (high & ~mask) - 1, length), ...split(high & ~mask, high, length)];
    }
  }
  const first = encode(low);
  const last = encode(high);
  return [first.map((each, index) => [each, last[index] ?? each] as const)];
}

function withoutSurrogates([low, high]: CodeRange): CodeRange[] {
  const below: CodeRange = [low, Math.min(high, 0xd7ff)];
  const above: CodeRange = [Math.max(low, 0xe000), high];
  return [below, above].filter(([from, to]) => from <= to);
}

/** One character of any of the ranges. */
export function characters(ranges: readonly CodeRange[]): GrammarNode {
  const options: GrammarNode[] = [];
  for (const [low, high] of ranges.flatMap(withoutSurrogates)) {
    let from = low;
    LENGTH_ENDS.forEach((end, index) => {
      if (from > high || from > end) return;
      for (const bytes of split(from, Math.min(high, end), index + 1)) {
        options.push(sequence(...bytes.map(([first, last]) => byte(first, last))));
      }
      from = end + 1;
    });
  }
  return options.length === 1 && options[0] ? options[0] : either(...options);
}

/** Everything that the ranges leave out. */
export function complement(ranges: readonly CodeRange[]): CodeRange[] {
  const rest: CodeRange[] = [];
  let from = 0;
  for (const [low, high] of ranges.toSorted((a, b) => a[0] - b[0])) {
    if (low > from) rest.push([from, low - 1]);
    from = Math.max(from, high + 1);
  }
  if (from <= LAST_CODE_POINT) rest.push([from, LAST_CODE_POINT]);
  return rest;
}
