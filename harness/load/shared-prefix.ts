// Prompts that share beginnings on purpose, as chats with one system prompt do: groups of requests with the same prefix
// and a suffix of their own. For measuring a prefix cache; the cold-cache rule must be switched off with it. Pure.
import { seededRandom } from '../stats/random.ts';
import { tokenPrompts, type Vocabulary } from './prompts.ts';

export interface SharedPrefixShape {
  /** How many different prefixes. */
  groups: number;
  prefixTokens: number;
  /** Tokens of each request's own ending. */
  suffixTokens: number;
}

/** The function that gives request `index` its prompt; the group is drawn from the seed, each equally likely. */
export function sharedPrefixPrompts(
  vocabulary: Vocabulary,
  shape: SharedPrefixShape,
  seed: number,
): (index: number) => { tokenIds: number[]; group: number } {
  const { groups, prefixTokens, suffixTokens } = shape;
  if (!Number.isInteger(groups) || groups < 1) {
    throw new RangeError(`There are ${groups} groups of prefixes; give a whole number from 1.`);
  }
  const drawPrefix = tokenPrompts(vocabulary, prefixTokens);
  const drawSuffix = tokenPrompts(vocabulary, suffixTokens);
  // Prefixes and suffixes are keys of two domains, so that no suffix repeats a prefix.
  const prefixes = Array.from({ length: groups }, (_, index) =>
    drawPrefix({ seed, pair: -1, concurrency: -1, index }),
  );
  return (index) => {
    const group = seededRandom(seed, 'group', index).below(groups);
    const suffix = drawSuffix({ seed, pair: -2, concurrency: -2, index });
    return { tokenIds: [...(prefixes[group]?.tokenIds ?? []), ...suffix.tokenIds], group };
  };
}
