// The rules of JSON itself: strings, numbers, and values of any kind. White space is allowed where people put it, in
// bounded amounts, so that a model cannot fill its reply with blanks.
import {
  byte,
  either,
  type Grammar,
  type GrammarNode,
  literal,
  maybe,
  oneOf,
  repeat,
  rule,
  sequence,
} from './grammar-node.ts';
import { characters, complement } from './utf8-ranges.ts';

const FOREVER = Number.POSITIVE_INFINITY;
const MOST_DIGITS = 16;

export const SPACE: GrammarNode = maybe(
  either(byte(0x20), sequence(byte(0x0a), repeat(byte(0x20), 0, 32))),
);

const digit = byte(0x30, 0x39);
const hexDigit = either(digit, byte(0x41, 0x46), byte(0x61, 0x66));
const plain = characters(
  complement([
    [0, 0x1f],
    [0x22, 0x22],
    [0x5c, 0x5c],
  ]),
);
const escaped = sequence(
  byte(0x5c),
  either(oneOf('"\\/bfnrt'), sequence(literal('u'), hexDigit, hexDigit, hexDigit, hexDigit)),
);

/** One character of a string, escaped or not. */
export const CHARACTER: GrammarNode = either(plain, escaped);

const integer = sequence(
  maybe(literal('-')),
  either(byte(0x30), sequence(byte(0x31, 0x39), repeat(digit, 0, MOST_DIGITS - 1))),
);
const number = sequence(
  rule('integer'),
  maybe(sequence(literal('.'), repeat(digit, 1, MOST_DIGITS))),
  maybe(sequence(oneOf('eE'), maybe(oneOf('+-')), repeat(digit, 1, 3))),
);

/** "[" items "]"; `item` again and again between the bounds. */
export function arrayOf(item: GrammarNode, least: number, most: number): GrammarNode {
  const more = sequence(literal(','), SPACE, item, SPACE);
  const filled = sequence(item, SPACE, repeat(more, Math.max(0, least - 1), most - 1));
  const items = most === 0 ? sequence() : least === 0 ? maybe(filled) : filled;
  return sequence(literal('['), SPACE, items, literal(']'));
}

/** An object with any keys. */
export function objectOf(value: GrammarNode, least: number, most: number): GrammarNode {
  const member = sequence(rule('string'), SPACE, literal(':'), SPACE, value, SPACE);
  const more = sequence(literal(','), SPACE, member);
  const filled = sequence(member, repeat(more, Math.max(0, least - 1), most - 1));
  const members = most === 0 ? sequence() : least === 0 ? maybe(filled) : filled;
  return sequence(literal('{'), SPACE, members, literal('}'));
}

/** Rules "string", "integer", "number", "boolean", "null", "array", "object" and "value". */
export function jsonRules(): Grammar {
  return new Map<string, GrammarNode>([
    ['string', sequence(byte(0x22), repeat(rule('character'), 0, FOREVER), byte(0x22))],
    ['character', CHARACTER],
    ['integer', integer],
    ['number', number],
    ['boolean', either(literal('true'), literal('false'))],
    ['null', literal('null')],
    ['array', arrayOf(rule('value'), 0, FOREVER)],
    ['object', objectOf(rule('value'), 0, FOREVER)],
    [
      'value',
      either(
        ...['string', 'number', 'boolean', 'null', 'array', 'object'].map((name) => rule(name)),
      ),
    ],
  ]);
}
