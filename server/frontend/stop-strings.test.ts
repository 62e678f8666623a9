import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { StopMatcher } from './stop-strings.ts';

/** Feeds the text in the given pieces; what was shown, and the stop. */
function run(
  stops: string[],
  pieces: readonly string[],
  include = false,
): { shown: string[]; stop: string | undefined } {
  const matcher = new StopMatcher(stops, include);
  const shown: string[] = [];
  for (const piece of pieces) {
    const { text, stop } = matcher.push(piece);
    shown.push(text);
    if (stop !== undefined) return { shown, stop };
  }
  shown.push(matcher.flush());
  return { shown, stop: undefined };
}

/** What reading character by character finds: the plainest definition. */
function plain(stops: readonly string[], text: string, include: boolean): string {
  for (let end = 1; end <= text.length; end += 1) {
    const ended = stops.filter((stop) => text.slice(0, end).endsWith(stop));
    const longest = Math.max(...ended.map(({ length }) => length));
    if (ended.length > 0) return text.slice(0, include ? end : end - longest);
  }
  return text;
}

const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 24 });
const stopStrings = fc.array(
  fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 5 }),
  {
    minLength: 1,
    maxLength: 4,
  },
);

test('the shown text is what reading character by character gives, wherever the pieces are cut', () => {
  fc.assert(
    fc.property(
      fc.array(letters, { maxLength: 8 }),
      stopStrings,
      fc.boolean(),
      (pieces, stops, include) => {
        const { shown } = run(stops, pieces, include);
        assert.equal(shown.join(''), plain(stops, pieces.join(''), include));
      },
    ),
    { numRuns: 3000 },
  );
});

test('nothing that could still become a stop string is shown, and nothing else is held back', () => {
  fc.assert(
    fc.property(fc.array(letters, { maxLength: 8 }), stopStrings, (pieces, stops) => {
      const matcher = new StopMatcher(stops, false);
      let given = '';
      let shown = '';
      for (const piece of pieces) {
        given += piece;
        const { text, stop } = matcher.push(piece);
        shown += text;
        if (stop !== undefined) return;
        const held = given.slice(shown.length);
        const starts = (end: string) =>
          stops.some((each) => each.length > end.length && each.startsWith(end));
        assert.ok(held === '' || starts(held), 'what is held could become a stop string');
        for (let at = 0; at < shown.length; at += 1) {
          assert.ok(!starts(given.slice(at)), 'what is shown cannot become a stop string');
        }
      }
    }),
    { numRuns: 1000 },
  );
});

test('a stop string over many pieces is found and none of it is shown', () => {
  const { shown, stop } = run(['DEFGHIJ'], ['ABC', 'DEF', 'G', 'HI', 'J', 'KLM']);
  assert.deepEqual(shown, ['ABC', '', '', '', '']);
  assert.equal(stop, 'DEFGHIJ');
});

test('text that only looked like a stop string is shown at the end', () => {
  assert.deepEqual(run(['END!'], ['the EN', 'D']).shown, ['the ', '', 'END']);
});
