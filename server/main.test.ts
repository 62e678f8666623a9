import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { get, post, readEvents } from './testing/http-client.ts';

const MAIN = fileURLToPath(new URL('./main.js', import.meta.url));
const MODEL = fileURLToPath(new URL('../../models/tiny-llama', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'mxbench-main-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const body = { prompt: 'The', max_tokens: 400, ignore_eos: true, temperature: 0, stream: true };

/** Runs to the end; for command lines that do not start a server. */
function run(...flags: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [MAIN, ...flags], { encoding: 'utf8', timeout: 20_000 });
}

interface Started {
  child: ChildProcess;
  url: string;
  stdout(): string;
  stderr(): string;
}

async function start(...flags: string[]): Promise<Started> {
  const child = spawn(process.execPath, [MAIN, 'serve', '--model', MODEL, '--port', '0', ...flags]);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  while (!stdout.includes('\n')) {
    if (child.exitCode !== null) throw new Error(`the server ended: ${stderr}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const url = /ready on (http:\S+)/.exec(stdout)?.[1] ?? '';
  return { child, url, stdout: () => stdout, stderr: () => stderr };
}

/** Waits until the server works on something. */
async function busy(server: Started): Promise<void> {
  while ((await get(server, '/load')).json.server_load === 0) {
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

function isAlive(pid: number | undefined): boolean {
  try {
    return pid !== undefined && process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('one line says where the server is ready and what it runs, and nothing else is printed', async () => {
  const server = await start('--threads', '2', '--activations', 'f32');
  assert.match(
    server.stdout(),
    /^mxbench serve: ready on http:\/\/127\.0\.0\.1:\d+ \(model \S.*, isa \w+, activations f32, 2 threads\)\n$/,
  );
  const { json } = await get(server, '/health');
  assert.equal(json.status, 'ok');
  assert.equal(json.activations, 'f32');
  assert.equal(json.kv_format, 'f32');
  const info = (await get(server, '/server_info')).json;
  assert.match(info.model.sha256, /^[0-9a-f]{64}$/);
  assert.equal(info.config.maxNumSeqs, 32);
  server.child.kill('SIGTERM');
  const [code] = await once(server.child, 'exit');
  assert.equal(code, 0);
  assert.equal(server.stderr(), '');
});

test('SIGTERM lets streams finish and refuses newcomers', async () => {
  const server = await start();
  const stream = post(server, '/v1/completions', body);
  await busy(server);
  server.child.kill('SIGTERM');
  await new Promise((resolve) => setTimeout(resolve, 30));
  const late = await post(server, '/v1/completions', { ...body, stream: false }).catch(
    () => undefined,
  );
  if (late) assert.equal(late.status, 503);
  const events = readEvents((await stream).text);
  assert.equal(events.at(-1).choices[0].finish_reason, 'length');
  const [code] = await once(server.child, 'exit');
  assert.equal(code, 0);
});

test('a second signal ends the server at once', async () => {
  const server = await start();
  const stream = post(server, '/v1/completions', { ...body, max_tokens: 900, n: 16 }).catch(
    () => undefined,
  );
  await busy(server);
  server.child.kill('SIGINT');
  await new Promise((resolve) => setTimeout(resolve, 20));
  server.child.kill('SIGINT');
  const [code] = await once(server.child, 'exit');
  assert.equal(code, 130);
  await stream;
});

test('a stream that outlives the shutdown timeout ends with an error event', async () => {
  const server = await start('--shutdown-timeout', '50');
  const stream = post(server, '/v1/completions', { ...body, max_tokens: 900, n: 16 });
  await busy(server);
  server.child.kill('SIGTERM');
  const events = readEvents((await stream).text);
  assert.equal(events.at(-1).error.code, 'shutting_down');
  await once(server.child, 'exit');
});

test('with --exit-with-parent the server ends when whoever started it is killed', async () => {
  const parent = join(folder, 'parent.mjs');
  writeFileSync(
    parent,
    `import { spawn } from 'node:child_process';
     const flags = ['serve', '--model', ${JSON.stringify(MODEL)}, '--port', '0', '--exit-with-parent'];
     const child = spawn(process.execPath, [${JSON.stringify(MAIN)}, ...flags]);
     child.stdout.once('data', () => console.log(child.pid));
     setInterval(() => {}, 1000);`,
  );
  const middle = spawn(process.execPath, [parent], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(middle.stdout, 'data');
  const pid = Number(String(line));
  assert.ok(isAlive(pid));
  middle.kill('SIGKILL');
  const until = performance.now() + 5000;
  while (isAlive(pid) && performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok(!isAlive(pid), 'the server is gone');
});

test('threads carry their names', async () => {
  const server = await start('--threads', '2', '--debug-endpoints');
  const { json } = await get(server, '/debug/threads');
  const roles = json.threads.map(({ role }: { role: string }) => role);
  assert.ok(roles.includes('engine-core') && roles.includes('kernel'));
  const main = json.threads.find(({ role }: { role: string }) => role === 'frontend');
  assert.equal(main.name, 'frontend');
  assert.equal(main.tid, json.pid);
  server.child.kill('SIGKILL');
  await once(server.child, 'exit');
});

test('a port in use is told in one line with exit code 2', async () => {
  const blocker = createServer().listen(0, '127.0.0.1');
  await once(blocker, 'listening');
  const address = blocker.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const { status, stderr, stdout } = run('serve', '--model', MODEL, '--port', String(port));
  blocker.close();
  assert.equal(status, 2);
  assert.match(stderr, new RegExp(`^mxbench serve: Port ${port} .* is in use; .*\\n$`));
  assert.equal(stdout, '');
});

writeFileSync(
  join(folder, 'random.gguf'),
  Buffer.from('GGUF then nothing that makes sense at all'),
);
const refused: [string, string[]][] = [
  ['an unknown flag', ['serve', '--model', MODEL, '--nonsense']],
  ['a flag without its value', ['serve', '--model']],
  ['no model', ['serve']],
  ['a model that is not there', ['serve', '--model', join(folder, 'nothing.gguf')]],
  ['a file that is no model', ['serve', '--model', join(folder, 'random.gguf')]],
  ['a folder without a model', ['serve', '--model', folder]],
  ['an unknown synthetic model', ['serve', '--model', 'synthetic:nothing']],
  ['a context beyond the model', ['serve', '--model', MODEL, '--max-model-len', '999999']],
  ['too little memory', ['serve', '--model', MODEL, '--kv-memory', '1KiB']],
  [
    'an address of another machine',
    ['serve', '--model', MODEL, '--host', '203.0.113.7', '--port', '0'],
  ],
  ['an unknown command', ['fly']],
];

for (const [what, flags] of refused) {
  test(`${what} is told in one line with exit code 2`, () => {
    const { status, stderr, stdout } = run(...flags);
    assert.equal(status, 2, stderr);
    assert.match(stderr, /^mxbench serve: [^\n]+\n$/);
    assert.equal(stdout, '');
  });
}

test('models are listed and inspected, as text and as JSON', () => {
  const list = run('model', 'list', '--json');
  assert.equal(list.status, 0, list.stderr);
  const specs = JSON.parse(list.stdout).map(({ spec }: { spec: string }) => spec);
  assert.ok(specs.includes('synthetic:qwen3-0.6b'));
  assert.match(run('model', 'list').stdout, /synthetic:qwen3-0\.6b/);
  const inspected = run('model', 'inspect', MODEL, '--json');
  assert.equal(JSON.parse(inspected.stdout).architecture, 'llama');
  assert.match(run('model', 'inspect', MODEL).stdout, /^model {11}\S/);
  const missing = run('model', 'inspect', join(folder, 'none'));
  assert.equal(missing.status, 2);
  assert.match(missing.stderr, /^mxbench model: [^\n]+\n$/);
});
