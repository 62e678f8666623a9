import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ChatParser, type ChatParserOptions, type ChatPart } from './chat-parser.ts';

const all: ChatParserOptions = { thinks: true, opened: false, tools: true };

/** The parts with neighbours of one kind joined. */
function parse(pieces: readonly string[], options: ChatParserOptions = all): ChatPart[] {
  const parser = new ChatParser(options);
  const joined: ChatPart[] = [];
  for (const part of [...pieces.flatMap((piece) => parser.push(piece)), ...parser.finish()]) {
    const last = joined.at(-1);
    if (part.kind !== 'tool' && last?.kind === part.kind) last.text += part.text;
    else joined.push({ ...part });
  }
  return joined;
}

const call = (name: string, given: object) =>
  `<tool_call>\n${JSON.stringify({ name, arguments: given })}\n</tool_call>`;

test('thoughts, content and several calls are told apart', () => {
  const text = `<think>\nwell...</think>\n\nLet me look.${call('a', { x: 1 })}\n${call('b', {})}`;
  assert.deepEqual(parse([text]), [
    { kind: 'reasoning', text: 'well...' },
    { kind: 'content', text: 'Let me look.' },
    { kind: 'tool', name: 'a', argumentsJson: '{"x":1}' },
    { kind: 'tool', name: 'b', argumentsJson: '{}' },
  ]);
});

test('thoughts that the prompt opened need no opening tag, and may never end', () => {
  const opened = { ...all, opened: true };
  assert.deepEqual(parse(['a', 'b</thi', 'nk>c'], opened), [
    { kind: 'reasoning', text: 'ab' },
    { kind: 'content', text: 'c' },
  ]);
  assert.deepEqual(parse(['endless'], opened), [{ kind: 'reasoning', text: 'endless' }]);
});

test('a tag that comes where it means nothing is text', () => {
  assert.deepEqual(parse(['no thoughts <think>here</think>']), [
    { kind: 'content', text: 'no thoughts <think>here</think>' },
  ]);
  const none = { thinks: false, opened: false, tools: false };
  assert.deepEqual(parse([`<think>${call('a', {})}`], none), [
    { kind: 'content', text: `<think>${call('a', {})}` },
  ]);
});

test('a call that is no valid JSON, or was cut short, stays visible as content', () => {
  const broken = '<tool_call>{"name": </tool_call>';
  assert.deepEqual(parse([broken]), [{ kind: 'content', text: broken }]);
  const cut = '<tool_call>{"name":"a","argum';
  assert.deepEqual(parse(['ok ', cut]), [{ kind: 'content', text: `ok ${cut}` }]);
  assert.deepEqual(parse(['<tool_call>{"name":"a","arguments":{}}']), [
    { kind: 'tool', name: 'a', argumentsJson: '{}' },
  ]);
});

test('the parts do not depend on where the text is cut into pieces', () => {
  const fragment = fc.constantFrom(
    '<think>',
    '</think>',
    '<tool_call>',
    '</tool_call>',
    '{"name":"f"}',
    'a',
    ' ',
    '\n',
    '<',
    '</',
    'tool',
  );
  const cuts = fc.array(fc.nat(200), { maxLength: 12 });
  fc.assert(
    fc.property(
      fc.array(fragment, { maxLength: 16 }),
      cuts,
      fc.boolean(),
      (fragments, at, opened) => {
        const text = fragments.join('');
        const borders = [
          0,
          ...at.filter((cut) => cut < text.length).sort((a, b) => a - b),
          text.length,
        ];
        const pieces = borders.slice(1).map((end, index) => text.slice(borders[index], end));
        assert.deepEqual(parse(pieces, { ...all, opened }), parse([text], { ...all, opened }));
      },
    ),
    { numRuns: 3000 },
  );
});
