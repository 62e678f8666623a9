import assert from 'node:assert/strict';
import { test } from 'node:test';
import { datasetPrompts } from './dataset.ts';
import { KV_BLOCK_TOKENS, sharedPrefix } from './prompts.ts';
import { sharedPrefixPrompts } from './shared-prefix.ts';

test('the first question of a conversation, of messages and of a plain prompt', () => {
  const lines = [
    {
      conversations: [
        { from: 'gpt', value: 'hi' },
        { from: 'human', value: 'why?' },
      ],
    },
    {
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'how?' },
        { role: 'assistant', content: 'so' },
      ],
    },
    { prompt: 'what?', completion: 'that' },
  ];
  const prompts = datasetPrompts(`${lines.map((line) => JSON.stringify(line)).join('\n')}\n\n`);
  assert.deepEqual(prompts, [
    { text: 'why?' },
    { text: 'how?', answerCharacters: 2 },
    { text: 'what?', answerCharacters: 4 },
  ]);
});

test('U+2028 and CR inside and around lines split nothing', () => {
  const prompts = datasetPrompts('{"prompt":"a\u2028b"}\r\n{"prompt":"c"}');
  assert.deepEqual(
    prompts.map(({ text }) => text),
    ['a\u2028b', 'c'],
  );
});

test('a line that is not of a data set is named with its number', () => {
  assert.throws(() => datasetPrompts('{"prompt":"a"}\n{"x":1}'), {
    code: 'INVALID_FILE',
    message: /Line 2 .*\{"x":1\}/,
  });
  assert.throws(() => datasetPrompts('nope'), {
    code: 'INVALID_FILE',
    message: /Line 1.*not JSON/,
  });
});

test('a data set without any question is refused', () => {
  for (const empty of ['', '{"conversations":[]}', '{"prompt":"  "}']) {
    assert.throws(() => datasetPrompts(empty), { code: 'INVALID_FILE' });
  }
});

test('shared prefixes are shared within a group and nowhere else', () => {
  const shape = { groups: 3, prefixTokens: 32, suffixTokens: 16 };
  const draw = sharedPrefixPrompts({ size: 1000, excludedIds: [] }, shape, 7);
  const prompts = Array.from({ length: 60 }, (_, index) => draw(index));
  const prefixes = new Map<number, string>();
  for (const { tokenIds, group } of prompts) {
    assert.equal(tokenIds.length, 48);
    const prefix = tokenIds.slice(0, 32).join();
    assert.equal(prefixes.get(group) ?? prefix, prefix);
    prefixes.set(group, prefix);
  }
  assert.equal(new Set(prefixes.values()).size, 3);
  const suffixes = prompts.map(({ tokenIds }) => ({ tokenIds: tokenIds.slice(-KV_BLOCK_TOKENS) }));
  assert.equal(sharedPrefix(suffixes), undefined);
  assert.deepEqual(draw(5), draw(5));
});

test('an impossible shape is refused', () => {
  const shape = { groups: 0, prefixTokens: 32, suffixTokens: 16 };
  assert.throws(() => sharedPrefixPrompts({ size: 1000, excludedIds: [] }, shape, 7), /0 groups/);
});
