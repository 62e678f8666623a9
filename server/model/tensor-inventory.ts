// Which tensors a model of a shape has, and a check that a file has exactly those. A tensor that the engine would leave
// out, such as a bias, changes the text, so it is refused by name.
import type { ModelShape, TensorLocation } from '../../native/index.ts';
import { ModelError } from './errors.ts';
import { shown } from './shown-name.ts';

interface Expected {
  name: string;
  /** Row-major. */
  shape: readonly number[];
  isOptional?: boolean;
}

function expectedTensors(shape: ModelShape): Expected[] {
  const { width, headWidth, feedForwardWidth, vocabulary } = shape;
  const queryWidth = shape.heads * headWidth;
  const kvWidth = shape.kvHeads * headWidth;
  const expected: Expected[] = [
    { name: 'token_embd.weight', shape: [vocabulary, width] },
    { name: 'output_norm.weight', shape: [width] },
    // Without it the embedding is the output layer as well.
    { name: 'output.weight', shape: [vocabulary, width], isOptional: true },
    { name: 'rope_freqs.weight', shape: [headWidth / 2], isOptional: true },
  ];
  const layer: [string, number[]][] = [
    ['attn_norm', [width]],
    ['ffn_norm', [width]],
    ['attn_q', [queryWidth, width]],
    ['attn_k', [kvWidth, width]],
    ['attn_v', [kvWidth, width]],
    ['attn_output', [width, queryWidth]],
    ['ffn_gate', [feedForwardWidth, width]],
    ['ffn_up', [feedForwardWidth, width]],
    ['ffn_down', [width, feedForwardWidth]],
  ];
  if (shape.architecture === 'qwen3') {
    layer.push(['attn_q_norm', [headWidth]], ['attn_k_norm', [headWidth]]);
  }
  for (let index = 0; index < shape.layers; index++) {
    for (const [name, extents] of layer) {
      expected.push({ name: `blk.${index}.${name}.weight`, shape: extents });
    }
  }
  return expected;
}

/** Every tensor that the shape asks for is there with its size, and no other; otherwise ModelError names the first. */
export function requireTensors(shape: ModelShape, tensors: readonly TensorLocation[]): void {
  const found = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  for (const { name, shape: extents, isOptional } of expectedTensors(shape)) {
    const tensor = found.get(name);
    found.delete(name);
    if (tensor === undefined && isOptional) continue;
    if (tensor === undefined) {
      throw new ModelError('corrupt', `the model has no tensor ${name}.`);
    }
    if (tensor.shape.join() !== extents.join()) {
      throw new ModelError(
        'corrupt',
        `tensor ${name} has the shape [${tensor.shape}]; the model's sizes ask for [${extents}].`,
      );
    }
  }
  for (const name of found.keys()) {
    throw new ModelError(
      'unsupported',
      `the engine has no use for the tensor "${shown(name)}", and without it the text would be another.`,
    );
  }
}
