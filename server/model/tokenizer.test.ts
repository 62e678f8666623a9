import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { IncrementalDetokenizer } from './detokenizer.ts';
import { readGguf } from './gguf-reader.ts';
import { Metadata } from './metadata.ts';
import { preTokenizerOf } from './pre-tokenizers.ts';
import { type Tokenizer, tokenizerFrom } from './tokenizer.ts';

interface Golden {
  prompts: { text: string | null; promptIds: number[]; greedyIds: number[]; greedyText: string }[];
}

async function tokenizerOf(name: string): Promise<Tokenizer> {
  const { metadata } = await readGguf(`models/${name}/${name}-mxfp4.gguf`);
  return tokenizerFrom(new Metadata(metadata));
}

const TRICKY = [
  '',
  ' ',
  '  leading and   inner spaces ',
  "I'll say it's DON'T'S",
  'naïve café — “quotes” … 東京タワー 🎉👩‍👩‍👧‍👦',
  'line\r\nline\n\n\ttab\u2028separator\u0000\u001b',
  '1234567890 3.14159 ١٢٣',
  '\ufeffbom',
  'x'.repeat(1000),
];

for (const name of ['tiny-qwen3', 'tiny-llama']) {
  test(`${name}: golden texts become the golden ids and come back`, async () => {
    const tokenizer = await tokenizerOf(name);
    const goldens = JSON.parse(readFileSync(`models/${name}/goldens.json`, 'utf8')) as Golden;
    for (const { text, promptIds, greedyIds, greedyText } of goldens.prompts) {
      // Prompts that were made as ids have no text of their own.
      if (text !== null) {
        assert.deepEqual(tokenizer.encode(text), promptIds);
        assert.equal(tokenizer.decode(promptIds), text);
      }
      assert.equal(tokenizer.decode(greedyIds), greedyText);
    }
  });
}

test('any text comes back from its token ids', async () => {
  const tokenizer = await tokenizerOf('tiny-qwen3');
  for (const text of TRICKY) assert.equal(tokenizer.decode(tokenizer.encode(text)), text);
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (text) => {
      assert.equal(tokenizer.decode(tokenizer.encode(text)), text);
    }),
    { numRuns: 300, seed: 1 },
  );
});

test('special names in a text are special tokens only where they are to be parsed', async () => {
  const tokenizer = await tokenizerOf('tiny-qwen3');
  const text = 'a<|im_end|>b';
  const parsed = tokenizer.encode(text);
  const plain = tokenizer.encode(text, { parseSpecial: false });
  assert.ok(parsed.includes(2));
  assert.ok(!plain.some((id) => tokenizer.isSpecial(id)));
  assert.equal(tokenizer.decode(plain), text);
  assert.equal(tokenizer.decode(parsed, { skipSpecialTokens: true }), 'ab');
});

test('a text of 200 KB without a space is encoded about as fast as one with spaces', async () => {
  const tokenizer = await tokenizerOf('tiny-qwen3');
  const timeOf = (text: string): number => {
    const begin = process.hrtime.bigint();
    tokenizer.encode(text);
    return Number(process.hrtime.bigint() - begin);
  };
  const spaced = 'abcd '.repeat(40_000);
  timeOf(spaced);
  const ratio = timeOf('abcdefgh'.repeat(25_000)) / timeOf(spaced);
  // Quadratic merging would be some thousand times slower.
  assert.ok(ratio < 50, `${ratio} times`);
});

test('streamed text is the text of all ids at once, and no piece shows half a character', async () => {
  const tokenizer = await tokenizerOf('tiny-qwen3');
  const id = fc.oneof(
    fc.integer({ min: 0, max: tokenizer.vocabularySize - 1 }),
    fc.constantFrom(...tokenizer.encode('🎉é東')),
  );
  fc.assert(
    fc.property(fc.array(id, { maxLength: 40 }), fc.boolean(), (ids, skipSpecialTokens) => {
      const detokenizer = new IncrementalDetokenizer(tokenizer, { skipSpecialTokens });
      const pieces = ids.map((each) => detokenizer.push(each));
      pieces.push(detokenizer.finish());
      assert.equal(pieces.join(''), tokenizer.decode(ids, { skipSpecialTokens }));
      // A lone surrogate would be lost on the way through UTF-8.
      for (const piece of pieces) assert.equal(Buffer.from(piece).toString(), piece);
    }),
    { numRuns: 500, seed: 2 },
  );
});

test('a character of four bytes appears with its last token, and never as U+FFFD before', async () => {
  const tokenizer = await tokenizerOf('tiny-qwen3');
  const ids = tokenizer.encode('🎉');
  assert.ok(ids.length > 1);
  const detokenizer = new IncrementalDetokenizer(tokenizer);
  const pieces = ids.map((id) => detokenizer.push(id));
  assert.deepEqual(pieces, [...ids.slice(1).map(() => ''), '🎉']);
  assert.equal(detokenizer.finish(), '');
  detokenizer.push(ids[0] ?? 0);
  assert.equal(detokenizer.finish(), '\ufffd');
});

test('each rule cuts numbers and contractions as its model was trained', () => {
  const patternOf = (name: string): RegExp => {
    const rule = JSON.stringify(preTokenizerOf(name).pre_tokenizer);
    const { pretokenizers } = JSON.parse(rule) as {
      pretokenizers: { pattern?: { Regex: string } }[];
    };
    return new RegExp(pretokenizers[0]?.pattern?.Regex ?? '', 'gu');
  };
  const text = "Year 2026'S  end\n\n ok";
  assert.deepEqual(text.match(patternOf('qwen2')), [
    'Year',
    ' ',
    '2',
    '0',
    '2',
    '6',
    "'S",
    ' ',
    ' end',
    '\n\n',
    ' ok',
  ]);
  assert.deepEqual(text.match(patternOf('llama-bpe')), [
    'Year',
    ' ',
    '202',
    '6',
    "'S",
    ' ',
    ' end',
    '\n\n',
    ' ok',
  ]);
  assert.deepEqual("HelloWorld's 12345".match(patternOf('gpt-4o')), [
    'Hello',
    "World's",
    ' ',
    '123',
    '45',
  ]);
});

test('tokenizers that are not byte-level BPE, broken lists and ids out of range are refused by name', () => {
  const good: [string, string | string[] | number | number[]][] = [
    ['tokenizer.ggml.model', 'gpt2'],
    ['tokenizer.ggml.tokens', ['a', 'b']],
    ['tokenizer.ggml.merges', []],
  ];
  const withEntry = (key: string, value: string | string[] | number | number[]) => () =>
    tokenizerFrom(new Metadata(new Map([...good, [key, value]])));
  assert.throws(withEntry('tokenizer.ggml.model', 'llama'), /of kind "llama"; only byte-level BPE/);
  assert.throws(withEntry('tokenizer.ggml.pre', 'deepseek'), /rule "deepseek" is not known/);
  assert.throws(withEntry('tokenizer.ggml.merges', ['a b c']), /merge rule "a b c" is not a pair/);
  assert.throws(withEntry('tokenizer.ggml.token_type', [1]), /has 1 entries for 2 tokens/);
  assert.throws(
    withEntry('tokenizer.ggml.eos_token_id', 2),
    /eos_token_id is 2; the vocabulary has 2/,
  );
  assert.throws(withEntry('tokenizer.ggml.tokens', 5), /tokens is not a list of texts/);
});
