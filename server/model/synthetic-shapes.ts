// The shapes of synthetic models: real ones, so that speed is that of the real model, and small ones for tests and the default
// sweep. Sizes are those of the published config files.
import type { TensorTypeName } from '../../native/index.ts';

export interface SyntheticShape {
  architecture: 'llama' | 'qwen3';
  layers: number;
  width: number;
  heads: number;
  kvHeads: number;
  headWidth: number;
  feedForwardWidth: number;
  vocabulary: number;
  contextLength: number;
  ropeBase: number;
  normEpsilon: number;
  /** Llama 3's long-context scaling of the rotation. */
  ropeScaling?: { factor: number; low: number; high: number; originalContext: number };
  /** Type of the embedding, which is also the output layer (all of these tie them). */
  embedding: TensorTypeName;
  /** For `bench model list`. */
  note: string;
}

const QWEN3 = {
  architecture: 'qwen3',
  ropeBase: 1e6,
  normEpsilon: 1e-6,
  contextLength: 40960,
} as const;

export const SYNTHETIC_SHAPES: ReadonlyMap<string, SyntheticShape> = new Map<
  string,
  SyntheticShape
>([
  [
    'small-qwen3',
    {
      ...QWEN3,
      layers: 8,
      width: 512,
      heads: 8,
      kvHeads: 4,
      headWidth: 64,
      feedForwardWidth: 1536,
      vocabulary: 4096,
      contextLength: 4096,
      embedding: 'Q8_0',
      note: 'the default of bench sweep: two minutes on two cores',
    },
  ],
  [
    'tiny-qwen3',
    {
      ...QWEN3,
      layers: 2,
      width: 128,
      heads: 4,
      kvHeads: 2,
      headWidth: 64,
      feedForwardWidth: 256,
      vocabulary: 4096,
      contextLength: 4096,
      embedding: 'BF16',
      note: 'for tests',
    },
  ],
  [
    'tiny-llama',
    {
      architecture: 'llama',
      layers: 2,
      width: 128,
      heads: 4,
      kvHeads: 2,
      headWidth: 32,
      feedForwardWidth: 256,
      vocabulary: 4096,
      contextLength: 4096,
      ropeBase: 10000,
      normEpsilon: 1e-5,
      embedding: 'Q8_0',
      note: 'for tests',
    },
  ],
  [
    'smollm2-135m',
    {
      architecture: 'llama',
      layers: 30,
      width: 576,
      heads: 9,
      kvHeads: 3,
      headWidth: 64,
      feedForwardWidth: 1536,
      vocabulary: 49152,
      contextLength: 8192,
      ropeBase: 1e5,
      normEpsilon: 1e-5,
      embedding: 'Q8_0',
      note: 'shape of SmolLM2-135M',
    },
  ],
  [
    'qwen3-0.6b',
    {
      ...QWEN3,
      layers: 28,
      width: 1024,
      heads: 16,
      kvHeads: 8,
      headWidth: 128,
      feedForwardWidth: 3072,
      vocabulary: 151936,
      embedding: 'Q8_0',
      note: 'shape of Qwen3-0.6B',
    },
  ],
  [
    'qwen3-1.7b',
    {
      ...QWEN3,
      layers: 28,
      width: 2048,
      heads: 16,
      kvHeads: 8,
      headWidth: 128,
      feedForwardWidth: 6144,
      vocabulary: 151936,
      embedding: 'Q8_0',
      note: 'shape of Qwen3-1.7B',
    },
  ],
  [
    'llama-3.2-1b',
    {
      architecture: 'llama',
      layers: 16,
      width: 2048,
      heads: 32,
      kvHeads: 8,
      headWidth: 64,
      feedForwardWidth: 8192,
      vocabulary: 128256,
      contextLength: 131072,
      ropeBase: 5e5,
      normEpsilon: 1e-5,
      ropeScaling: { factor: 32, low: 1, high: 4, originalContext: 8192 },
      embedding: 'Q8_0',
      note: 'shape of Llama-3.2-1B',
    },
  ],
]);

/** Name, type and row-major shape of every tensor, in the order of the file. */
export function tensorsOfShape(shape: SyntheticShape): [string, TensorTypeName, number[]][] {
  const { width, headWidth, feedForwardWidth } = shape;
  const queryWidth = shape.heads * headWidth;
  const kvWidth = shape.kvHeads * headWidth;
  const tensors: [string, TensorTypeName, number[]][] = [
    ['token_embd.weight', shape.embedding, [shape.vocabulary, width]],
    ['output_norm.weight', 'F32', [width]],
  ];
  if (shape.ropeScaling) tensors.push(['rope_freqs.weight', 'F32', [headWidth / 2]]);
  for (let layer = 0; layer < shape.layers; layer++) {
    const add = (name: string, type: TensorTypeName, extents: number[]) =>
      tensors.push([`blk.${layer}.${name}.weight`, type, extents]);
    add('attn_norm', 'F32', [width]);
    add('ffn_norm', 'F32', [width]);
    add('attn_q', 'MXFP4', [queryWidth, width]);
    add('attn_k', 'MXFP4', [kvWidth, width]);
    add('attn_v', 'MXFP4', [kvWidth, width]);
    add('attn_output', 'MXFP4', [width, queryWidth]);
    if (shape.architecture === 'qwen3') {
      add('attn_q_norm', 'F32', [headWidth]);
      add('attn_k_norm', 'F32', [headWidth]);
    }
    add('ffn_gate', 'MXFP4', [feedForwardWidth, width]);
    add('ffn_up', 'MXFP4', [feedForwardWidth, width]);
    add('ffn_down', 'MXFP4', [width, feedForwardWidth]);
  }
  return tensors;
}
