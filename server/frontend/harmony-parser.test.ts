import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ChatPart } from './chat-parser.ts';
import { HarmonyParser } from './harmony-parser.ts';

function parse(pieces: readonly string[]): ChatPart[] {
  const parser = new HarmonyParser();
  const joined: ChatPart[] = [];
  for (const part of [...pieces.flatMap((piece) => parser.push(piece)), ...parser.finish()]) {
    const last = joined.at(-1);
    if (part.kind !== 'tool' && last?.kind === part.kind) last.text += part.text;
    else joined.push({ ...part });
  }
  return joined;
}

const THOUGHT = '<|channel|>analysis<|message|>Let me see.<|end|>';
const FINAL = '<|start|>assistant<|channel|>final<|message|>It is 4.';
const CALL =
  '<|start|>assistant<|channel|>commentary to=functions.add <|constrain|>json<|message|>{"a":2}<|call|>';

test('analysis is reasoning, the final channel is content, a recipient makes a call', () => {
  assert.deepEqual(parse([THOUGHT + FINAL]), [
    { kind: 'reasoning', text: 'Let me see.' },
    { kind: 'content', text: 'It is 4.' },
  ]);
  assert.deepEqual(parse([THOUGHT + CALL]), [
    { kind: 'reasoning', text: 'Let me see.' },
    { kind: 'tool', name: 'add', argumentsJson: '{"a":2}' },
  ]);
});

test('a recipient before the channel, a preamble and several messages are understood', () => {
  const early = ' to=functions.f<|channel|>commentary<|message|>{}';
  assert.deepEqual(parse([early]), [{ kind: 'tool', name: 'f', argumentsJson: '{}' }]);
  const preamble = '<|channel|>commentary<|message|>First I add.<|end|>';
  assert.deepEqual(parse([preamble + CALL]), [
    { kind: 'content', text: 'First I add.' },
    { kind: 'tool', name: 'add', argumentsJson: '{"a":2}' },
  ]);
});

test('a reply that is cut short, or that has no channels, loses no text', () => {
  assert.deepEqual(parse(['<|channel|>analysis<|message|>half a thou']), [
    { kind: 'reasoning', text: 'half a thou' },
  ]);
  assert.deepEqual(parse(['plain text']), [{ kind: 'content', text: 'plain text' }]);
  assert.deepEqual(parse(['<|channel|>anal']), []);
  const cut = '<|channel|>commentary to=functions.f<|message|>{"a":';
  assert.deepEqual(parse([cut]), [{ kind: 'content', text: '{"a":' }]);
});

test('no mark ever shows, wherever the text is cut into pieces', () => {
  const fragment = fc.constantFrom(THOUGHT, FINAL, CALL, '<|end|>', '<|start|>', 'text', '<|', '<');
  fc.assert(
    fc.property(fc.array(fragment, { maxLength: 8 }), fc.array(fc.nat(300)), (fragments, at) => {
      const text = fragments.join('');
      const cuts = at.filter((cut) => cut < text.length).sort((a, b) => a - b);
      const borders = [0, ...cuts, text.length];
      const pieces = borders.slice(1).map((end, index) => text.slice(borders[index], end));
      const parts = parse(pieces);
      assert.deepEqual(parts, parse([text]));
      for (const part of parts) {
        if (part.kind !== 'tool') assert.doesNotMatch(part.text, /<\|\w+\|>/);
      }
    }),
    { numRuns: 1000 },
  );
});
