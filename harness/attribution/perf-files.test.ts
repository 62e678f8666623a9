import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { addressOf, parseAddr2line, parseReadelf, sourceLines } from './addr2line.ts';
import { leftBehind, listEvidence, machineState, pruneEvidence } from './evidence.ts';
import { jsDefinition, lookUp, parsePerfMap } from './perf-map.ts';
import { parseEvlist, parseLost, perfVersion, Recording } from './perf-process.ts';
import { innermostPid } from './proc-tree.ts';
import { kallsymsVisible, missingSentence } from './rights.ts';
import { bracketTest, schedFilters } from './sched-record.ts';
import { parseSteps } from './step-source.ts';
import { buildKnownDuty } from './testing/known-duty.ts';

const folder = mkdtempSync(join(tmpdir(), 'attribution-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('of two entries at one address in a perf map the last wins, and 0x is accepted', () => {
  const map = parsePerfMap(
    '18c4000 300 Builtin:A\n0x18c4000 0x200 JS:*fn a.js:1:2\n18c5000 10 with spaces in it\n',
  );
  assert.equal(map.badLines, 0);
  assert.equal(lookUp(map, 0x18c4100), 'JS:*fn a.js:1:2');
  assert.equal(lookUp(map, 0x18c4250), undefined);
  assert.equal(lookUp(map, 0x18c5001), 'with spaces in it');
});

test('lines of a perf map that are none are counted', () => {
  const map = parsePerfMap('what\nis this\n');
  assert.deepEqual([map.entries.length, map.lines, map.badLines], [0, 2, 2]);
});

test('a JavaScript symbol tells where its function is defined and in which tier it ran', () => {
  assert.deepEqual(jsDefinition('JS:*kernelShard file:///p/server.mjs:14:21'), {
    name: 'kernelShard',
    tier: 'optimised',
    file: '/p/server.mjs',
    line: 14,
  });
  assert.deepEqual(jsDefinition('JS:~ node:net:1:2'), {
    name: '(anonymous)',
    tier: 'interpreted',
    file: 'node:net',
    line: 1,
  });
  assert.equal(jsDefinition('uv_run'), undefined);
});

test('the map of a process in a container is named by its innermost pid', () => {
  assert.equal(innermostPid('Name:\tnode\nNSpid:\t4711\t12\t1\nTgid: 3\n', 4711), 1);
  assert.equal(innermostPid('Name:\tnode\n', 4711), 4711);
});

test('the event that perf really opened is read from evlist, with user-only and hardware told', () => {
  const of = (line: string) => parseEvlist(line)[0];
  const attributes = 'type: 1, size: 128, { sample_period, sample_freq }: 999, disabled: 1';
  assert.deepEqual(of(`cpu-clock: ${attributes}`), {
    name: 'cpu-clock',
    userOnly: false,
    hardware: false,
  });
  assert.equal(of(`cpu-clock:u: ${attributes}, exclude_kernel: 1`)?.userOnly, true);
  assert.equal(of(`cycles: ${attributes}, exclude_kernel: 1`)?.userOnly, true);
  assert.equal(of('cpu_core/cycles/: type: 4, size: 136, config: 0x3c')?.hardware, true);
  assert.equal(of("# Tip: use 'perf evlist --trace-fields' to show fields"), undefined);
});

test('lost events are summed wherever perf reports them', () => {
  assert.equal(
    parseLost('   TOTAL events:  10\n    LOST events:   3\n  LOST_SAMPLES events:   4 ( 1%)\n'),
    7,
  );
  assert.equal(parseLost('# Total Lost Samples: 12\n'), 12);
  assert.equal(parseLost('   SAMPLE events: 10\n'), 0);
});

test('missing rights are told in one sentence that says what more would give', () => {
  const all = {
    perf: '6.1',
    kernelSamples: true,
    scheduler: true,
    hardwareCounters: true,
    kernelNames: true,
    paranoid: 2,
    maxSampleRate: 100_000,
  };
  assert.equal(missingSentence(all), null);
  assert.match(
    missingSentence({ ...all, perf: null }) ?? '',
    /not installed .* busy time, the waterfall/,
  );
  assert.match(missingSentence({ ...all, kernelSamples: false }) ?? '', /user space only/);
  assert.match(
    missingSentence({ ...all, scheduler: false }) ?? '',
    /the four states are shown too/,
  );
  assert.match(missingSentence({ ...all, hardwareCounters: false }) ?? '', /no hardware counters/);
});

test('kernel symbols that are all zero are hidden', () => {
  assert.equal(kallsymsVisible('0000000000000000 T _text\n0000000000000000 t x\n'), false);
  assert.equal(kallsymsVisible('0000000000000000 A fixed\nffffffff81000000 T _text\n'), true);
});

test('a scheduler filter names every thread once, runs of ids as ranges, and never the idle task', () => {
  const { switches, wakes } = schedFilters([12, 10, 11, 40, 0, 12]);
  assert.equal(wakes, '(pid>=10 && pid<=12) || pid==40');
  assert.equal(
    switches,
    '(prev_pid>=10 && prev_pid<=12) || prev_pid==40 || (next_pid>=10 && next_pid<=12) || next_pid==40',
  );
  const scattered = Array.from({ length: 500 }, (_, i) => i * 2 + 1_000_000);
  assert.throws(() => schedFilters(scattered), /500 threads make a scheduler filter of \d+ bytes/);
});

test('a switch outside its bracket means that the clocks do not agree', () => {
  const out = (timeNs: number) => ({
    kind: 'switch' as const,
    timeNs,
    cpu: 0,
    prev: 5,
    prevComm: '',
    prevState: 'S',
    next: 0,
    nextComm: '',
  });
  const brackets = [
    { beforeNs: 100, afterNs: 200 },
    { beforeNs: 300, afterNs: 400 },
  ];
  assert.deepEqual(bracketTest([out(150), out(350)], brackets, 5), { inside: 2, total: 2 });
  assert.deepEqual(bracketTest([out(150), out(1_000_350)], brackets, 5), { inside: 1, total: 2 });
});

test('a step trace that is none is refused with its line', () => {
  assert.throws(() => parseSteps('{"step":1}\n'), /line 1 of \/debug\/steps is no step record/);
  assert.deepEqual(parseSteps(''), []);
});

test('file offsets become addresses where a binary places its text elsewhere', () => {
  const { segments, buildId } = parseReadelf(
    '  LOAD           0x772000 0x0000000000b72000 0x0000000000b72000 0x1a8bca0 0x1a8bca0 R E 0x1000\n    Build ID: 5fe9bfc9\n',
  );
  assert.equal(buildId, '5fe9bfc9');
  assert.equal(addressOf(segments, 0xcf9995).toString(16), '10f9995');
  assert.equal(addressOf([], 0x22b3), 0x22b3);
});

test('addr2line output with inlined functions gives the inner line and all functions', () => {
  const found = parseAddr2line(
    '0x0000000000002aed\ninner\n/p/a.cpp:96 (discriminator 3)\nouter\n/p/a.cpp:205\n0x0000000000000010\n??\n??:0\n',
  );
  assert.deepEqual(found.get('2aed'), { line: '/p/a.cpp:96', functions: ['inner', 'outer'] });
  assert.deepEqual(found.get('10'), { line: 'no line table', functions: [] });
});

test('a line in a system header gives way to the line that it was inlined into', () => {
  const found = parseAddr2line(
    '0x10\n_mm512_dpbusd\n/usr/lib/gcc/x86_64-linux-gnu/12/include/avx512fintrin.h:417\nRun\n/p/kernels/matrix.cc:88\n',
  );
  assert.equal(found.get('10')?.line, '/p/kernels/matrix.cc:88');
});

test('lines of a real binary are found in one batch and then come from the cache of its build id', async () => {
  const { program, remove } = buildKnownDuty();
  try {
    const symbols = execFileSync('nm', ['-C', program], { encoding: 'utf8' });
    const address = /^([0-9a-f]+) \w .*matmul_known_share/m.exec(symbols)?.[1] ?? '';
    const ip = Number.parseInt(address, 16).toString(16);
    const first = await sourceLines(program, [ip], folder);
    assert.match(first.get(ip)?.line ?? '', /known_duty\.cpp:\d+$/);
    const [cache] = readdirSync(folder).filter((name) => name.endsWith('.json'));
    const file = join(folder, cache ?? '');
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replaceAll('known_duty.cpp', 'from_the_cache.cpp'),
    );
    assert.match((await sourceLines(program, [ip], folder)).get(ip)?.line ?? '', /from_the_cache/);
  } finally {
    remove();
  }
  assert.equal((await sourceLines('/no/such/binary', ['1'], folder)).size, 0);
});

test('evidence is listed with hashes, and pruning removes the largest first but keeps their hash', async () => {
  const place = mkdtempSync(join(folder, 'evidence-'));
  writeFileSync(join(place, 'small.json'), 'abc');
  writeFileSync(join(place, 'big.data'), Buffer.alloc(5_000));
  const files = await listEvidence(place);
  assert.equal(
    files[1]?.sha256,
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  );
  const kept = pruneEvidence(place, files, 1_000);
  assert.deepEqual(
    kept.map((file) => [file.file, file.kept]),
    [
      ['big.data', false],
      ['small.json', true],
    ],
  );
  assert.equal(existsSync(join(place, 'big.data')), false);
});

test('what a profiler leaves behind is named', () => {
  const place = mkdtempSync(join(folder, 'strays-'));
  const before = machineState([place]);
  writeFileSync(join(place, 'isolate-0x1234-1-v8.log'), '');
  writeFileSync(join(place, 'notes.txt'), '');
  assert.deepEqual(leftBehind(before, { ...machineState([place]), perf: before.perf }), [
    join(place, 'isolate-0x1234-1-v8.log'),
  ]);
});

test('a recording that cannot attach is told in the words of perf, or that perf is missing', async () => {
  const installed = (await perfVersion()) !== undefined;
  await assert.rejects(
    Recording.start(['-e', 'cpu-clock', '-p', String(2 ** 22 + 1)], join(folder, 'none.data')),
    installed ? /perf did not acknowledge "ping"; it said: .*\S/ : /perf could not be started/,
  );
});
