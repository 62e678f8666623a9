import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assignRoles, ROLE_PRESETS, resolveRules, roleRulesSchema } from './roles.ts';

const thread = (tid: number, comm: string, commandLine = '', pid = 1) => ({
  pid,
  tid,
  comm,
  commandLine,
});
const evidence = (tid: number, name: string, share = 1) =>
  new Map([[tid, { samples: 100, functions: new Map([[name, 100 * share]]) }]]);

test("the server's own thread map is believed before any rule", () => {
  const declared = new Map([[2, { role: 'engine-core', name: 'engine-core' }]]);
  const roles = assignRoles([thread(2, 'node')], ROLE_PRESETS.mxbench, declared);
  assert.equal(roles.get(2), 'engine-core');
});

test('threads of our server are told by the names they give themselves', () => {
  const roles = assignRoles(
    [thread(1, 'frontend'), thread(2, 'engine-core'), thread(3, 'kernel-0'), thread(4, 'V8Worker')],
    ROLE_PRESETS.mxbench,
  );
  assert.deepEqual([...roles.values()], ['frontend', 'engine-core', 'kernel', 'runtime']);
});

test('a main thread that calls itself MainThread, node-MainThread or node is still the front end', () => {
  for (const comm of ['MainThread', 'node-MainThread', 'node'])
    assert.equal(assignRoles([thread(1, comm)], ROLE_PRESETS.mxbench).get(1), 'frontend');
});

test('Node 20 threads, all called node, are told by their oldest frames', () => {
  const pool = '(anonymous namespace)::PlatformWorkerThread';
  const roles = assignRoles(
    [thread(5, 'node'), thread(6, 'node')],
    ROLE_PRESETS.node,
    new Map(),
    new Map([...evidence(5, pool), ...evidence(6, 'node::worker::Worker::StartThread')]),
  );
  assert.deepEqual([...roles.values()], ['runtime', 'worker']);
});

test('vLLM processes are told by their titles, since the kernel cuts names at 15 bytes', () => {
  const roles = assignRoles(
    [
      thread(10, 'VLLM::EngineCor', 'VLLM::EngineCore', 10),
      thread(11, 'VLLM::EngineCor', 'VLLM::EngineCore', 10),
      thread(12, 'ZMQbg/IO/0', 'VLLM::EngineCore', 10),
      thread(15, 'VLLM::Worker', 'VLLM::Worker', 15),
      thread(16, 'VLLM::Worker', 'VLLM::Worker', 15),
      thread(20, 'vllm', '/usr/bin/python vllm serve model', 20),
      thread(21, 'python', '/usr/bin/python vllm serve model', 20),
    ],
    ROLE_PRESETS.vllm,
  );
  assert.deepEqual(
    [...roles.values()],
    ['engine-core', 'runtime', 'runtime', 'worker', 'kernel', 'frontend', 'runtime'],
  );
});

test('a function on few stacks does not decide a role', () => {
  const pool = evidence(7, 'ggml_graph_compute_thread', 0.1);
  const roles = assignRoles([thread(7, 'x')], ROLE_PRESETS['llama-server'], new Map(), pool);
  assert.equal(roles.get(7), 'unmapped');
});

test('a rule with a broken expression, no condition or an unknown field is refused in words', () => {
  const parse = (value: unknown) => roleRulesSchema.safeParse(value).error?.message ?? '';
  assert.match(parse([{ role: 'a', name: '(' }]), /not a regular expression/);
  assert.match(parse([{ role: 'a' }]), /needs at least one of/);
  assert.match(parse([{ role: 'a', thread: 'x' }]), /thread/);
  assert.equal(resolveRules('sglang').length, ROLE_PRESETS.sglang.length);
});
