// synthetic:NAME: a model of a known shape whose weights are drawn from a seed, so that a bare machine has something real
// to run. Its speed is that of the real model; its text means nothing, and every record says so.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheFolder } from './cache-folder.ts';
import { ModelError } from './errors.ts';
import { readGguf } from './gguf-reader.ts';
import { type TypedValue, tensorBytes, writeGguf } from './gguf-writer.ts';
import { Metadata } from './metadata.ts';
import { SYNTHETIC_SHAPES, type SyntheticShape, tensorsOfShape } from './synthetic-shapes.ts';
import { UNUSED } from './token-types.ts';

/** Goes up when the same name and seed would give other bytes. */
const GENERATOR_VERSION = 1;
const SEED = 1;
const PIECE_BYTES = 1 << 20;

const PACKAGE_ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
/** The shipped model whose vocabulary the synthetic ones speak. */
const VOCABULARY_SOURCE = join(PACKAGE_ROOT, 'models', 'tiny-qwen3', 'tiny-qwen3-mxfp4.gguf');

export const SYNTHETIC_NAMES = [...SYNTHETIC_SHAPES.keys()];

/** Where the generated file of a name lies, or would lie. */
export function syntheticPath(name: string): string {
  return join(cacheFolder(), 'models', `synthetic-${name}-v${GENERATOR_VERSION}-s${SEED}.gguf`);
}

/** The path of the generated file; generates it first when it is not there. Unknown names are ModelError not_found. */
export async function ensureSynthetic(name: string): Promise<string> {
  const shape = SYNTHETIC_SHAPES.get(name);
  if (!shape) {
    throw new ModelError(
      'not_found',
      `There is no synthetic model "${name}" (there are: ${SYNTHETIC_NAMES.join(', ')}).`,
    );
  }
  const path = syntheticPath(name);
  if (existsSync(path)) return path;
  const metadata = await metadataOf(name, shape);
  try {
    const tensors = tensorsOfShape(shape).map(([tensor, type, extents], index) => ({
      name: tensor,
      type,
      shape: extents,
      produce: producerOf(tensor, type, extents, shape, SEED * 1000 + index),
    }));
    writeGguf(path, metadata, tensors);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const reason = code === 'ENOSPC' ? 'the disk is full' : `${code ?? cause}`;
    throw new ModelError(
      'unreadable',
      `The synthetic model could not be written to ${path}: ${reason}; XDG_CACHE_HOME names another place.`,
      { cause },
    );
  }
  return path;
}

async function metadataOf(name: string, shape: SyntheticShape): Promise<Map<string, TypedValue>> {
  const key = (entry: string): string => `${shape.architecture}.${entry}`;
  const u32 = (value: number): TypedValue => ({ type: 'u32', value });
  const f32 = (value: number): TypedValue => ({ type: 'f32', value });
  const string = (value: string): TypedValue => ({ type: 'string', value });
  const source = new Metadata((await readGguf(VOCABULARY_SOURCE)).metadata);
  const tokens = source.strings('tokenizer.ggml.tokens');
  const types = source.numbers('tokenizer.ggml.token_type');
  for (let id = tokens.length; id < shape.vocabulary; id++) {
    tokens.push(`[unused${id}]`);
    types.push(UNUSED);
  }
  return new Map<string, TypedValue>([
    ['general.architecture', string(shape.architecture)],
    ['general.name', string(`synthetic:${name}`)],
    ['mxbench.synthetic', { type: 'bool', value: true }],
    ['mxbench.synthetic.seed', u32(SEED)],
    ['mxbench.synthetic.version', u32(GENERATOR_VERSION)],
    [key('context_length'), u32(shape.contextLength)],
    [key('embedding_length'), u32(shape.width)],
    [key('block_count'), u32(shape.layers)],
    [key('feed_forward_length'), u32(shape.feedForwardWidth)],
    [key('attention.head_count'), u32(shape.heads)],
    [key('attention.head_count_kv'), u32(shape.kvHeads)],
    [key('attention.key_length'), u32(shape.headWidth)],
    [key('attention.value_length'), u32(shape.headWidth)],
    [key('attention.layer_norm_rms_epsilon'), f32(shape.normEpsilon)],
    [key('rope.freq_base'), f32(shape.ropeBase)],
    [key('rope.dimension_count'), u32(shape.headWidth)],
    ['tokenizer.ggml.model', string('gpt2')],
    ['tokenizer.ggml.pre', string(source.string('tokenizer.ggml.pre'))],
    ['tokenizer.ggml.tokens', { type: 'strings', value: tokens }],
    ['tokenizer.ggml.token_type', { type: 'i32s', value: types }],
    ['tokenizer.ggml.merges', { type: 'strings', value: source.strings('tokenizer.ggml.merges') }],
    ['tokenizer.ggml.bos_token_id', u32(source.number('tokenizer.ggml.bos_token_id'))],
    ['tokenizer.ggml.eos_token_id', u32(source.number('tokenizer.ggml.eos_token_id'))],
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: false }],
    ['tokenizer.chat_template', string(source.string('tokenizer.chat_template'))],
  ]);
}

type Producer = (write: (bytes: Uint8Array) => void) => void;

function producerOf(
  name: string,
  type: string,
  extents: readonly number[],
  shape: SyntheticShape,
  seed: number,
): Producer {
  if (name === 'rope_freqs.weight') return (write) => write(ropeFactors(shape));
  if (extents.length === 1) return (write) => write(floats(extents[0] ?? 0, () => 1));
  const columns = extents[1] ?? 1;
  const bytes = tensorBytes(type === 'BF16' ? 'BF16' : type === 'Q8_0' ? 'Q8_0' : 'MXFP4', extents);
  if (type === 'BF16') return (write) => fill(bytes, 2, seed, write, shapeBfloat16);
  if (type === 'Q8_0') return (write) => fill(bytes, 34, seed, write, shapeQ8);
  // Random E2M1 codes have a root mean square of 2.9: this exponent makes that about 1/sqrt(columns), so that activations
  // keep their size from layer to layer.
  const exponent = Math.round(127 - Math.log2(2.9 * Math.sqrt(columns)));
  return (write) =>
    fill(bytes, 17, seed, write, (piece) => {
      for (let at = 0; at < piece.length; at += 17) piece[at] = exponent + ((piece[at] ?? 0) & 1);
    });
}

function floats(count: number, valueAt: (i: number) => number): Uint8Array {
  return new Uint8Array(Float32Array.from({ length: count }, (_, i) => valueAt(i)).buffer);
}

/** Random bytes in pieces of whole blocks, which `adjust` turns into valid blocks in place. */
function fill(
  bytes: number,
  blockBytes: number,
  seed: number,
  write: (bytes: Uint8Array) => void,
  adjust: (piece: Uint8Array) => void,
): void {
  const whole = Math.floor(PIECE_BYTES / (4 * blockBytes)) * 4 * blockBytes;
  const words = new Uint32Array(whole / 4);
  const next = xorshift(seed);
  for (let done = 0; done < bytes; done += whole) {
    for (let i = 0; i < words.length; i++) words[i] = next();
    const piece = new Uint8Array(words.buffer, 0, Math.min(whole, bytes - done));
    adjust(piece);
    write(piece);
  }
}

/** Marsaglia's xorshift128: far quicker than what files can take, and good enough for weights that mean nothing. */
function xorshift(seed: number): () => number {
  let x = 123456789 ^ Math.imul(seed, 0x9e3779b1);
  let y = 362436069;
  let z = 521288629;
  let w = 88675123;
  return () => {
    const t = x ^ (x << 11);
    x = y;
    y = z;
    z = w;
    w = w ^ (w >>> 19) ^ t ^ (t >>> 8);
    return w;
  };
}

/** Scale 2^-12 or so in every block, values as they fall: about 0.02 in the root mean square, like trained embeddings. */
function shapeQ8(piece: Uint8Array): void {
  for (let at = 0; at < piece.length; at += 34) {
    piece[at] = 0;
    piece[at + 1] = 0x0c + ((piece[at + 1] ?? 0) & 1);
  }
}

/** Exponents near 2^-6, signs and mantissas as they fall. */
function shapeBfloat16(piece: Uint8Array): void {
  for (let at = 1; at < piece.length; at += 2) piece[at] = ((piece[at] ?? 0) & 0x80) | 0x3c;
}

/** Divisors of the rotation frequencies by Llama 3.1's rule: slow ones by `factor`, fast ones by 1, smooth between. */
function ropeFactors(shape: SyntheticShape): Uint8Array {
  const { factor, low, high, originalContext } = shape.ropeScaling ?? {
    factor: 1,
    low: 1,
    high: 4,
    originalContext: 8192,
  };
  return floats(shape.headWidth / 2, (i) => {
    const wavelength = 2 * Math.PI * shape.ropeBase ** ((2 * i) / shape.headWidth);
    const turns = originalContext / wavelength;
    if (turns > high) return 1;
    if (turns < low) return factor;
    const smooth = (turns - low) / (high - low);
    return 1 / ((1 - smooth) / factor + smooth);
  });
}
