// Metadata to shapes: what is computed is what the file says, and what is not computed is refused by name.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TensorLocation } from '../../native/index.ts';
import { type Architecture, architectureFrom } from './architecture.ts';
import { ModelError } from './errors.ts';
import type { GgufValue } from './gguf-reader.ts';
import { Metadata } from './metadata.ts';
import { SYNTHETIC_SHAPES, tensorsOfShape } from './synthetic-shapes.ts';

type Entries = Record<string, GgufValue>;

function entriesOf(architecture: 'llama' | 'qwen3'): Entries {
  const shape = SYNTHETIC_SHAPES.get(`tiny-${architecture}`);
  assert.ok(shape);
  const key = (name: string): string => `${architecture}.${name}`;
  return {
    'general.architecture': architecture,
    [key('context_length')]: shape.contextLength,
    [key('embedding_length')]: shape.width,
    [key('block_count')]: shape.layers,
    [key('feed_forward_length')]: shape.feedForwardWidth,
    [key('attention.head_count')]: shape.heads,
    [key('attention.head_count_kv')]: shape.kvHeads,
    [key('attention.key_length')]: shape.headWidth,
    [key('attention.layer_norm_rms_epsilon')]: shape.normEpsilon,
    [key('rope.freq_base')]: shape.ropeBase,
  };
}

function tensorsOf(architecture: 'llama' | 'qwen3'): TensorLocation[] {
  const shape = SYNTHETIC_SHAPES.get(`tiny-${architecture}`);
  assert.ok(shape);
  return tensorsOfShape(shape).map(([name, type, extents]) => ({
    name,
    type,
    shape: extents,
    offsetBytes: 0,
    lengthBytes: 0,
  }));
}

function read(
  architecture: 'llama' | 'qwen3',
  changes: Entries = {},
  tensors = tensorsOf(architecture),
  factors?: Float32Array,
): Architecture {
  const entries = { ...entriesOf(architecture), ...changes };
  return architectureFrom(new Metadata(new Map(Object.entries(entries))), tensors, factors);
}

test('llama stores the rows of Q and K as neighbouring pairs, qwen3 as halves', () => {
  assert.equal(read('llama').shape.ropeInterleaved, true);
  assert.equal(read('qwen3').shape.ropeInterleaved, false);
});

test('the vocabulary is what the embedding has, and a missing key length is width over heads', () => {
  const { shape, contextLength } = read('llama');
  assert.equal(shape.vocabulary, 4096);
  assert.equal(contextLength, 4096);
  const entries = entriesOf('llama');
  delete entries['llama.attention.key_length'];
  const without = architectureFrom(
    new Metadata(new Map(Object.entries(entries))),
    tensorsOf('llama'),
    undefined,
  );
  assert.equal(without.shape.headWidth, 32);
});

test('rotation frequencies are the base to the power of -2i over the head width', () => {
  const { ropeFrequencies } = read('qwen3').shape;
  assert.equal(ropeFrequencies.length, 32);
  for (const [i, frequency] of ropeFrequencies.entries()) {
    assert.ok(Math.abs(frequency / 1e6 ** (-i / 32) - 1) < 1e-12);
  }
});

test('linear scaling stretches every rotation, and factors of the file divide each its own', () => {
  const plain = read('llama').shape.ropeFrequencies;
  const linear = read('llama', {
    'llama.rope.scaling.type': 'linear',
    'llama.rope.scaling.factor': 4,
  }).shape.ropeFrequencies;
  const factors = Float32Array.from(plain, (_, i) => 1 + i);
  const divided = read('llama', {}, tensorsOf('llama'), factors).shape.ropeFrequencies;
  for (const [i, frequency] of plain.entries()) {
    assert.ok(Math.abs(frequency / (linear[i] ?? 0) - 4) < 1e-12);
    assert.ok(Math.abs(frequency / (divided[i] ?? 0) - (1 + i)) < 1e-12);
  }
});

const refused: [string, Entries, RegExp][] = [
  ['another architecture', { 'general.architecture': 'gpt-oss' }, /architecture "gpt-oss"/],
  ['an architecture of two lines', { 'general.architecture': 'a\nb' }, /architecture "a\?b"/],
  ['experts', { 'llama.expert_count': 8 }, /8 experts/],
  ['a sliding window', { 'llama.attention.sliding_window': 4096 }, /window 4096/],
  ['YaRN', { 'llama.rope.scaling.type': 'yarn' }, /rope scaling "yarn"/],
  ['an unknown scaling', { 'llama.rope.scaling.type': 'longrope' }, /rope scaling "longrope"/],
  ['an attention scale', { 'llama.attention.scale': 0.5 }, /attention\.scale \(0\.5\)/],
  ['partly rotated heads', { 'llama.rope.dimension_count': 16 }, /rotating 16 of 32/],
  ['unequal heads', { 'llama.attention.value_length': 64 }, /for keys and 64 for values/],
  ['heads that do not share evenly', { 'llama.attention.head_count_kv': 3 }, /share 3 KV heads/],
  ['a base of 0', { 'llama.rope.freq_base': 0 }, /freq_base is 0/],
  ['a base of NaN', { 'llama.rope.freq_base': Number.NaN }, /freq_base is NaN/],
  ['a negative epsilon', { 'llama.attention.layer_norm_rms_epsilon': -1 }, /epsilon is -1/],
  ['no layers', { 'llama.block_count': 0 }, /block_count is 0; it must be from 1/],
  ['half a layer', { 'llama.block_count': 1.5 }, /block_count is 1\.5/],
  ['2^40 heads', { 'llama.attention.head_count': 2 ** 40 }, /head_count is 1099511627776/],
  ['a text for a number', { 'llama.block_count': '2' }, /block_count is not a number/],
  ['a context of 2^31', { 'llama.context_length': 2 ** 31 }, /context_length is 2147483648/],
  ['a part of a split model', { 'split.count': 3 }, /one of 3 parts/],
  ['more layers than tensors', { 'llama.block_count': 3 }, /no tensor blk\.2\.attn_norm/],
  [
    'a width that tensors do not have',
    { 'llama.embedding_length': 256 },
    /tensor token_embd\.weight has the shape \[4096,128\]; the model's sizes ask for \[4096,256\]/,
  ],
];
for (const [name, changes, message] of refused) {
  test(`${name}: refused in one line`, () => {
    assert.throws(
      () => read('llama', changes),
      (error: unknown) => {
        assert.ok(error instanceof ModelError);
        assert.match(error.message, message);
        assert.ok(!error.message.includes('\n'));
        return true;
      },
    );
  });
}

test('a tensor that the engine would leave out is refused, one that is missing is named', () => {
  const bias: TensorLocation = {
    name: 'blk.0.attn_q.bias',
    type: 'F32',
    shape: [128],
    offsetBytes: 0,
    lengthBytes: 512,
  };
  assert.throws(
    () => read('llama', {}, [...tensorsOf('llama'), bias]),
    /no use for the tensor "blk\.0\.attn_q\.bias"/,
  );
  const without = tensorsOf('qwen3').filter(({ name }) => name !== 'blk.1.attn_q_norm.weight');
  assert.throws(() => read('qwen3', {}, without), /no tensor blk\.1\.attn_q_norm\.weight/);
  assert.throws(() => read('llama', {}, []), /token_embd\.weight is missing/);
  const untied = tensorsOf('llama').concat({ ...bias, name: 'output.weight', shape: [4096, 128] });
  assert.equal(read('llama', {}, untied).shape.vocabulary, 4096);
});

test('factors of the wrong number, or that are no divisors, are refused', () => {
  const withFactors = (factors: Float32Array) => () =>
    read('llama', {}, tensorsOf('llama'), factors);
  assert.throws(withFactors(new Float32Array(3).fill(1)), /has 3 entries, not 16/);
  assert.throws(withFactors(new Float32Array(16)), /not finite/);
  assert.throws(withFactors(new Float32Array(16).fill(Number.NaN)), /not finite/);
});
