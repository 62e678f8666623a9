// What a model is and what it will need, without loading its weights.
import { openModel } from './open-model.ts';

export interface ModelInspection {
  name: string;
  path: string;
  synthetic: boolean;
  architecture: string;
  layers: number;
  width: number;
  heads: number;
  kvHeads: number;
  headWidth: number;
  feedForwardWidth: number;
  vocabulary: number;
  contextLength: number;
  parameters: number;
  quantisation: string;
  /** Tensors and bytes of each type. */
  tensors: { type: string; count: number; bytes: number }[];
  tokens: number;
  eosIds: number[];
  chatTemplate: boolean;
  fileBytes: number;
  sha256: string;
  /** Of one token in all layers with a bf16 cache; f32 takes twice as much. */
  kvBytesPerToken: number;
  warnings: string[];
}

const BF16_BYTES = 2;

/** Opens the model and reads it once for its sha256 (remembered); ModelError when it cannot be opened. */
export async function inspectModel(spec: string): Promise<ModelInspection> {
  const model = await openModel(spec);
  const { shape, tokenizer } = model;
  const byType = new Map<string, { count: number; bytes: number }>();
  for (const { type, lengthBytes } of model.tensors) {
    const { count, bytes } = byType.get(type) ?? { count: 0, bytes: 0 };
    byType.set(type, { count: count + 1, bytes: bytes + lengthBytes });
  }
  return {
    name: model.name,
    path: model.path,
    synthetic: model.synthetic,
    architecture: shape.architecture,
    layers: shape.layers,
    width: shape.width,
    heads: shape.heads,
    kvHeads: shape.kvHeads,
    headWidth: shape.headWidth,
    feedForwardWidth: shape.feedForwardWidth,
    vocabulary: shape.vocabulary,
    contextLength: model.contextLength,
    parameters: model.parameters,
    quantisation: model.quantisation,
    tensors: [...byType]
      .map(([type, share]) => ({ type, ...share }))
      .sort((a, b) => b.bytes - a.bytes),
    tokens: tokenizer.vocabularySize,
    eosIds: model.eosIds,
    chatTemplate: model.chatTemplate !== undefined,
    fileBytes: model.fileBytes,
    sha256: await model.sha256(),
    kvBytesPerToken: 2 * shape.layers * shape.kvHeads * shape.headWidth * BF16_BYTES,
    warnings: warningsOf(model),
  };
}

function warningsOf(model: Awaited<ReturnType<typeof openModel>>): string[] {
  const warnings: string[] = [];
  if (model.synthetic) warnings.push('The weights are made up: speed is real, text is not.');
  if (model.tokenizer.vocabularySize !== model.shape.vocabulary) {
    warnings.push(
      `The tokenizer has ${model.tokenizer.vocabularySize} tokens, the embedding ${model.shape.vocabulary} rows.`,
    );
  }
  if (model.eosIds.length === 0)
    warnings.push('No token ends a text: requests run to their limit.');
  if (!model.chatTemplate)
    warnings.push('There is no chat template: /v1/chat/completions will refuse.');
  return warnings;
}
