// What lies beside a model file counts too: ids that end a text, a tokenizer where the file's own is not known.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readGguf } from './gguf-reader.ts';
import { type TypedValue, writeGguf } from './gguf-writer.ts';
import { openModel } from './open-model.ts';
import { SYNTHETIC_SHAPES, tensorsOfShape } from './synthetic-shapes.ts';

const REAL = 'models/tiny-qwen3/tiny-qwen3-mxfp4.gguf';
const root = mkdtempSync(join(tmpdir(), 'mxbench-open-'));
after(() => rmSync(root, { recursive: true }));

let folders = 0;
function newFolder(): string {
  const folder = join(root, String(folders++));
  mkdirSync(folder);
  return folder;
}

/** A folder with a GGUF file of empty tensors, its metadata the real one's with `changes` over it. */
async function folderWith(changes: Record<string, TypedValue>): Promise<string> {
  const folder = newFolder();
  const shape = SYNTHETIC_SHAPES.get('tiny-qwen3');
  assert.ok(shape);
  const u32 = (value: number): TypedValue => ({ type: 'u32', value });
  const real = (await readGguf(REAL)).metadata;
  const tokens = real.get('tokenizer.ggml.tokens') as string[];
  const metadata = new Map<string, TypedValue>([
    ['general.architecture', { type: 'string', value: 'qwen3' }],
    ['qwen3.context_length', u32(256)],
    ['qwen3.embedding_length', u32(shape.width)],
    ['qwen3.block_count', u32(shape.layers)],
    ['qwen3.feed_forward_length', u32(shape.feedForwardWidth)],
    ['qwen3.attention.head_count', u32(shape.heads)],
    ['qwen3.attention.head_count_kv', u32(shape.kvHeads)],
    ['qwen3.attention.key_length', u32(shape.headWidth)],
    ['qwen3.attention.layer_norm_rms_epsilon', { type: 'f32', value: 1e-6 }],
    ['tokenizer.ggml.model', { type: 'string', value: 'gpt2' }],
    ['tokenizer.ggml.tokens', { type: 'strings', value: tokens }],
    ['tokenizer.ggml.merges', { type: 'strings', value: [] }],
    ['tokenizer.ggml.eos_token_id', u32(0)],
    ...Object.entries(changes),
  ]);
  const tensors = tensorsOfShape(shape).map(([name, type, extents]) => ({
    name,
    type,
    shape: extents,
    produce: (write: (bytes: Uint8Array) => void) => write(new Uint8Array(bytesOf(type, extents))),
  }));
  writeGguf(join(folder, 'model.gguf'), metadata, tensors);
  return folder;
}

function bytesOf(type: string, extents: readonly number[]): number {
  const elements = extents.reduce((product, extent) => product * extent, 1);
  return type === 'MXFP4' ? (elements / 32) * 17 : elements * (type === 'BF16' ? 2 : 4);
}

test('a folder and the file in it are the same model, under the name of the file', async () => {
  const folder = await folderWith({});
  const [byFolder, byFile] = [await openModel(folder), await openModel(join(folder, 'model.gguf'))];
  assert.equal(byFolder.weightsPath, byFile.weightsPath);
  assert.equal(byFolder.name, 'model');
  assert.equal(byFolder.contextLength, 256);
  assert.match(byFolder.quantisation, /^BF16 \+ MXFP4/);
  assert.equal(byFolder.chatTemplate, undefined);
});

test('ids of a generation_config.json beside the file end a text as well', async () => {
  const folder = await folderWith({});
  const config = join(folder, 'generation_config.json');
  writeFileSync(config, '{"eos_token_id":[2,0,7,999999]}');
  assert.deepEqual((await openModel(folder)).eosIds, [0, 2, 7]);
  writeFileSync(config, '{"eos_token_id":3}');
  assert.deepEqual((await openModel(folder)).eosIds, [0, 3]);
  writeFileSync(config, '{"eos_token_id":"</s>"}');
  await assert.rejects(openModel(folder), /not a valid generation_config\.json/);
  writeFileSync(config, '{');
  await assert.rejects(openModel(folder), /not a valid generation_config\.json/);
});

test('a tokenizer rule that is not known is taken from a tokenizer.json, or refused without one', async () => {
  const folder = await folderWith({ 'tokenizer.ggml.pre': { type: 'string', value: 'tekken' } });
  await assert.rejects(openModel(folder), /rule "tekken" is not known/);
  copyFileSync('models/tiny-qwen3/tokenizer.json', join(folder, 'tokenizer.json'));
  const { tokenizer } = await openModel(folder);
  assert.equal(tokenizer.decode(tokenizer.encode('A whale')), 'A whale');
});

test('more tokens than rows of the embedding are refused: their ids would be read past its end', async () => {
  const value = Array.from({ length: 4097 }, (_, id) => `t${id}`);
  const folder = await folderWith({ 'tokenizer.ggml.tokens': { type: 'strings', value } });
  await assert.rejects(openModel(folder), /has 4097 tokens, the embedding only 4096 rows/);
});

test('a file cut anywhere in its weights is told as truncated, with its name', async () => {
  const path = join(newFolder(), 'cut.gguf');
  for (const bytes of [9_999_999, 5_000_000, 140_000, 100_000, 30, 5]) {
    copyFileSync(REAL, path);
    truncateSync(path, bytes);
    await assert.rejects(openModel(path), (error: Error) => {
      assert.match(error.message, /^cut\.gguf: /);
      return true;
    });
  }
});

test('a folder whose name ends in .gguf is a folder', async () => {
  const folder = join(newFolder(), 'model.gguf');
  mkdirSync(folder);
  await assert.rejects(openModel(folder), /has no \.gguf file/);
});
