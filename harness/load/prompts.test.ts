import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashPrompts, KV_BLOCK_TOKENS, sharedPrefix, tokenPrompts } from './prompts.ts';

const vocabulary = { size: 32_000, excludedIds: [0, 1, 2, 31_999] };

test('a prompt has exactly the length asked for, and only usable ids', () => {
  const draw = tokenPrompts({ size: 20, excludedIds: [0, 7, 19, 500] }, 1024);
  const { tokenIds } = draw({ seed: 1, pair: 0, concurrency: 8, index: 3 });
  assert.equal(tokenIds.length, 1024);
  assert.ok(tokenIds.every((id) => id >= 0 && id < 20 && ![0, 7, 19].includes(id)));
});

test('every part of the key changes the prompt, and no two share a KV block', () => {
  const draw = tokenPrompts(vocabulary, 64);
  const prompts = [];
  for (const seed of [1, 2]) {
    for (const pair of [0, 1, 2]) {
      for (const concurrency of [1, 2, 4, 8]) {
        for (let index = 0; index < 100; index += 1) {
          prompts.push(draw({ seed, pair, concurrency, index }));
        }
      }
    }
  }
  assert.equal(prompts.length, 2400);
  assert.equal(sharedPrefix(prompts), undefined);
});

test('a shared block is found and named', () => {
  const block = Array(KV_BLOCK_TOKENS).fill(5);
  const prompts = [{ tokenIds: [...block, 1] }, { tokenIds: [1, 2] }, { tokenIds: [...block, 2] }];
  assert.deepEqual(sharedPrefix(prompts), [0, 2]);
});

test('the same key gives the same ids on every machine', () => {
  const draw = tokenPrompts(vocabulary, 8);
  const key = { seed: 42, pair: 1, concurrency: 4, index: 9 };
  assert.deepEqual(draw(key), draw({ ...key }));
  // Written down once: a change here breaks the comparison with every earlier record.
  assert.equal(hashPrompts([draw(key)]).length, 64);
  assert.deepEqual(draw(key).tokenIds, PINNED);
});

test('the ids are spread evenly over the vocabulary', () => {
  const counts = new Array<number>(16).fill(0);
  const draw = tokenPrompts({ size: 16, excludedIds: [] }, 64_000);
  for (const id of draw({ seed: 3, pair: 0, concurrency: 1, index: 0 }).tokenIds) {
    counts[id] = (counts[id] ?? 0) + 1;
  }
  const chiSquare = counts.reduce((sum, count) => sum + (count - 4000) ** 2 / 4000, 0);
  // 15 degrees of freedom: 37.7 is exceeded once in a thousand seeds, and this seed is fixed.
  assert.ok(chiSquare < 37.7, `chi square ${chiSquare}`);
});

test('the hash tells prompts apart, their order and where they are cut', () => {
  const a = { tokenIds: [1, 2] };
  const b = { tokenIds: [3] };
  const hashes = [[a, b], [b, a], [{ tokenIds: [1, 2, 3] }], [{ text: '1,2' }, b]].map(hashPrompts);
  assert.equal(new Set(hashes).size, hashes.length);
  assert.equal(hashPrompts([a, b]), hashes[0]);
});

test('a vocabulary or a length that cannot work is refused', () => {
  assert.throws(() => tokenPrompts({ size: 17, excludedIds: [1, 2] }, 8), /15 usable/);
  assert.throws(() => tokenPrompts(vocabulary, 0), /prompt of 0 tokens/);
});

const PINNED = [8534, 12969, 7623, 22418, 17674, 13326, 28039, 10049];
