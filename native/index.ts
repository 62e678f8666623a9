// The only file that loads the addon: its types, argument checks and errors. Everything that crosses does so
// once a step, as typed arrays; C++ asserts what is checked here.
import { createRequire } from 'node:module';

export const ISAS = ['portable', 'avx2', 'avx512'] as const;
export type IsaName = (typeof ISAS)[number];
export const ACTIVATIONS = ['f32', 'bf16', 'int8'] as const;
export type ActivationName = (typeof ACTIVATIONS)[number];
export const KV_FORMATS = ['bf16', 'f32'] as const;
export type KvFormatName = (typeof KV_FORMATS)[number];
export const TENSOR_TYPES = ['F32', 'F16', 'BF16', 'Q8_0', 'MXFP4'] as const;
export type TensorTypeName = (typeof TENSOR_TYPES)[number];

/** The shape of a dense decoder (Llama, Qwen3). Widths in elements. */
export interface ModelShape {
  architecture: 'llama' | 'qwen3';
  layers: number;
  width: number;
  heads: number;
  kvHeads: number;
  headWidth: number;
  feedForwardWidth: number;
  vocabulary: number;
  normEpsilon: number;
  /** Rotation frequency of each pair (i, i + headWidth/2), headWidth/2 of them, scaling already applied. */
  ropeFrequencies: Float64Array;
  /** Factor on cosines and sines (YaRN's attention factor); 1 without. */
  ropeAmplitude: number;
  /** Rows of Q and K of each head are stored as neighbouring pairs (GGUF's llama), not as two halves. */
  ropeInterleaved: boolean;
}

/** Where one tensor lies in the weights file; shape in row-major order, [rows, columns] or [columns]. */
export interface TensorLocation {
  /** GGUF name, such as "blk.0.attn_q.weight". */
  name: string;
  type: TensorTypeName;
  shape: readonly number[];
  offsetBytes: number;
  lengthBytes: number;
}

export interface EngineOptions {
  /** File that holds every tensor; it is mapped, never read whole. */
  weightsPath: string;
  shape: ModelShape;
  tensors: readonly TensorLocation[];
  activations: ActivationName;
  /** 'auto' takes the best that this CPU has. */
  isa: IsaName | 'auto';
  /** Kernel threads, the calling thread among them. */
  threads: number;
  kvFormat: KvFormatName;
  /** KV blocks of 16 tokens over all sequences; memory is kvBlocks x kvBlockBytes. */
  kvBlocks: number;
  maxTokensPerStep: number;
  maxSequences: number;
  /** Longest sequence in tokens. */
  maxModelLength: number;
}

/** One step's plan in native form; arrays may be longer than the counts say and are reused. */
export interface StepInput {
  tokenCount: number;
  /** T token ids, sequences one after another. */
  tokens: Int32Array;
  sequenceCount: number;
  /** B + 1: sequence b owns tokens[queryStart[b] .. queryStart[b + 1]). */
  queryStart: Int32Array;
  /** B: position of the sequence's first token of this step. */
  firstPosition: Int32Array;
  /** B rows of blockTableStride block ids; enough of them to cover the sequence's last position. */
  blockTables: Int32Array;
  blockTableStride: number;
  /** Token indices (ascending) whose logits are wanted; row i of the logits belongs to logitRows[i]. */
  logitRowCount: number;
  logitRows: Int32Array;
}

/** How each logit row of the last forward() is sampled; R entries each. temperature 0 is greedy. */
export interface SampleInput {
  rowCount: number;
  temperature: Float32Array;
  /** 0 = off. */
  topK: Int32Array;
  /** 1 = off. */
  topP: Float32Array;
  /** 0 = off. */
  minP: Float32Array;
  /** Two 32-bit words a row: the request's seed. */
  seed: Uint32Array;
  /** How many tokens the request has drawn so far; with the seed it fixes the random number. */
  drawIndex: Int32Array;
}

export interface EngineInfo {
  isa: IsaName;
  activations: ActivationName;
  threads: number;
  kvFormat: KvFormatName;
  weightBytes: number;
  kvBytes: number;
  kvBlockBytes: number;
}

/** Failures of the native side, each with a code that callers match. */
export type NativeErrorCode =
  | 'ADDON_MISSING'
  | 'BAD_ARGUMENT'
  | 'BAD_MODEL'
  | 'OUT_OF_MEMORY'
  | 'ISA_UNAVAILABLE'
  | 'FILE';

export class NativeError extends Error {
  readonly code: NativeErrorCode;
  readonly hint: string;
  constructor(code: NativeErrorCode, message: string, hint: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'NativeError';
    this.code = code;
    this.hint = hint;
  }
}

/** One loaded model with its KV cache and kernel threads. Calls block the calling thread. */
export interface NativeEngine {
  readonly info: EngineInfo;
  /** Runs the model over the plan and leaves logits for the wanted rows. */
  forward(step: StepInput): void;
  /** A view of row `row`'s V logits, valid until the next forward(); writing to it changes what sample() sees. */
  logits(row: number): Float32Array;
  /** Writes one token id a row into `tokens`; -1 where the largest logit is not finite (a broken model). */
  sample(input: SampleInput, tokens: Int32Array): void;
  close(): void;
}

interface Addon {
  bestIsa(): IsaName;
  availableIsas(): IsaName[];
  /** Names the calling thread as perf and /proc show it (15 bytes). */
  nameThread(name: string): void;
  /** CLOCK_MONOTONIC in ns. */
  monotonicNs(): number;
  createEngine(options: EngineOptions): NativeEngine;
}

const HINTS: Record<NativeErrorCode, string> = {
  ADDON_MISSING: 'Build it with: npm run build',
  BAD_ARGUMENT: 'This is a bug in the caller; please report it with the message.',
  BAD_MODEL: 'Convert or download the model again, or name another one.',
  OUT_OF_MEMORY: 'Lower --kv-memory, --max-num-seqs or --max-model-len.',
  ISA_UNAVAILABLE: 'Leave --isa out to take the best that this CPU has.',
  FILE: 'Check the path and its permissions.',
};

/** The native error as NativeError with its hint; anything else as it came. */
function named(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  const code = error.code;
  if (typeof code !== 'string' || !Object.hasOwn(HINTS, code)) return error;
  const known = code as NativeErrorCode;
  return new NativeError(known, error.message, HINTS[known], { cause: error });
}

let loaded: Addon | undefined;

/** Loads the addon on first use; a missing build is NativeError ADDON_MISSING. */
export function loadAddon(): Addon {
  if (loaded) return loaded;
  try {
    const require = createRequire(import.meta.url);
    loaded = require('../../native/build/mxbench.node') as Addon;
    return loaded;
  } catch (cause) {
    const message = 'The native addon could not be loaded.';
    throw new NativeError('ADDON_MISSING', message, HINTS.ADDON_MISSING, { cause });
  }
}

const POSITIVE_INTEGERS = [
  'threads',
  'kvBlocks',
  'maxTokensPerStep',
  'maxSequences',
  'maxModelLength',
] as const;
const POSITIVE_SHAPE = [
  'layers',
  'width',
  'heads',
  'kvHeads',
  'headWidth',
  'feedForwardWidth',
  'vocabulary',
] as const;
const LARGEST = 2 ** 31 - 1;

function requirePositiveInteger(name: string, value: number): void {
  if (Number.isInteger(value) && value > 0 && value <= LARGEST) return;
  throw new NativeError(
    'BAD_ARGUMENT',
    `${name} is ${value}; it must be an integer from 1 to ${LARGEST}.`,
    HINTS.BAD_ARGUMENT,
  );
}

/**
 * Maps and packs the weights and starts the kernel threads. NativeError BAD_MODEL names the tensor that
 * is missing or misshapen; OUT_OF_MEMORY, ISA_UNAVAILABLE and FILE say what they say.
 */
export function createEngine(options: EngineOptions): NativeEngine {
  for (const name of POSITIVE_INTEGERS) requirePositiveInteger(name, options[name]);
  for (const name of POSITIVE_SHAPE) requirePositiveInteger(name, options.shape[name]);
  try {
    return loadAddon().createEngine(options);
  } catch (error) {
    throw named(error);
  }
}
