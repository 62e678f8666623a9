import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parseFlags } from '../scenario/flags.ts';
import { attributeOptions } from './attribute-options.ts';
import { attributionBodySchema } from './attribution-record.ts';
import { probeRights } from './rights.ts';
import { attribute } from './run.ts';
import { summarise } from './summary.ts';

const folder = mkdtempSync(join(tmpdir(), 'attribute-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const MODEL = new URL('../../../models/tiny-qwen3', import.meta.url).pathname;
const quiet = { onStage: () => undefined, onPhase: () => undefined };

function options(over: Record<string, unknown>) {
  return parseFlags(attributeOptions, {
    model: MODEL,
    concurrency: '8',
    duration: '4',
    freeSeconds: '4',
    schedSeconds: '3',
    inputTokens: '64',
    outputTokens: '128',
    evidence: folder,
    ...over,
  });
}

test('the bundled server at c8 is attributed from end to end, and nothing is left behind', async () => {
  const before = new Set(readdirSync(tmpdir()));
  const { perf } = await probeRights();
  const place = join(folder, 'whole');
  const { body } = await attribute(
    options({ perf: perf !== null }),
    place,
    quiet,
    new AbortController().signal,
  );
  attributionBodySchema.parse(body);
  assert.equal(body.workload.failed, 0);
  assert.ok((body.waterfall?.tpot.explainedShare ?? 0) >= 0.95);
  assert.equal(body.waterfall?.missing, 0);
  const roles = body.busy.map((role) => role.role);
  for (const role of ['engine-core', 'frontend']) assert.ok(roles.includes(role), roles.join());
  assert.equal(body.gates.find((gate) => gate.name === 'roles mapped')?.status, 'passed');
  if (perf !== null) {
    for (const name of [
      'samples lost',
      'scheduler events lost',
      'states close',
      'clocks agree',
      'kernel included',
    ])
      assert.equal(body.gates.find((gate) => gate.name === name)?.status, 'passed', name);
    const engine = body.profile.find((one) => one.role === 'engine-core');
    assert.ok(engine?.classes.some((one) => one.class === 'matrix'));
    assert.ok((body.jsNamed ?? 0) > 0.8, `${body.jsNamed} of JavaScript stacks are named`);
    assert.ok(existsSync(join(place, 'flame.html')));
  }
  assert.ok(body.evidence.some((file) => file.file === 'attribution.json'));
  assert.deepEqual(
    body.notes.filter((note) => note.startsWith('left behind')),
    [],
  );
  const strays = readdirSync(tmpdir()).filter(
    (name) => !before.has(name) && /^(perf-|isolate|bench-server)/.test(name),
  );
  assert.deepEqual(strays, []);
  assert.ok(summarise(body).tables.length >= 3);
});

test('without perf the same command gives busy time and the waterfall', async () => {
  const { body } = await attribute(
    options({}),
    join(folder, 'plain'),
    quiet,
    new AbortController().signal,
  );
  assert.equal(body.profile.length, 0);
  assert.equal(body.waiting, null);
  assert.ok((body.waterfall?.tpot.explainedShare ?? 0) >= 0.95);
});

test('an interrupt in a phase ends the server and the load', async () => {
  const controller = new AbortController();
  const events = {
    onStage: () => undefined,
    onPhase: () => setTimeout(() => controller.abort(), 500),
  };
  await assert.rejects(
    attribute(options({}), join(folder, 'interrupted'), events, controller.signal),
    { code: 'INTERRUPTED' },
  );
});
