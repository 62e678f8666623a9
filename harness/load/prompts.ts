// Prompts from a seed, and nothing else: the same seed gives the same prompts on every machine, so both arms of a pair
// can be given the same work, and no two requests of a run share a prefix that a cache could keep. Pure.
import { createHash } from 'node:crypto';
import { seededRandom } from '../stats/random.ts';

/** What one request asks. Token ids are sent as they are; text goes through the server's tokenizer. */
export type Prompt =
  | { tokenIds: readonly number[] }
  | { text: string /** Where known: what usage.prompt_tokens must be. */; promptTokens?: number };

/** What a prompt depends on; two prompts that differ in any of it share no KV block. */
export interface PromptKey {
  seed: number;
  pair: number;
  concurrency: number;
  index: number;
}

export interface Vocabulary {
  /** Ids run from 0 to size - 1. */
  size: number;
  /** Special tokens, and any other id that must not occur in a prompt. */
  excludedIds: readonly number[];
}

/** The usual KV block of paged attention: a shared prefix of fewer tokens cannot be cached. */
export const KV_BLOCK_TOKENS = 16;
/** Fewer usable ids could not keep the first blocks of many prompts apart. */
const MIN_USABLE_IDS = 16;

/** Makes the function that draws prompts of exactly `tokens` ids. Throws a RangeError on a vocabulary too small to do so. */
export function tokenPrompts(
  vocabulary: Vocabulary,
  tokens: number,
): (key: PromptKey) => { tokenIds: number[] } {
  const excluded = new Set(vocabulary.excludedIds.filter((id) => id >= 0 && id < vocabulary.size));
  const usable = vocabulary.size - excluded.size;
  if (!Number.isInteger(vocabulary.size) || usable < MIN_USABLE_IDS) {
    throw new RangeError(
      `The vocabulary leaves ${usable} usable token ids; at least ${MIN_USABLE_IDS} are needed.`,
    );
  }
  if (!Number.isInteger(tokens) || tokens < 1) {
    throw new RangeError(
      `A prompt of ${tokens} tokens cannot be made; give a whole number from 1.`,
    );
  }
  return (key) => ({ tokenIds: drawIds(key, tokens, vocabulary.size, excluded) });
}

function drawIds(key: PromptKey, tokens: number, size: number, excluded: ReadonlySet<number>) {
  const random = seededRandom(key.seed, 'prompt', key.pair, key.concurrency, key.index);
  const ids: number[] = [];
  while (ids.length < tokens) {
    const id = random.below(size);
    if (!excluded.has(id)) ids.push(id);
  }
  return ids;
}

/** Two prompts of this list that begin with the same KV block, or undefined when none do. */
export function sharedPrefix(prompts: readonly Prompt[]): [number, number] | undefined {
  const seen = new Map<string, number>();
  for (const [index, prompt] of prompts.entries()) {
    const block =
      'text' in prompt
        ? prompt.text.slice(0, KV_BLOCK_TOKENS)
        : prompt.tokenIds.slice(0, KV_BLOCK_TOKENS).join(',');
    const earlier = seen.get(block);
    if (earlier !== undefined) return [earlier, index];
    seen.set(block, index);
  }
  return undefined;
}

/** Sha256 (hex) over all prompts in order: equal exactly when the work is equal. */
export function hashPrompts(prompts: Iterable<Prompt>): string {
  const hash = createHash('sha256');
  for (const prompt of prompts) {
    hash.update(JSON.stringify('text' in prompt ? prompt.text : prompt.tokenIds));
    hash.update('\n');
  }
  return hash.digest('hex');
}
