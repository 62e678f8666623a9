import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { PerfScriptParser, parseFrame, type Sample } from './perf-script-parser.ts';

const fixture = (name: string) =>
  readFileSync(new URL(`../../../harness/attribution/fixtures/${name}`, import.meta.url));

function parse(text: Buffer | string, chunk = Infinity) {
  const samples: Sample[] = [];
  const parser = new PerfScriptParser((sample) => samples.push(sample));
  const data = Buffer.from(text);
  for (let i = 0; i < data.length; i += Math.min(chunk, data.length))
    parser.push(data.subarray(i, i + Math.min(chunk, data.length)));
  return { samples, counts: parser.end() };
}

test('every line of our recorded profiles is understood', () => {
  for (const name of ['known-duty.perf.txt', 'node-front-end.perf.txt']) {
    const { samples, counts } = parse(fixture(name));
    assert.equal(counts.badLines, 0, counts.firstBad.join('\n'));
    assert.ok(samples.length > 10);
    for (const sample of samples) {
      assert.equal(sample.event, 'cpu-clock');
      assert.equal(sample.period, 1_001_001);
      assert.ok(sample.frames.length > 0);
    }
  }
});

test('chunks may end anywhere, even inside a character', () => {
  const whole = parse(fixture('node-front-end.perf.txt')).samples;
  assert.deepEqual(parse(fixture('node-front-end.perf.txt'), 7).samples, whole);
});

test('times keep nine digits', () => {
  const { samples } = parse(
    '1/2 [000] 123456.000000789:    1001001 cpu-clock: \n\t1 f+0x0 (/a)\n\n',
  );
  assert.equal(samples[0]?.timeNs, 123_456_000_000_789);
});

const frames: [string, string, string][] = [
  [
    '\t  1f std::locale::id::_M_id() const+0x3 (/lib/libstdc++.so.6)',
    'std::locale::id::_M_id() const',
    '/lib/libstdc++.so.6',
  ],
  ['\t  1f foo+0x1b ([JIT app cache])', 'foo', '[JIT app cache]'],
  [
    '\t  1f (anonymous namespace)::Engine<int (*)(char)>::operator bool+0x1b (/opt/my server/bin)',
    '(anonymous namespace)::Engine<int (*)(char)>::operator bool',
    '/opt/my server/bin',
  ],
  [
    '\t  1f non-virtual thunk to X::f(uv_buf_t**, unsigned long*)+0x26 (/usr/bin/node)',
    'non-virtual thunk to X::f(uv_buf_t**, unsigned long*)',
    '/usr/bin/node',
  ],
  [
    '\t 7f88a40ed9d0 JS:*fn file:///p/server.mjs:14:21+0x210 (/tmp/perf-11794.map)',
    'JS:*fn file:///p/server.mjs:14:21',
    '/tmp/perf-11794.map',
  ],
  ['\t 7f1 [unknown] ([unknown])', '[unknown]', '[unknown]'],
  ['\t 0x7f1 foo+0x0 (/tmp/odd)dir/x)', 'foo', '/tmp/odd)dir/x'],
  [
    '\tffffffff81000130 entry_SYSCALL_64_after_hwframe+0x76 ([kernel.kallsyms])',
    'entry_SYSCALL_64_after_hwframe',
    '[kernel.kallsyms]',
  ],
];
for (const [line, symbol, dso] of frames)
  test(`the frame "${line.trim().slice(0, 60)}" is split at its last balanced group`, () => {
    const frame = parseFrame(line);
    assert.equal(frame?.symbol, symbol);
    assert.equal(frame?.dso, dso);
  });

test('a deleted binary is marked and an inlined frame has no binary', () => {
  const gone = parseFrame('\t  1f foo(int)+0x1b (/opt/server (deleted))');
  assert.deepEqual([gone?.dso, gone?.deleted], ['/opt/server', true]);
  const inlined = parseFrame('\t  1f std::min<int> (inlined)');
  assert.deepEqual([inlined?.symbol, inlined?.inlined], ['std::min<int>', true]);
});

test('hybrid and modified event names hold slashes and colons', () => {
  for (const event of ['cpu_core/cycles/', 'cpu-clock:ppp', 'cycles:u', 'cpu_atom/cycles/P']) {
    const { samples } = parse(`12/13 [001] 5.000000001: 7 ${event}: \n\t1 f+0x0 (/a)\n\n`);
    assert.equal(samples[0]?.event, event);
  }
});

test('output without time or period is refused with what to ask for', () => {
  assert.throws(() => parse('12/13 [001] 1001001 cpu-clock: \n'), /or one of pid,tid,cpu,time/);
  assert.throws(() => parse('12/13 [001] 5.000001: 7 cycles: \n'), /--ns/);
});

test('lines that belong to nothing are counted and shown, not lost', () => {
  const { counts, samples } = parse('\t1 f+0x0 (/a)\nwhat is this\n1/1 [000] 1.000000000: 5 e: \n');
  assert.equal(counts.badLines, 2);
  assert.equal(counts.firstBad[1], 'what is this');
  assert.equal(samples.length, 1);
});
