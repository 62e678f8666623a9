import assert from 'node:assert/strict';
import { test } from 'node:test';
import { captureEnvironment, cgroupLimits, envClassOf } from './environment.ts';
import { environment } from './record.ts';
import { redact } from './redaction.ts';

function filesystem(files: Record<string, string>) {
  return (path: string) => files[path];
}

test('the tightest limit of a cgroup and its parents counts, in version 2', () => {
  const read = filesystem({
    '/proc/self/cgroup': '0::/a/b\n',
    '/sys/fs/cgroup/a/b/cpu.max': 'max 100000\n',
    '/sys/fs/cgroup/a/cpu.max': '150000 100000\n',
    '/sys/fs/cgroup/a/b/memory.max': '1073741824\n',
    '/sys/fs/cgroup/a/memory.max': 'max\n',
  });
  assert.deepEqual(cgroupLimits(read), { cpus: 1.5, memoryBytes: 2 ** 30 });
});

test('and in version 1, where a huge number or -1 means none', () => {
  const read = filesystem({
    '/proc/self/cgroup': '4:memory:/job\n1:cpu,cpuacct:/job\n',
    '/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us': '400000\n',
    '/sys/fs/cgroup/cpu/job/cpu.cfs_period_us': '100000\n',
    '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n',
    '/sys/fs/cgroup/memory/job/memory.limit_in_bytes': '9223372036854771712\n',
  });
  assert.deepEqual(cgroupLimits(read), { cpus: 4, memoryBytes: null });
  assert.deepEqual(
    cgroupLimits(() => undefined),
    { cpus: null, memoryBytes: null },
  );
});

test('the class of a machine does not move with boots, clocks or kernel patches, but does with what speed depends on', () => {
  const facts = captureEnvironment();
  const same = {
    bootIdHash: '0'.repeat(64),
    governor: 'powersave',
    turbo: false,
    osImage: 'Other',
  };
  assert.equal(envClassOf({ ...facts, ...same }), facts.envClass);
  const kernel = (release: string) => envClassOf({ ...facts, kernel: release });
  assert.equal(kernel('6.1.1-a'), kernel('6.1.2-b'));
  assert.notEqual(kernel('6.1.1'), kernel('6.2.1'));
  for (const change of [
    { cores: facts.cores + 1 },
    { cpuModel: 'Other' },
    { cpuFlags: ['avx2'] },
  ]) {
    assert.notEqual(envClassOf({ ...facts, ...change }), facts.envClass);
  }
});

test('the captured environment keeps its schema and names no host', () => {
  const facts = captureEnvironment();
  assert.deepEqual(environment.parse(facts), facts);
  assert.match(facts.envClass, /^[a-z0-9-]+-\d+x-[0-9a-f]{8}$/);
});

test('folders and host names are taken out wherever they occur, and the record says so', () => {
  const secrets = {
    folders: [
      { path: '/home/eve', shown: '~' },
      { path: '/home/eve/work', shown: '.' },
    ],
    hostNames: ['evebox', 'localhost'],
  };
  const { value, removed } = redact(
    {
      command: ['serve', '--model', '/home/eve/work/m.gguf', '/home/evelyn/x'],
      nested: { log: 'on evebox at http://localhost:1 in /home/eve', n: 3, none: null },
    },
    secrets,
  );
  assert.deepEqual(value, {
    command: ['serve', '--model', './m.gguf', 'FOLDER/x'],
    nested: { log: 'on HOST at http://localhost:1 in ~', n: 3, none: null },
  });
  assert.deepEqual(
    removed.map(({ what }) => what),
    ['folders', 'host name'],
  );
  const kept = [
    '/v1/completions',
    'http://127.0.0.1:8000/v1/models',
    '/proc/1/stat',
    '/usr/bin/perf',
    'a/b',
  ];
  assert.deepEqual(redact(kept, secrets).value, kept);
  assert.deepEqual(
    redact('model=/mnt/big disk/x /data/models/m-1.gguf', secrets).value,
    'model=FOLDER/big disk/x FOLDER/m-1.gguf',
  );
  assert.deepEqual(redact({ a: 'plain' }, secrets).removed, []);
});
