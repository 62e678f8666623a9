// GGUF metadata and tensors to the shape that the engine runs. What the engine would not compute exactly as the file
// means it is refused by name, never ignored.
import type { ModelShape, TensorLocation } from '../../native/index.ts';
import { ModelError } from './errors.ts';
import type { Metadata } from './metadata.ts';
import { shown } from './shown-name.ts';
import { requireTensors } from './tensor-inventory.ts';

const ARCHITECTURES = ['llama', 'qwen3'] as const;
const LARGEST_CONTEXT = 1 << 24;

export interface Architecture {
  shape: ModelShape;
  /** The longest sequence that the model was made for, in tokens. */
  contextLength: number;
}

/** Reads the shape; `ropeFactors` are the divisors that a rope_freqs.weight tensor holds, where the file has one. */
export function architectureFrom(
  metadata: Metadata,
  tensors: readonly TensorLocation[],
  ropeFactors: Float32Array | undefined,
): Architecture {
  const named = metadata.string('general.architecture');
  const architecture = ARCHITECTURES.find((known) => known === named);
  if (!architecture) {
    throw new ModelError(
      'unsupported',
      `the architecture "${shown(named)}" is not supported (supported: ${ARCHITECTURES.join(', ')}).`,
    );
  }
  const key = (name: string): string => `${architecture}.${name}`;
  refuseWhatChangesTheMathematics(metadata, key);
  const width = metadata.size(key('embedding_length'));
  const heads = metadata.size(key('attention.head_count'));
  const headWidth = metadata.optionalSize(key('attention.key_length')) ?? width / heads;
  const shape: ModelShape = {
    architecture,
    layers: metadata.size(key('block_count'), 4096),
    width,
    heads,
    kvHeads: metadata.optionalSize(key('attention.head_count_kv')) ?? heads,
    headWidth,
    feedForwardWidth: metadata.size(key('feed_forward_length')),
    vocabulary: vocabularyOf(tensors),
    normEpsilon: metadata.number(key('attention.layer_norm_rms_epsilon')),
    ropeFrequencies: ropeFrequencies(metadata, key, headWidth, ropeFactors),
    ropeAmplitude: 1,
    ropeInterleaved: architecture === 'llama',
  };
  requireConsistent(metadata, key, shape);
  requireTensors(shape, tensors);
  return { shape, contextLength: metadata.size(key('context_length'), LARGEST_CONTEXT) };
}

function vocabularyOf(tensors: readonly TensorLocation[]): number {
  const embedding = tensors.find(({ name }) => name === 'token_embd.weight');
  const [rows] = embedding?.shape ?? [];
  if (embedding?.shape.length !== 2 || rows === undefined) {
    throw new ModelError('corrupt', 'the tensor token_embd.weight is missing or not a matrix.');
  }
  return rows;
}

function refuseWhatChangesTheMathematics(metadata: Metadata, key: (name: string) => string): void {
  const parts = metadata.optionalNumber('split.count') ?? 1;
  if (parts > 1) {
    throw new ModelError(
      'unsupported',
      `the file is one of ${parts} parts; llama-gguf-split --merge joins them.`,
    );
  }
  const experts = metadata.optionalNumber(key('expert_count')) ?? 0;
  if (experts > 0) {
    throw new ModelError(
      'unsupported',
      `mixtures of experts are not supported (${experts} experts).`,
    );
  }
  const window = metadata.optionalNumber(key('attention.sliding_window')) ?? 0;
  if (window > 0) {
    throw new ModelError(
      'unsupported',
      `sliding-window attention is not supported (window ${window}).`,
    );
  }
  const scaling = metadata.optionalString(key('rope.scaling.type')) ?? 'none';
  if (scaling !== 'none' && scaling !== 'linear') {
    throw new ModelError('unsupported', `rope scaling "${shown(scaling)}" is not supported.`);
  }
  for (const name of ['attention.scale', 'logit_scale', 'residual_scale', 'embedding_scale']) {
    const scale = metadata.optionalNumber(key(name)) ?? 0;
    if (scale !== 0 && scale !== 1) {
      throw new ModelError('unsupported', `${key(name)} (${scale}) is not supported.`);
    }
  }
}

function requireConsistent(
  metadata: Metadata,
  key: (name: string) => string,
  shape: ModelShape,
): void {
  const { headWidth, heads, kvHeads } = shape;
  const valueWidth = metadata.optionalSize(key('attention.value_length')) ?? headWidth;
  const rotated = metadata.optionalSize(key('rope.dimension_count')) ?? headWidth;
  if (!Number.isInteger(headWidth) || headWidth % 2 !== 0 || valueWidth !== headWidth) {
    throw new ModelError(
      'unsupported',
      `heads of width ${headWidth} for keys and ${valueWidth} for values are not supported.`,
    );
  }
  if (rotated !== headWidth) {
    throw new ModelError(
      'unsupported',
      `rotating ${rotated} of ${headWidth} dimensions is not supported.`,
    );
  }
  if (!(shape.normEpsilon > 0 && shape.normEpsilon < 1)) {
    throw new ModelError(
      'corrupt',
      `the norm's epsilon is ${shape.normEpsilon}; it must be above 0 and below 1.`,
    );
  }
  if (heads % kvHeads !== 0) {
    throw new ModelError('corrupt', `${heads} heads cannot share ${kvHeads} KV heads evenly.`);
  }
}

function ropeFrequencies(
  metadata: Metadata,
  key: (name: string) => string,
  headWidth: number,
  factors: Float32Array | undefined,
): Float64Array {
  const base = metadata.optionalNumber(key('rope.freq_base')) ?? 10000;
  if (!(base > 1) || !Number.isFinite(base)) {
    throw new ModelError('corrupt', `${key('rope.freq_base')} is ${base}; it must be above 1.`);
  }
  const scaled = metadata.optionalString(key('rope.scaling.type')) === 'linear';
  const stretch = scaled ? metadata.number(key('rope.scaling.factor')) : 1;
  const pairs = Math.floor(headWidth / 2);
  if (factors && factors.length !== pairs) {
    throw new ModelError(
      'corrupt',
      `rope_freqs.weight has ${factors.length} entries, not ${pairs}.`,
    );
  }
  const frequencies = Float64Array.from(
    { length: pairs },
    (_, i) => base ** ((-2 * i) / headWidth) / (stretch * (factors?.[i] ?? 1)),
  );
  if (!frequencies.every((frequency) => Number.isFinite(frequency) && frequency >= 0)) {
    throw new ModelError('corrupt', 'the rope frequencies are not finite.');
  }
  return frequencies;
}
