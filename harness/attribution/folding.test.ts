import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CLASS_PRESETS } from './class-presets.ts';
import { type Folded, Folder, type PathNode, selfWeight } from './folding.ts';
import { type Frame, PerfScriptParser, type Sample } from './perf-script-parser.ts';
import { profileRoles } from './role-profile.ts';
import { type StackClass, stackClassifier } from './symbol-classes.ts';

const frame = (symbol: string, dso = '/bin/server'): Frame => ({
  ip: '1',
  symbol,
  dso,
  deleted: false,
  inlined: false,
});
const sample = (tid: number, names: string[], period = 1_000, timeNs = 0): Sample => ({
  pid: 1,
  tid,
  cpu: 0,
  timeNs,
  period,
  event: 'cpu-clock',
  frames: names.map((name) => frame(name)),
});
function fold(samples: Sample[]): Folded {
  const folder = new Folder(stackClassifier());
  for (const one of samples) folder.add(one);
  return folder.result();
}
const kernel = (...names: string[]) => names.map((name) => frame(name, '[kernel.kallsyms]'));

const classes: [StackClass, Frame[]][] = [
  ['gc', [frame('v8::internal::Scavenger::Process'), frame('JS:*json a.js:1:1')]],
  ['spin', [frame('[unknown]', '[vdso]'), frame('poll')]],
  ['spin', [...kernel('do_sched_yield', '__x64_sys_sched_yield'), frame('loop')]],
  ['spin', [frame('[unknown]', '/usr/lib/libcuda.so.1'), frame('wait')]],
  ['spin', [frame('[unknown]', '/usr/lib/libgomp.so.1.0.0')]],
  ['other', [frame('x', '/usr/lib/libcuda.so.1'), frame('cudaLaunchKernel')]],
  ['system-calls', [...kernel('futex_wait', 'do_syscall_64'), frame('JS:*json a.js:1:1')]],
  ['irq-off-section', [...kernel('_raw_spin_unlock_irqrestore', 'do_syscall_64')]],
  ['page-faults', [...kernel('clear_page_rep', 'do_anonymous_page', 'exc_page_fault')]],
  ['interrupts', [...kernel('handle_softirqs', '__irq_exit_rcu', 'sysvec_apic_timer_interrupt')]],
  ['allocator', [frame('_int_malloc'), frame('gemm')]],
  ['matrix', [frame('gemm_mxfp4_avx512'), frame('attention_forward')]],
  ['attention', [frame('helper'), frame('attention_forward')]],
  ['sampling', [frame('argmax_row')]],
  ['detokenise', [frame('JS:*detokenise file:///a.js:1:2')]],
  ['json-sse', [frame('JS:*writeSse file:///sse-writer.js:1:2')]],
  ['javascript', [frame('JS:*property file:///x/assert.js:1:2')]],
  ['unresolved', [frame('[unknown]')]],
  ['unresolved', []],
];
for (const [name, frames] of classes)
  test(`${frames[0]?.symbol ?? 'an empty stack'} is ${name}`, () => {
    assert.equal(stackClassifier()(frames), name);
  });

test('a write to this host runs the peer on the sender, and that is a class of its own', () => {
  const receive = kernel('tcp_v4_rcv', 'process_backlog', 'net_rx_action', 'tcp_sendmsg');
  assert.equal(stackClassifier()(receive), 'loopback-peer');
  let found = 0;
  const parser = new PerfScriptParser((one) => {
    if (stackClassifier()(one.frames) === 'loopback-peer') found += 1;
  });
  parser.push(
    readFileSync(
      new URL('../../../harness/attribution/fixtures/node-front-end.perf.txt', import.meta.url),
    ),
  );
  parser.end();
  assert.ok(found > 0, 'the recorded front end wrote to a client on the same host');
});

test('our kernels are told by their own rules, and kernel time under them stays kernel time', () => {
  const classify = stackClassifier(CLASS_PRESETS['mxbench']);
  const inside = [frame('mxbench::Engine::RunLayer'), frame('mxbench::Team::Run')];
  const of = (symbol: string) => classify([frame(symbol), ...inside]);
  assert.equal(of('mxbench::avx512::(anonymous namespace)::RunTokens<Mxfp4, 8>'), 'matrix');
  assert.equal(of('mxbench::lanes::ScoreBlocks<mxbench::avx512::Lanes, 3, 4>'), 'attention');
  assert.equal(of('mxbench::lanes::RmsNorm<mxbench::avx512::Lanes>'), 'normalisation-and-glue');
  assert.equal(of('mxbench::avx512::Argmax'), 'sampling');
  assert.equal(of('mxbench::Team::Barrier'), 'spin');
  assert.equal(classify([...kernel('clear_page_rep', 'exc_page_fault'), ...inside]), 'page-faults');
  assert.equal(classify([...kernel('futex_wait'), frame('mxbench::Team::Barrier')]), 'spin');
  assert.equal(classify([frame('mxbench::Team::Work')]), 'spin');
});

test('code made at run time without a name is JavaScript only under Node', () => {
  const made = frame('[unknown]', '/tmp/perf-9.map');
  assert.equal(stackClassifier()([made, frame('node::Start', '/usr/bin/node')]), 'javascript');
  assert.equal(stackClassifier()([made, frame('run', '/usr/lib/libdnnl.so')]), 'unresolved');
  assert.equal(stackClassifier(CLASS_PRESETS['vllm'])([made]), 'matrix');
  assert.equal(stackClassifier()([frame('kmp_flag_64<false, true>::wait')]), 'spin');
});

test('native code that JavaScript called is not JavaScript', () => {
  assert.equal(
    stackClassifier()([frame('pack', '/x/addon.node'), frame('JS:*step a.js:1:1')]),
    'other',
  );
  assert.equal(
    stackClassifier()([frame('uv_hrtime', '/usr/bin/node'), frame('JS:*step a.js:1:1')]),
    'javascript',
  );
});

test("the arm's own rules come first", () => {
  const classify = stackClassifier([{ class: 'sampling', symbol: '^gemm' }]);
  assert.equal(classify([frame('gemm_mxfp4_avx512')]), 'sampling');
});

test('weights are periods and counts are counts, and both sum to the whole', () => {
  const folded = fold([
    sample(1, ['a', 'main'], 10),
    sample(1, ['b', 'main'], 30),
    sample(2, ['a'], 5),
  ]);
  assert.equal(folded.samples, 3);
  assert.equal(folded.ns, 45);
  const sum = (at: PathNode): number =>
    selfWeight(at).ns + [...at.children.values()].reduce((total, child) => total + sum(child), 0);
  assert.equal(
    [...folded.threads.values()].reduce((total, t) => total + sum(t.paths), 0),
    45,
  );
});

test('the idle task is nobody, so it is not in any total', () => {
  assert.equal(fold([sample(0, ['pv_native_safe_halt'])]).samples, 0);
});

test('a stack cut at the depth cap hangs under [truncated] and is counted', () => {
  const deep = Array.from({ length: 127 }, () => 'recurse');
  const folded = fold([sample(1, deep), sample(1, ['leaf', 'main'])]);
  assert.equal(folded.coverage.truncated, 1);
  assert.deepEqual(
    [...(folded.threads.get(1)?.paths.children.keys() ?? [])],
    ['[truncated]', 'main'],
  );
});

test('JavaScript without names is counted, so that a stale or missing perf map is seen', () => {
  const unknown = {
    ...sample(1, []),
    frames: [frame('[unknown]', '/tmp/perf-9.map'), frame('main')],
  };
  const folded = fold([unknown, sample(1, ['main'])]);
  assert.deepEqual([folded.coverage.jsSamples, folded.coverage.jsUnresolved], [1, 1]);
  assert.equal(
    folded.threads.get(1)?.leaves.keys().next().value?.split('\t')[0],
    '[unknown, made at run time]',
  );
});

test('a profile splits exact CPU by samples into work and spin, with ranks only where they hold', () => {
  const samples = [
    ...Array.from({ length: 600 }, (_, i) => sample(1, ['gemm'], 1_000, i)),
    ...Array.from({ length: 200 }, (_, i) => sample(1, ['sched_yield'], 1_000, i)),
    ...Array.from({ length: 195 }, (_, i) => sample(1, ['argmax'], 1_000, i)),
    ...Array.from({ length: 5 }, () => sample(1, ['v8::internal::Heap::CollectGarbage'])),
    sample(2, ['v8::internal::Heap::CollectGarbage']),
  ];
  const profiles = profileRoles(fold(samples), {
    roleOf: (tid) => (tid === 1 ? 'engine-core' : 'runtime'),
    busy: [{ role: 'engine-core', threads: 1, runNs: 1_250_000, waitNs: 0, slices: 100, cores: 1 }],
    msPerStep: new Map([
      ['engine-core', 10],
      ['runtime', 1],
    ]),
  });
  const engine = profiles[0];
  assert.equal(engine?.role, 'engine-core');
  assert.equal(engine?.kappa, 0.8);
  assert.equal(engine?.missingNsPerSlice, 2_500);
  assert.ok(Math.abs((engine?.spinMsPerStep ?? 0) - 2) < 1e-9);
  assert.ok(Math.abs((engine?.workMsPerStep ?? 0) - 8) < 1e-9);
  assert.deepEqual(engine?.classes[0]?.rank, { best: 1, worst: 1 });
  // A fifth of the time was never sampled, and may belong to any class.
  assert.deepEqual(engine?.classes[1]?.rank, { best: 2, worst: 4 });
});
