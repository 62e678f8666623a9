// How many KV blocks the server gets and how long a sequence may be, from the model's shape, the flags and the memory
// that is free. Pure arithmetic.
import type { KvFormatName, ModelShape } from '../../native/index.ts';
import { ServerError } from '../errors.ts';
import { BLOCK_TOKENS } from '../scheduler/sequence.ts';

export interface MemoryWish {
  shape: Pick<ModelShape, 'layers' | 'kvHeads' | 'headWidth'>;
  kvFormat: KvFormatName;
  maxSequences: number;
  /** The model's own context, in tokens. */
  contextLength: number;
  /** Asked for by the user; undefined takes what fits. */
  maxModelLength: number | undefined;
  kvBytes: number | undefined;
  freeBytes: number;
}

export interface MemoryPlan {
  kvBlocks: number;
  maxModelLength: number;
}

/** Bytes of one block: keys and values of 16 tokens in every layer. */
export function kvBlockBytes(shape: MemoryWish['shape'], format: KvFormatName): number {
  const width = format === 'f32' ? 4 : 2;
  return shape.layers * 2 * shape.kvHeads * shape.headWidth * BLOCK_TOKENS * width;
}

/** The plan, or ServerError usage when one sequence of the length asked for does not fit. */
export function planMemory(wish: MemoryWish): MemoryPlan {
  const blockBytes = kvBlockBytes(wish.shape, wish.kvFormat);
  const longest = wish.maxModelLength ?? wish.contextLength;
  if (longest > wish.contextLength) {
    throw new ServerError(
      'usage',
      `--max-model-len ${longest}: the model's context is ${wish.contextLength} tokens; ask for at most that.`,
    );
  }
  const perSequence = Math.ceil(longest / BLOCK_TOKENS);
  const budgetBytes = wish.kvBytes ?? wish.freeBytes / 4;
  const affordable = Math.floor(budgetBytes / blockBytes);
  const kvBlocks = Math.min(affordable, perSequence * wish.maxSequences);
  if (kvBlocks >= perSequence) return { kvBlocks, maxModelLength: longest };
  if (wish.maxModelLength === undefined && kvBlocks >= 4) {
    return { kvBlocks, maxModelLength: kvBlocks * BLOCK_TOKENS };
  }
  const need = perSequence * blockBytes;
  throw new ServerError(
    'usage',
    `A sequence of ${longest} tokens needs ${need} bytes of KV memory but there are ${Math.floor(budgetBytes)}; ` +
      'give more with --kv-memory or ask for less with --max-model-len.',
  );
}
