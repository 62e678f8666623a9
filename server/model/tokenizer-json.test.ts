// tokenizer.json against the tokenizer of the GGUF file that was made from it, and against the published patterns.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { readGguf } from './gguf-reader.ts';
import { Metadata } from './metadata.ts';
import { type Tokenizer, tokenizerFrom } from './tokenizer.ts';
import { tokenizerFromJson } from './tokenizer-json.ts';

const folder = mkdtempSync(join(tmpdir(), 'mxbench-tokenizer-'));
after(() => rmSync(folder, { recursive: true }));
const SOURCE = 'models/tiny-qwen3/tokenizer.json';

/** The file with `changes` over it, with a tokenizer_config.json beside it. */
function changed(changes: object, config: object = {}): string {
  const path = join(folder, 'tokenizer.json');
  const source = JSON.parse(readFileSync(SOURCE, 'utf8')) as object;
  writeFileSync(path, JSON.stringify({ ...source, ...changes }));
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(config));
  return path;
}

async function fromGguf(rule: string): Promise<Tokenizer> {
  const { metadata } = await readGguf('models/tiny-qwen3/tiny-qwen3-mxfp4.gguf');
  return tokenizerFrom(new Metadata(new Map([...metadata, ['tokenizer.ggml.pre', rule]])));
}

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.string({
    unit: fc.constantFrom(..." \n\r\t'’sStTrReE12345abcÀéßǅ中東¡!?.-_/٣\u0301\u2028\u00a0"),
    maxLength: 60,
  }),
);

function requireEqual(ours: Tokenizer, theirs: Tokenizer): void {
  fc.assert(
    fc.property(text, (each) => {
      assert.deepEqual(ours.encode(each), theirs.encode(each), JSON.stringify(each));
    }),
    { numRuns: 1000, seed: 3 },
  );
}

test('the json and the GGUF file of one model give the same ids, bytes and special tokens', async () => {
  const gguf = await fromGguf('gpt-2');
  const json = tokenizerFromJson(SOURCE);
  requireEqual(gguf, json);
  assert.equal(json.vocabularySize, gguf.vocabularySize);
  for (let id = 0; id < gguf.vocabularySize; id++) {
    assert.deepEqual(json.tokenBytes(id), gguf.tokenBytes(id));
    assert.equal(json.isSpecial(id), gguf.isSpecial(id));
  }
  assert.deepEqual([json.bosId, json.eosIds, json.addBos], [0, [0], false]);
});

// As the tokenizer.json files of the model families have them.
const PUBLISHED: [string, string, object | null][] = [
  [
    'llama-bpe',
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    null,
  ],
  [
    'qwen2',
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    { type: 'NFC' },
  ],
  [
    'gpt-4o',
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    null,
  ],
];
for (const [rule, pattern, normalizer] of PUBLISHED) {
  test(`the rule ${rule} cuts text as the published pattern does`, async () => {
    const path = changed({
      normalizer,
      pre_tokenizer: {
        type: 'Sequence',
        pretokenizers: [
          { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false },
          { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
        ],
      },
    });
    requireEqual(await fromGguf(rule), tokenizerFromJson(path));
  });
}

test('BOS comes first where the config or the template says so', () => {
  const template = (first: string) => ({
    post_processor: {
      type: 'TemplateProcessing',
      single: [{ [first]: { id: '<|endoftext|>', type_id: 0 } }, { Sequence: { id: 'A' } }],
    },
  });
  const config = { bos_token: { content: '<|endoftext|>' }, eos_token: '<|im_end|>' };
  const firstOf = (path: string) => tokenizerFromJson(path).encode('a')[0];
  assert.equal(firstOf(changed(template('SpecialToken'), config)), 0);
  assert.notEqual(firstOf(changed(template('Sequence'), config)), 0);
  assert.equal(firstOf(changed({}, { ...config, add_bos_token: true })), 0);
  assert.notEqual(firstOf(changed(template('SpecialToken'))), 0);
  assert.deepEqual(tokenizerFromJson(changed({}, config)).eosIds, [2]);
});

test('files of other kinds are refused by name', () => {
  const model = { type: 'WordPiece', vocab: { a: 0 } };
  assert.throws(() => tokenizerFromJson(changed({ model })), /not a byte-level BPE .* at "model\./);
  assert.throws(
    () => tokenizerFromJson(changed({ pre_tokenizer: { type: 'Metaspace' } })),
    /not a byte-level tokenizer/,
  );
  const mask = { id: 5, content: '<mask>', lstrip: true };
  assert.throws(
    () => tokenizerFromJson(changed({ added_tokens: [mask] })),
    /"<mask>" takes spaces/,
  );
  const huge = { type: 'BPE', vocab: { a: 2 ** 40 }, merges: [] };
  assert.throws(() => tokenizerFromJson(changed({ model: huge })), /at "model\.vocab\.a"/);
  const path = join(folder, 'broken.json');
  writeFileSync(path, '{"model":');
  assert.throws(() => tokenizerFromJson(path), /broken\.json is not a byte-level BPE/);
  assert.throws(() => tokenizerFromJson(join(folder, 'absent.json')), /cannot be read \(ENOENT\)/);
});
