import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { GrammarAutomaton, type Position } from '../../engine/grammar-automaton.ts';
import { isWellFormed } from '../../protocol/well-formed.ts';
import { compileGrammar } from './compile-grammar.ts';
import { GrammarError } from './grammar-error.ts';
import type { Grammar } from './grammar-node.ts';
import { regexGrammar } from './regex-grammar.ts';
import { anyObjectGrammar, schemaGrammar } from './schema-grammar.ts';
import { characters, complement } from './utf8-ranges.ts';

/** Whether the text is a sentence of the grammar. */
function matcher(grammar: Grammar): (text: string) => boolean {
  const automaton = new GrammarAutomaton(compileGrammar(grammar));
  return (text) => {
    let position: Position | null = automaton.start;
    for (const each of Buffer.from(text, 'utf8')) {
      position = automaton.step(position, each);
      if (!position) return false;
    }
    return position.accepting;
  };
}

const regex = (pattern: string) => matcher(new Map([['root', regexGrammar(pattern)]]));

const patterns = [
  'abc',
  'a|bc|',
  '(ab)*c+d?',
  '[a-c]{2,3}x',
  '[^a-c]+',
  '\\d{3}-\\d{4}',
  '(?:x|y){2}',
  '\\w+@\\w+\\.(com|org)',
  '[é-ü☃]+',
  '.{0,3}',
  '^a.*b$',
  '(?<name>a+?)b',
  '[\\]\\-a]+',
  '[-a]+[a-]',
  '\\x41\\u0042\\n',
  'a{0}b',
  '(a*)*b',
];

test('a pattern matches as a whole exactly what the language itself matches', () => {
  const texts = fc.string({ unit: fc.constantFrom(...'abcdxyé☃🐋-@.]AB1 \n'), maxLength: 8 });
  for (const pattern of patterns) {
    const ours = regex(pattern);
    const theirs = new RegExp(`^(?:${pattern.replace(/^\^|\$$/g, '')})$`, 'u');
    fc.assert(
      fc.property(texts, (text) => {
        assert.equal(ours(text), theirs.test(text), `${pattern} on ${JSON.stringify(text)}`);
      }),
      { numRuns: 300 },
    );
    fc.assert(
      fc.property(
        fc.stringMatching(new RegExp(`^(?:${pattern.replace(/^\^|\$$/g, '')})$`, 'u')),
        (text) => {
          assert.ok(
            ours(text) || !isWellFormed(text),
            `${pattern} matches ${JSON.stringify(text)}`,
          );
        },
      ),
      { numRuns: 30 },
    );
  }
});

test('patterns that mean nothing here are refused with the place', () => {
  const wrong = [
    '(',
    ')',
    'a**)',
    '[a',
    '[z-a]',
    'a{2,1}',
    '*a',
    '(?=a)',
    '(?<!a)b',
    '\\1',
    '\\b',
    'a$b',
    'x^',
    'a{5000}',
    '\\',
    '{',
  ];
  for (const pattern of wrong) {
    assert.throws(() => regexGrammar(pattern), GrammarError, pattern);
  }
});

test('a pattern whose states explode is refused in time', () => {
  const began = performance.now();
  const bomb = { root: '((((a{1,99}){1,99}){1,99}){1,99})' };
  assert.throws(() => compileGrammar(new Map([['root', regexGrammar(bomb.root)]])), /too large/);
  assert.ok(performance.now() - began < 5000);
});

test('every character but the ones left out is one character', () => {
  const one = matcher(new Map([['root', characters(complement([[0x61, 0x7a]]))]]));
  for (const text of ['A', '{', '`', 'é', '☃', '\u{ffff}', '\u{10000}', '\u{10ffff}', '\u0000']) {
    assert.ok(one(text), text);
  }
  for (const text of ['a', 'z', 'AA', '']) assert.ok(!one(text), text);
});

test('any JSON object is a sentence of json_object, and nothing else is', () => {
  const matches = matcher(anyObjectGrammar());
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(undefined, 2), (value, indent) => {
      const isObject = value !== null && typeof value === 'object' && !Array.isArray(value);
      const text = JSON.stringify(value, null, indent);
      // Numbers beyond 16 digits are not written.
      if (/\d{17}/.test(text)) return;
      assert.equal(matches(text), isObject, text);
    }),
    { numRuns: 500 },
  );
  for (const text of [
    '',
    '{',
    '{"a":1,}',
    '{"a"}',
    '{a:1}',
    '{"a":01}',
    '{"a":1}x',
    "{'a':1}",
    '{"a":"\n"}',
  ]) {
    assert.ok(!matches(text), text);
  }
});

const person = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 5 },
    age: { type: ['integer', 'null'] },
    tags: { type: 'array', items: { enum: ['a', 'b', 3] }, minItems: 1, maxItems: 2 },
    next: { $ref: '#' },
  },
  required: ['name'],
};

test('members come in order, required ones always, optional ones or not, others never', () => {
  const matches = matcher(schemaGrammar(person));
  const yes = [
    '{"name":"x"}',
    '{ "name": "x", "age": 3 }',
    '{"name":"é☃🐋","tags":["a",3]}',
    '{"name":"x","age":null,"tags":["b"],"next":{"name":"y","next":{"name":"z"}}}',
  ];
  for (const text of yes) assert.ok(matches(text), text);
  const no = [
    '{}',
    '{"age":3}',
    '{"name":""}',
    '{"name":"sixsix"}',
    '{"name":"x",}',
    '{"name":"x","other":1}',
    '{"name":"x","age":1.5}',
    '{"name":"x","tags":[]}',
    '{"name":"x","tags":["a","a","a"]}',
    '{"name":"x","next":{}}',
  ];
  for (const text of no) assert.ok(!matches(text), text);
});

test('alternatives, constants, maps and definitions are followed', () => {
  const matches = matcher(
    schemaGrammar({
      anyOf: [
        { $ref: '#/$defs/pair' },
        { const: { k: [1] } },
        { type: 'object', additionalProperties: { type: 'boolean' } },
      ],
      $defs: { pair: { type: 'array', items: { type: 'number' }, minItems: 2, maxItems: 2 } },
    }),
  );
  for (const text of ['[1,-2.5e3]', '{"k":[1]}', '{"x":true,"y":false}', '{}'])
    assert.ok(matches(text), text);
  for (const text of ['[1]', '[1,2,3]', '{"x":1}', '["a","b"]']) assert.ok(!matches(text), text);
});

test('keywords that would be ignored are refused by name', () => {
  const wrong: [unknown, RegExp][] = [
    [{ type: 'integer', minimum: 3 }, /minimum/],
    [{ type: 'string', pattern: 'a' }, /pattern/],
    [{ type: 'object', patternProperties: {} }, /patternProperties/],
    [{ not: {} }, /not/],
    [{ $ref: '#/nowhere' }, /points nowhere/],
    [{ $ref: 'http://x' }, /not within/],
    [{ type: 'thing' }, /type/],
    [{ type: 'array', minItems: 3, maxItems: 2 }, /exceeds/],
    [{ type: 'object', properties: { a: {} }, required: ['b'] }, /not described/],
    [false, /nothing is allowed/],
    ['text', /no schema/],
    [{ allOf: [{}, {}] }, /allOf/],
  ];
  for (const [schema, message] of wrong) assert.throws(() => schemaGrammar(schema), message);
});

test('a schema that refers to itself for ever ends in nothing instead of hanging', () => {
  const matches = matcher(schemaGrammar({ anyOf: [{ $ref: '#' }, { const: 1 }] }));
  assert.ok(matches('1'));
  assert.ok(!matches('2'));
});
