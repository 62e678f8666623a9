import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { HarnessError } from '../errors.ts';
import { parseFlags } from '../scenario/flags.ts';
import { attributeOptions } from './attribute-options.ts';
import { parseInjection } from './injection-run.ts';
import { referenceSide } from './reference.ts';
import { attribute } from './run.ts';
import { reachTarget } from './target.ts';

const folder = mkdtempSync(join(tmpdir(), 'attribute-usage-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const signal = new AbortController().signal;
const quiet = { onStage: () => undefined, onPhase: () => undefined };
const told = (code: string, message: RegExp) => (error: unknown) =>
  error instanceof HarnessError && error.code === code && message.test(error.message);

test('the defaults are those of the published method', () => {
  const options = parseFlags(attributeOptions, {});
  assert.deepEqual(
    [
      options.concurrency,
      options.duration,
      options.frequency,
      options.inputTokens,
      options.outputTokens,
    ],
    [8, 22, 999, 1024, 128],
  );
});

test('an injection is a seam and microseconds, and anything else is refused with the form', () => {
  assert.deepEqual(parseInjection('engine:+500'), { seam: 'engine', delayUs: 500 });
  assert.deepEqual(parseInjection('frontend:2000us'), { seam: 'frontend', delayUs: 2000 });
  for (const text of ['kernel:+5', 'engine', 'engine:+0', 'engine:+1.5'])
    assert.throws(() => parseInjection(text), told('USAGE', /SEAM:\+MICROSECONDS/));
});

test('a server command without an address, and an injection into a foreign server, are refused', async () => {
  const command = parseFlags(attributeOptions, { serverCommand: 'true' });
  await assert.rejects(reachTarget(command, signal), told('USAGE', /--server-command needs --url/));
  const foreign = parseFlags(attributeOptions, { inject: 'engine:+5', url: 'http://127.0.0.1:9' });
  await assert.rejects(
    attribute(foreign, join(folder, 'a'), quiet, signal),
    told('USAGE', /bundled server/),
  );
});

test('a command that ends before it serves is told with its last words', async () => {
  const options = parseFlags(attributeOptions, {
    serverCommand: 'echo no such model >&2; exit 3',
    url: 'http://127.0.0.1:9',
  });
  await assert.rejects(
    reachTarget(options, signal),
    told('SERVER_NOT_READY', /it said: no such model/),
  );
});

test('wrong files are refused before a server is started', async () => {
  const rules = join(folder, 'rules.yaml');
  writeFileSync(rules, 'roles: [{role: engine-core, name: "("}]\n');
  const options = parseFlags(attributeOptions, { rules });
  await assert.rejects(
    attribute(options, join(folder, 'b'), quiet, signal),
    told('INVALID_FILE', /rules\.yaml: /),
  );
  const missing = parseFlags(attributeOptions, { premise: join(folder, 'none.yaml') });
  await assert.rejects(
    attribute(missing, join(folder, 'c'), quiet, signal),
    told('INVALID_FILE', /cannot be read/),
  );
});

test('a reference folder without a capture, or with a broken one, is refused', () => {
  const load = { concurrency: 8, inputTokens: 1, outputTokens: 2 };
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  assert.throws(() => referenceSide(empty, load), told('INVALID_FILE', /holds no capture/));
  writeFileSync(join(empty, 'attribution.json'), '{}');
  assert.throws(() => referenceSide(empty, load), told('INVALID_FILE', /not from a capture/));
});
