import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SseParser } from './sse-parser.ts';

interface Seen {
  events: { type: string; data: string; stampNs: number }[];
  invalid: string[];
  unfinishedBytes: number;
}

/** Parses the reads; the stamp of a read is its index. */
function parse(reads: readonly Buffer[], maxEventBytes?: number): Seen {
  const seen: Seen = { events: [], invalid: [], unfinishedBytes: 0 };
  const parser = new SseParser(
    {
      event: (type, data, stampNs) => seen.events.push({ type, data, stampNs }),
      invalid: (message) => seen.invalid.push(message),
    },
    maxEventBytes,
  );
  for (const [index, read] of reads.entries()) parser.push(read, index);
  seen.unfinishedBytes = parser.unfinishedBytes();
  return seen;
}

function dataOf(text: string): string[] {
  return parse([Buffer.from(text)]).events.map(({ data }) => data);
}

test('every split of every framing gives the same events', () => {
  const framings = ['\n', '\r', '\r\n'].map((end) =>
    [
      '\ufeff: a comment',
      'event: first',
      'data: {"text":"é漢🎉\u2028"}',
      '',
      ':',
      'data:two',
      'data: lines',
      'id: 1',
      '',
      'data',
      '',
      '',
    ].join(end),
  );
  for (const framing of framings) {
    const bytes = Buffer.from(framing);
    const whole = parse([bytes]).events.map(({ type, data }) => [type, data]);
    assert.deepEqual(whole, [
      ['first', '{"text":"é漢🎉\u2028"}'],
      ['', 'two\nlines'],
      ['', ''],
    ]);
    for (let at = 0; at <= bytes.length; at += 1) {
      const halves = parse([bytes.subarray(0, at), bytes.subarray(at)]);
      assert.deepEqual(
        halves.events.map(({ type, data }) => [type, data]),
        whole,
        `split at ${at}`,
      );
    }
    const single = parse(Array.from(bytes, (byte) => Buffer.from([byte])));
    assert.deepEqual(
      single.events.map(({ type, data }) => [type, data]),
      whole,
    );
  }
});

test('any text survives any framing and any reads', () => {
  const line = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n]/g, ''));
  fc.assert(
    fc.property(
      fc.array(fc.array(line, { minLength: 1, maxLength: 3 }), { maxLength: 5 }),
      fc.constantFrom('\n', '\r', '\r\n'),
      fc.array(fc.nat({ max: 40 }), { minLength: 1 }),
      (events, end, sizes) => {
        const bytes = Buffer.from(
          events.map((lines) => lines.map((l) => `data: ${l}${end}`).join('') + end).join(''),
        );
        const reads: Buffer[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const size = 1 + (sizes[turn % sizes.length] ?? 0);
          reads.push(bytes.subarray(at, at + size));
          at += size;
        }
        const seen = parse(reads).events.map(({ data }) => data);
        assert.deepEqual(
          seen,
          events.map((lines) => lines.join('\n')),
        );
      },
    ),
  );
});

test('an event carries the stamp of the read that completed it', () => {
  const reads = ['data: a', '\n', '\ndata: b\n\ndata: c\n', '\n'].map((read) => Buffer.from(read));
  assert.deepEqual(
    parse(reads).events.map(({ data, stampNs }) => [data, stampNs]),
    [
      ['a', 2],
      ['b', 2],
      ['c', 3],
    ],
  );
});

test('a CR completes an event without waiting for what might be its LF', () => {
  const reads = ['data: a\r\n\r', '\ndata: b\r\r', '\n'].map((read) => Buffer.from(read));
  assert.deepEqual(
    parse(reads).events.map(({ data, stampNs }) => [data, stampNs]),
    [
      ['a', 0],
      ['b', 1],
    ],
  );
});

test('only the first space after the colon is framing', () => {
  assert.deepEqual(dataOf('data:  two\n\ndata:\tx\n\ndata: \n\n'), [' two', '\tx', '']);
});

test('fields that only begin like data are not data', () => {
  assert.deepEqual(dataOf('database: x\n\ndat: y\n\n data: z\n\nDATA: z\n\n'), []);
});

test('an event without data is none, and its type does not leak into the next', () => {
  const { events } = parse([Buffer.from('event: ping\n\ndata: a\n\n')]);
  assert.deepEqual(events, [{ type: '', data: 'a', stampNs: 0 }]);
});

test('half of a byte order mark is text, and a second mark is not skipped', () => {
  assert.deepEqual(parse([Buffer.from([0xef]), Buffer.from('data: a\n\n')]).events, []);
  assert.deepEqual(dataOf('\ufeffdata: a\n\ndata: \ufeffb\n\n'), ['a', '\ufeffb']);
});

test('what is left unfinished is counted, a comment is not', () => {
  assert.equal(parse([Buffer.from('data: a\n\n')]).unfinishedBytes, 0);
  assert.equal(parse([Buffer.from('data: a\n\n: bye')]).unfinishedBytes, 0);
  assert.ok(parse([Buffer.from('data: a\n')]).unfinishedBytes > 0);
  assert.ok(parse([Buffer.from('data: a\n\ndat')]).unfinishedBytes > 0);
});

test('an event beyond the bound ends the stream, with or without line ends', () => {
  for (const filler of ['x'.repeat(90), 'x\ndata: '.repeat(40)]) {
    const seen = parse([Buffer.from('data: ok\n\n'), Buffer.from(`data: ${filler}`)], 64);
    const after = parse([Buffer.from(`data: ${filler}`), Buffer.from('\n\ndata: late\n\n')], 64);
    assert.equal(seen.invalid.length, 1);
    assert.match(seen.invalid[0] ?? '', /64 bytes/);
    assert.deepEqual(after.events, []);
    assert.equal(after.invalid.length, 1);
  }
});

test('bytes that are not UTF-8 are refused, a true replacement character is not', () => {
  assert.deepEqual(dataOf('data: \ufffd\n\n'), ['\ufffd']);
  const bad = parse([Buffer.from([...Buffer.from('data: '), 0xc3, 0x28, 0x0a, 0x0a])]);
  assert.deepEqual(bad.events, []);
  assert.match(bad.invalid[0] ?? '', /not UTF-8/);
});
