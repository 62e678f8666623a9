// A random little model for tests: a weights file, its tensor list, and the same model computed plainly in double precision.
// The oracle shares no code with the engine and follows the textbook: one token after another, no cache, no packing.
import { closeSync, openSync, writeSync } from 'node:fs';
import type { ModelShape, TensorLocation, TensorTypeName } from './index.ts';

/** Numbers in [0, 1) from a seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Matrix = Float64Array[];

interface Encoded {
  bytes: Buffer;
  rows: Matrix;
}

const E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0, -0.5, -1, -1.5, -2, -3, -4, -6];

function encodeMxfp4Row(columns: number, random: () => number): [Buffer, Float64Array] {
  const bytes = Buffer.alloc((columns / 32) * 17);
  const values = new Float64Array(columns);
  for (let block = 0; block < columns / 32; block++) {
    const exponent = 122 + Math.floor(random() * 3);
    bytes[block * 17] = exponent;
    for (let i = 0; i < 16; i++) {
      const codes = Math.floor(random() * 256);
      bytes[block * 17 + 1 + i] = codes;
      values[block * 32 + i] = (E2M1[codes & 15] ?? 0) * 2 ** (exponent - 127);
      values[block * 32 + i + 16] = (E2M1[codes >> 4] ?? 0) * 2 ** (exponent - 127);
    }
  }
  return [bytes, values];
}

function encodeQ8Row(columns: number, random: () => number): [Buffer, Float64Array] {
  const bytes = Buffer.alloc((columns / 32) * 34);
  const values = new Float64Array(columns);
  for (let block = 0; block < columns / 32; block++) {
    // A power of two times 1.5: the half 0x?E00 is exact.
    const exponent = 4 + Math.floor(random() * 3);
    bytes.writeUInt16LE((exponent << 10) | 0x200, block * 34);
    for (let i = 0; i < 32; i++) {
      const quantised = Math.floor(random() * 255) - 127;
      bytes.writeInt8(quantised, block * 34 + 2 + i);
      values[block * 32 + i] = quantised * 1.5 * 2 ** (exponent - 15);
    }
  }
  return [bytes, values];
}

function encodeFloatRow(
  columns: number,
  random: () => number,
  bf16: boolean,
): [Buffer, Float64Array] {
  const floats = Float32Array.from({ length: columns }, () => (random() - 0.5) * 0.25);
  const words = new Uint32Array(floats.buffer);
  if (bf16) for (let i = 0; i < columns; i++) words[i] = (words[i] ?? 0) & 0xffff0000;
  const bytes = Buffer.alloc(columns * (bf16 ? 2 : 4));
  for (let i = 0; i < columns; i++) {
    if (bf16) bytes.writeUInt16LE((words[i] ?? 0) >>> 16, 2 * i);
    else bytes.writeFloatLE(floats[i] ?? 0, 4 * i);
  }
  return [bytes, Float64Array.from(floats)];
}

function encode(
  type: TensorTypeName,
  rows: number,
  columns: number,
  random: () => number,
): Encoded {
  const parts: Buffer[] = [];
  const matrix: Matrix = [];
  for (let row = 0; row < rows; row++) {
    const [bytes, values] =
      type === 'MXFP4'
        ? encodeMxfp4Row(columns, random)
        : type === 'Q8_0'
          ? encodeQ8Row(columns, random)
          : encodeFloatRow(columns, random, type === 'BF16');
    parts.push(bytes);
    matrix.push(values);
  }
  return { bytes: Buffer.concat(parts), rows: matrix };
}

export interface TinyModel {
  shape: ModelShape;
  tensors: TensorLocation[];
  /** Values of each tensor by name; vectors are one row. */
  values: Map<string, Matrix>;
}

/** Writes a random model of `shape` to `path`; linear layers have type `linear`, embedding and head type `head`. */
export function writeTinyModel(
  path: string,
  shape: ModelShape,
  linear: TensorTypeName,
  head: TensorTypeName,
  seed: number,
): TinyModel {
  const random = randomFrom(seed);
  const { width, feedForwardWidth, vocabulary } = shape;
  const queryWidth = shape.heads * shape.headWidth;
  const kvWidth = shape.kvHeads * shape.headWidth;
  const wanted: [string, TensorTypeName, number, number][] = [
    ['token_embd.weight', head, vocabulary, width],
    ['output.weight', head, vocabulary, width],
    ['output_norm.weight', 'F32', 1, width],
  ];
  for (let layer = 0; layer < shape.layers; layer++) {
    const norms: [string, number][] = [
      ['attn_norm', width],
      ['ffn_norm', width],
    ];
    if (shape.architecture === 'qwen3') {
      norms.push(['attn_q_norm', shape.headWidth], ['attn_k_norm', shape.headWidth]);
    }
    const matrices: [string, number, number][] = [
      ['attn_q', queryWidth, width],
      ['attn_k', kvWidth, width],
      ['attn_v', kvWidth, width],
      ['attn_output', width, queryWidth],
      ['ffn_gate', feedForwardWidth, width],
      ['ffn_up', feedForwardWidth, width],
      ['ffn_down', width, feedForwardWidth],
    ];
    for (const [name, columns] of norms)
      wanted.push([`blk.${layer}.${name}.weight`, 'F32', 1, columns]);
    for (const [name, rows, columns] of matrices) {
      wanted.push([`blk.${layer}.${name}.weight`, linear, rows, columns]);
    }
  }
  const file = openSync(path, 'w');
  const tensors: TensorLocation[] = [];
  const values = new Map<string, Matrix>();
  let offsetBytes = 0;
  for (const [name, type, rows, columns] of wanted) {
    const { bytes, rows: matrix } = encode(type, rows, columns, random);
    writeSync(file, bytes);
    const shapeOfTensor = rows === 1 ? [columns] : [rows, columns];
    tensors.push({ name, type, shape: shapeOfTensor, offsetBytes, lengthBytes: bytes.length });
    values.set(name, matrix);
    offsetBytes += bytes.length;
  }
  closeSync(file);
  return { shape, tensors, values };
}

function multiply(matrix: Matrix, vector: Float64Array): Float64Array {
  return Float64Array.from(matrix, (row) =>
    row.reduce((sum, w, k) => sum + w * (vector[k] ?? 0), 0),
  );
}

function rmsNorm(x: Float64Array, weight: Float64Array, epsilon: number): Float64Array {
  const mean = x.reduce((sum, value) => sum + value * value, 0) / x.length;
  return x.map((value, i) => (value * (weight[i] ?? 0)) / Math.sqrt(mean + epsilon));
}

/** Logits of every position of `tokens`, computed in double precision. */
export function oracleLogits(model: TinyModel, tokens: readonly number[]): Float64Array[] {
  const { shape } = model;
  const get = (name: string): Matrix => model.values.get(`${name}.weight`) ?? [];
  const vector = (name: string): Float64Array => get(name)[0] ?? new Float64Array();
  const norm = (x: Float64Array, name: string) => rmsNorm(x, vector(name), shape.normEpsilon);
  let hidden: Float64Array[] = tokens.map((token) =>
    Float64Array.from(get('token_embd')[token] ?? []),
  );
  for (let layer = 0; layer < shape.layers; layer++) {
    const part = (name: string) => `blk.${layer}.${name}`;
    const inputs = hidden.map((x) => norm(x, part('attn_norm')));
    const project = (name: string, normName?: string) =>
      inputs.map((x, position) => rotated(model, multiply(get(part(name)), x), position, normName));
    const normed = shape.architecture === 'qwen3';
    const queries = project('attn_q', normed ? part('attn_q_norm') : '');
    const keys = project('attn_k', normed ? part('attn_k_norm') : '');
    const values = project('attn_v');
    hidden = hidden.map((x, position) => {
      const attended = attend(shape, queries[position] ?? x, keys, values, position);
      const after = add(x, multiply(get(part('attn_output')), attended));
      const input = norm(after, part('ffn_norm'));
      const gate = multiply(get(part('ffn_gate')), input);
      const up = multiply(get(part('ffn_up')), input);
      const product = gate.map((g, i) => (g / (1 + Math.exp(-g))) * (up[i] ?? 0));
      return add(after, multiply(get(part('ffn_down')), product));
    });
  }
  return hidden.map((x) => multiply(get('output'), norm(x, 'output_norm')));
}

function add(x: Float64Array, y: Float64Array): Float64Array {
  return x.map((value, i) => value + (y[i] ?? 0));
}

/** Heads normalised (with a norm's name), rotated; without a name (values) left as they are. */
function rotated(model: TinyModel, x: Float64Array, position: number, norm?: string): Float64Array {
  if (norm === undefined) return x;
  const { shape } = model;
  const half = shape.headWidth / 2;
  const out = new Float64Array(x.length);
  for (let start = 0; start < x.length; start += shape.headWidth) {
    let head: Float64Array = x.slice(start, start + shape.headWidth);
    const weight = model.values.get(`${norm}.weight`)?.[0];
    if (weight) head = rmsNorm(head, weight, shape.normEpsilon);
    for (let i = 0; i < half; i++) {
      const [a, b] = shape.ropeInterleaved ? [2 * i, 2 * i + 1] : [i, i + half];
      const angle = position * (shape.ropeFrequencies[i] ?? 0);
      const [first, second] = [head[a] ?? 0, head[b] ?? 0];
      out[start + a] = first * Math.cos(angle) - second * Math.sin(angle);
      out[start + b] = second * Math.cos(angle) + first * Math.sin(angle);
    }
  }
  return out;
}

function attend(
  shape: ModelShape,
  query: Float64Array,
  keys: Float64Array[],
  values: Float64Array[],
  position: number,
): Float64Array {
  const out = new Float64Array(shape.heads * shape.headWidth);
  const width = shape.headWidth;
  for (let head = 0; head < shape.heads; head++) {
    const kv = Math.floor(head / (shape.heads / shape.kvHeads)) * width;
    const scores = keys.slice(0, position + 1).map((key) => {
      let score = 0;
      for (let i = 0; i < width; i++) score += (query[head * width + i] ?? 0) * (key[kv + i] ?? 0);
      return score / Math.sqrt(width);
    });
    const largest = Math.max(...scores);
    const weights = scores.map((score) => Math.exp(score - largest));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    weights.forEach((weight, t) => {
      for (let i = 0; i < width; i++) {
        const at = head * width + i;
        out[at] = (out[at] ?? 0) + (weight / total) * (values[t]?.[kv + i] ?? 0);
      }
    });
  }
  return out;
}
