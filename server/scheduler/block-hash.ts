// Names the content of a full KV block by everything that its keys and values depend on: all tokens up to its end
// and the salt of its cache domain. SHA-256, so that no prompt can be made to collide with another's.
import { hash } from 'node:crypto';
import { BLOCK_TOKENS, type Sequence } from './sequence.ts';

/** Hash of block `index` of the sequence; every token of the block must be known. Hashes are kept and chained. */
export function blockHash(sequence: Sequence, index: number): string {
  const { blockHashes } = sequence;
  for (let block = blockHashes.length; block <= index; block += 1) {
    const parent = blockHashes[block - 1] ?? `salt:${sequence.spec.cacheSalt ?? ''}`;
    const from = block * BLOCK_TOKENS;
    const tokens = sequence.tokens.subarray(from, from + BLOCK_TOKENS);
    blockHashes.push(hash('sha256', `${parent}:${tokens.join(',')}`, 'base64'));
  }
  return blockHashes[index] ?? '';
}
