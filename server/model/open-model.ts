// A model by its spec: a folder with one .gguf, a .gguf file, or synthetic:NAME. Only the header is read; the engine maps the
// weights.
import { closeSync, openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import type { ModelShape, TensorLocation } from '../../native/index.ts';
import { architectureFrom } from './architecture.ts';
import { ModelError } from './errors.ts';
import { sha256OfFile } from './file-hash.ts';
import { type GgufFile, readGguf } from './gguf-reader.ts';
import { Metadata } from './metadata.ts';
import { ensureSynthetic } from './synthetic.ts';
import { type Tokenizer, tokenizerFrom } from './tokenizer.ts';
import { tokenizerFromJson } from './tokenizer-json.ts';

export interface LoadedModel {
  /** general.name of the file, or its name. */
  name: string;
  /** What the spec resolved to: the weights file. */
  path: string;
  weightsPath: string;
  shape: ModelShape;
  tensors: TensorLocation[];
  tokenizer: Tokenizer;
  chatTemplate?: string;
  /** Ids that end a text: the tokenizer's and those of a generation_config.json beside the file. */
  eosIds: number[];
  contextLength: number;
  fileBytes: number;
  /** Of the weights file, lower-case hex; the first call may read it whole. */
  sha256(): Promise<string>;
  /** The weights are made up: speed is real, text is not. */
  synthetic: boolean;
  /** Types of the tensors by their share of bytes, such as "MXFP4 + Q8_0". */
  quantisation: string;
  parameters: number;
}

const SYNTHETIC_PREFIX = 'synthetic:';

/** Opens a model; ModelError says in one sentence what is wrong and what to do. */
export async function openModel(spec: string): Promise<LoadedModel> {
  const path = await resolveSpec(spec);
  const file = await readGguf(path);
  try {
    return describe(file);
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    throw new ModelError(error.code, `${basename(path)}: ${error.message}`, { cause: error });
  }
}

async function resolveSpec(spec: string): Promise<string> {
  if (spec.startsWith(SYNTHETIC_PREFIX)) {
    return ensureSynthetic(spec.slice(SYNTHETIC_PREFIX.length));
  }
  const path = resolve(spec);
  return isFolder(path, spec) ? onlyGgufIn(path, spec) : path;
}

function isFolder(path: string, spec: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      throw new ModelError('not_found', `There is no model ${spec}.`, { cause });
    }
    throw new ModelError('unreadable', `The model ${spec} cannot be reached (${code}).`, { cause });
  }
}

function onlyGgufIn(folder: string, spec: string): string {
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => name.endsWith('.gguf'));
  } catch (cause) {
    throw new ModelError('unreadable', `The folder ${spec} cannot be read.`, { cause });
  }
  const [name, ...others] = names;
  if (name === undefined) {
    throw new ModelError('not_found', `The folder ${spec} has no .gguf file.`);
  }
  if (others.length > 0) {
    throw new ModelError('ambiguous', `The folder ${spec} has ${names.length} .gguf files.`);
  }
  return join(folder, name);
}

function describe(file: GgufFile): LoadedModel {
  const metadata = new Metadata(file.metadata);
  const { shape, contextLength } = architectureFrom(metadata, file.tensors, ropeFactors(file));
  const tokenizer = tokenizerOf(metadata, file.path);
  if (tokenizer.vocabularySize > shape.vocabulary) {
    throw new ModelError(
      'corrupt',
      `the tokenizer has ${tokenizer.vocabularySize} tokens, the embedding only ${shape.vocabulary} rows.`,
    );
  }
  const chatTemplate = metadata.optionalString('tokenizer.chat_template');
  return {
    name: metadata.optionalString('general.name') || basename(file.path, '.gguf'),
    path: file.path,
    weightsPath: file.path,
    shape,
    tensors: file.tensors,
    tokenizer,
    ...(chatTemplate && { chatTemplate }),
    eosIds: [...new Set([...tokenizer.eosIds, ...eosIdsBeside(file.path)])].filter(
      (id) => id < shape.vocabulary,
    ),
    contextLength,
    fileBytes: file.fileBytes,
    sha256: () => sha256OfFile(file.path),
    synthetic: metadata.optionalBoolean('mxbench.synthetic') ?? false,
    quantisation: quantisationOf(file.tensors),
    parameters: file.tensors.reduce((sum, { shape: extents }) => sum + product(extents), 0),
  };
}

/** The file's own tokenizer; where we cannot use it, that of a tokenizer.json beside the file. */
function tokenizerOf(metadata: Metadata, path: string): Tokenizer {
  try {
    return tokenizerFrom(metadata);
  } catch (error) {
    const json = join(dirname(path), 'tokenizer.json');
    if (!statSync(json, { throwIfNoEntry: false })) throw error;
    return tokenizerFromJson(json);
  }
}

function product(extents: readonly number[]): number {
  return extents.reduce((result, extent) => result * extent, 1);
}

/** Types that hold at least a thousandth of the bytes, the largest share first: norms do not count. */
function quantisationOf(tensors: readonly TensorLocation[]): string {
  const bytes = new Map<string, number>();
  for (const { type, lengthBytes } of tensors) {
    bytes.set(type, (bytes.get(type) ?? 0) + lengthBytes);
  }
  const total = [...bytes.values()].reduce((sum, share) => sum + share, 0);
  return [...bytes]
    .filter(([, share]) => share * 1000 >= total)
    .sort(([, a], [, b]) => b - a)
    .map(([type]) => type)
    .join(' + ');
}

/** Llama 3's long-context scaling: divisors of the rotation frequencies, as a small F32 tensor. */
function ropeFactors(file: GgufFile): Float32Array | undefined {
  const tensor = file.tensors.find(({ name }) => name === 'rope_freqs.weight');
  if (!tensor) return undefined;
  if (tensor.type !== 'F32' || tensor.lengthBytes > 4096) {
    throw new ModelError('corrupt', 'rope_freqs.weight is not a short F32 vector.');
  }
  const bytes = Buffer.alloc(tensor.lengthBytes);
  const fd = openSync(file.path, 'r');
  try {
    readSync(fd, bytes, 0, bytes.length, tensor.offsetBytes);
  } finally {
    closeSync(fd);
  }
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
}

const generationConfigSchema = z.looseObject({
  eos_token_id: z.union([z.int().nonnegative(), z.array(z.int().nonnegative())]).optional(),
});

function eosIdsBeside(path: string): number[] {
  const config = join(dirname(path), 'generation_config.json');
  if (!statSync(config, { throwIfNoEntry: false })) return [];
  try {
    const { eos_token_id: ids = [] } = generationConfigSchema.parse(
      JSON.parse(readFileSync(config, 'utf8')),
    );
    return typeof ids === 'number' ? [ids] : ids;
  } catch (cause) {
    throw new ModelError('corrupt', `${config} is not a valid generation_config.json.`, { cause });
  }
}
