import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createEngine } from '../../native/index.ts';
import { inspectModel } from './inspect-model.ts';
import { listModels } from './list-models.ts';
import { openModel } from './open-model.ts';
import { ensureSynthetic } from './synthetic.ts';

const cache = mkdtempSync(join(tmpdir(), 'mxbench-cache-'));
process.env['XDG_CACHE_HOME'] = cache;
after(() => rmSync(cache, { recursive: true }));

const sha256 = (path: string): string =>
  createHash('sha256').update(readFileSync(path)).digest('hex');

test('a synthetic model is the same bytes every time, and is generated once', async () => {
  const path = await ensureSynthetic('tiny-llama');
  const first = sha256(path);
  assert.equal(await ensureSynthetic('tiny-llama'), path);
  rmSync(path);
  await Promise.all([ensureSynthetic('tiny-llama'), ensureSynthetic('tiny-llama')]);
  assert.equal(sha256(path), first);
});

for (const name of ['tiny-llama', 'tiny-qwen3', 'small-qwen3']) {
  test(`${name} is marked as synthetic, and its logits are finite and depend on the text`, async () => {
    const model = await openModel(`synthetic:${name}`);
    assert.equal(model.synthetic, true);
    assert.equal(model.name, `synthetic:${name}`);
    assert.equal(await model.sha256(), sha256(model.path));
    const engine = createEngine({
      ...model,
      activations: 'int8',
      isa: 'auto',
      threads: 1,
      kvFormat: 'bf16',
      kvBlocks: 16,
      maxTokensPerStep: 64,
      maxSequences: 1,
      maxModelLength: 256,
    });
    const bestAfter = (text: string): number => {
      const tokens = Int32Array.from(model.tokenizer.encode(text));
      engine.forward({
        tokenCount: tokens.length,
        tokens,
        sequenceCount: 1,
        queryStart: Int32Array.of(0, tokens.length),
        firstPosition: Int32Array.of(0),
        blockTables: Int32Array.from({ length: 16 }, (_, i) => i),
        blockTableStride: 16,
        logitRowCount: 1,
        logitRows: Int32Array.of(tokens.length - 1),
      });
      const logits = engine.logits(0);
      assert.ok(logits.every(Number.isFinite));
      return logits.indexOf(Math.max(...logits));
    };
    const texts = ['A whale', 'The ship sails', 'Call me', 'and the sea', 'Where is it', 'Nothing'];
    assert.ok(new Set(texts.map(bestAfter)).size >= 4);
    engine.close();
  });
}

test('every name is listed with its size before and after it is generated', () => {
  const sizes = new Map(listModels().map((model) => [model.spec, model]));
  const generated = sizes.get('synthetic:tiny-llama');
  assert.equal(generated?.present, true);
  assert.equal(sizes.get('synthetic:qwen3-1.7b')?.present, false);
  const planned = sizes.get('synthetic:qwen3-1.7b')?.fileBytes ?? 0;
  assert.ok(planned > 1.0e9 && planned < 1.2e9);
  assert.ok(
    [...sizes.values()].some(({ kind, spec }) => kind === 'shipped' && spec.endsWith('tiny-qwen3')),
  );
});

test('inspection adds up, and says what a stranger must know', async () => {
  const inspection = await inspectModel('models/tiny-qwen3');
  assert.equal(inspection.kvBytesPerToken, 2 * 8 * 2 * 64 * 2);
  assert.equal(inspection.synthetic, false);
  assert.deepEqual(inspection.warnings, []);
  assert.ok(inspection.tensors.every(({ bytes }) => bytes > 0));
  const synthetic = await inspectModel('synthetic:tiny-llama');
  assert.match(synthetic.warnings.join(' '), /weights are made up/);
});
