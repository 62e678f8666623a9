import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { listenerOf, listeningInodes } from './listener.ts';
import { machineCpu, processTree, treeCpuSeconds, treeMemory } from './process-tree.ts';
import { takeRunLock } from './run-lock.ts';
import { MEMORY_PERIOD_MS, watchServer } from './server-watch.ts';

const MEBIBYTE = 2 ** 20;

/** A process that says "ready", then does as its standard input asks. */
function startNode(script: string) {
  const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  return { child, pid: child.pid ?? 0, said: () => once(child.stdout, 'data') };
}

test('busy time of the machine leaves out idle, waiting for disks, and guests that count twice', () => {
  const stat = 'cpu  100 20 30 5000 999 4 6 8 50 0\ncpu0 1 1 1 1\ncpu1 1 1 1 1\nintr 1\n';
  assert.deepEqual(machineCpu(stat), { busySeconds: 1.6, stealSeconds: 0.08, cores: 2 });
});

test('the tree holds children of children, and nothing of a process that is gone', async () => {
  const inner = 'process.stdout.write("ready");setTimeout(()=>{},60000)';
  const outer = `require('node:child_process').spawn(process.execPath,['-e',${JSON.stringify(inner)}],{stdio:'inherit'})`;
  const { child, pid, said } = startNode(outer);
  await said();
  const tree = processTree(pid);
  assert.equal(tree.length, 2);
  assert.equal(tree[0], pid);
  for (const member of tree.toReversed()) process.kill(member, 'SIGKILL');
  await once(child, 'close');
  assert.deepEqual(processTree(pid), []);
  assert.equal(treeMemory(pid), undefined);
  assert.equal(treeCpuSeconds(pid), 0);
});

test('a peak that comes and goes is seen, and the kernel agrees on its height', async () => {
  const script = `
    process.stdout.write('ready');
    process.stdin.once('data', () => {
      let held = Buffer.alloc(${96 * MEBIBYTE}, 1);
      process.stdout.write('held');
      setTimeout(() => { held = undefined; globalThis.gc?.(); process.stdout.write('freed'); }, ${4 * MEMORY_PERIOD_MS});
    });`;
  const { child, pid, said } = startNode(script);
  await said();
  const before = treeMemory(pid)?.pssBytes ?? 0;
  const watch = watchServer(pid);
  child.stdin.write('go');
  await said();
  await said();
  const { memory, cpu } = await watch.stop();
  child.kill();
  const grown = (memory?.peakPssBytes ?? 0) - before;
  assert.ok(grown > 90 * MEBIBYTE && grown < 140 * MEBIBYTE, `grew by ${grown / MEBIBYTE} MiB`);
  assert.ok((memory?.highWaterRssBytes ?? 0) >= 96 * MEBIBYTE);
  assert.ok((memory?.peakRssBytes ?? 0) >= (memory?.peakPssBytes ?? 0));
  assert.ok((memory?.samples ?? 0) >= 3);
  assert.equal(memory?.periodMs, MEMORY_PERIOD_MS);
  assert.ok((cpu.serverCpuSeconds ?? 0) > 0);
});

test('a server elsewhere has no memory figure, and says so', async () => {
  const { memory, memoryAbsent, cpu } = await watchServer(undefined).stop();
  assert.equal(memory, null);
  assert.match(memoryAbsent ?? '', /not run on this machine/);
  assert.equal(cpu.serverCpuSeconds, null);
});

test('the process that listens behind a URL is found; nobody, or another machine, is not', async () => {
  const script = `
    const server = require('node:net').createServer();
    server.listen(0, '127.0.0.1', () => process.stdout.write(String(server.address().port)));`;
  const { child, pid, said } = startNode(script);
  const [port] = await said();
  assert.equal(await listenerOf(`http://127.0.0.1:${port}`), pid);
  assert.equal(await listenerOf(`http://localhost:${port}/v1`), pid);
  child.kill();
  await once(child, 'close');
  assert.equal(await listenerOf(`http://127.0.0.1:${port}`), undefined);
  assert.equal(await listenerOf('http://192.0.2.1:80'), undefined);
});

test('only listening sockets of that port count', () => {
  const table = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    '   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1',
    '   1: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 222 1',
    '   2: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 333 1',
  ].join('\n');
  assert.deepEqual(listeningInodes(table, 8080), ['111']);
});

test('a lock is held by one, names its holder, and can be taken again once it is released', async () => {
  const scope = `test-${process.pid}`;
  const first = await takeRunLock(scope, 'sweep');
  const expected = new RegExp(`process ${process.pid} \\(bench sweep\\)`);
  await assert.rejects(takeRunLock(scope, 'calibrate'), expected);
  const other = await takeRunLock(`${scope}-other`, 'sweep');
  await first.release();
  const again = await takeRunLock(scope, 'calibrate');
  await again.release();
  await other.release();
});

test('a holder that does not answer is still refused, with its name unknown', async () => {
  const script = `
    const { createHash } = require('node:crypto');
    const scope = createHash('sha256').update('mute-${process.pid}').digest('hex').slice(0, 16);
    const server = require('node:net').createServer((socket) => {});
    server.listen('\\0mxbench-run-' + scope, () => process.stdout.write('ready'));`;
  const { child, said } = startNode(script);
  await said();
  await assert.rejects(takeRunLock(`mute-${process.pid}`, 'sweep'), /does not answer/);
  child.kill('SIGKILL');
  await once(child, 'close');
  await (await takeRunLock(`mute-${process.pid}`, 'sweep')).release();
});
