// What is on the disk after a GGUF file was written, or was not.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { readGguf } from './gguf-reader.ts';
import { type TensorToWrite, type TypedValue, writeGguf } from './gguf-writer.ts';

const root = mkdtempSync(join(tmpdir(), 'mxbench-writer-'));
after(() => rmSync(root, { recursive: true }));
let folder = root;
beforeEach(() => {
  folder = mkdtempSync(join(root, 'case-'));
});

const metadata = new Map<string, TypedValue>([
  ['number', { type: 'u32', value: 4_000_000_000 }],
  ['fraction', { type: 'f32', value: 0.25 }],
  ['yes', { type: 'bool', value: true }],
  ['text', { type: 'string', value: 'größer 🐳' }],
  ['texts', { type: 'strings', value: ['', 'Ġthe', '\n'] }],
  ['ids', { type: 'i32s', value: [-1, 0, 5] }],
]);

function tensor(name: string, produced: Uint8Array): TensorToWrite {
  return { name, type: 'F32', shape: [3], produce: (write) => write(produced) };
}

test('what is written is what the reader finds, each tensor at its own bytes', async () => {
  const path = join(folder, 'model.gguf');
  const first = new Uint8Array(12).fill(7);
  const second = new Uint8Array(12).fill(9);
  writeGguf(path, metadata, [tensor('first', first), tensor('second', second)]);
  const file = await readGguf(path);
  for (const [key, { value }] of metadata) assert.deepEqual(file.metadata.get(key), value, key);
  const bytes = readFileSync(path);
  const found = file.tensors.map(({ offsetBytes, lengthBytes }) =>
    bytes.subarray(offsetBytes, offsetBytes + lengthBytes),
  );
  assert.deepEqual(found, [Buffer.from(first), Buffer.from(second)]);
  assert.deepEqual(readdirSync(folder), ['model.gguf']);
});

test('a write that fails leaves the file that was there, and nothing else', () => {
  const path = join(folder, 'model.gguf');
  writeFileSync(path, 'the old file');
  const failing: TensorToWrite = {
    ...tensor('broken', new Uint8Array(12)),
    produce: () => {
      throw new Error('no more weights');
    },
  };
  assert.throws(() => writeGguf(path, metadata, [failing]), /no more weights/);
  assert.equal(readFileSync(path, 'utf8'), 'the old file');
  assert.deepEqual(readdirSync(folder), ['model.gguf']);
});

test('a tensor of the wrong length is never written', () => {
  const short = tensor('short', new Uint8Array(8));
  assert.throws(
    () => writeGguf(join(folder, 'model.gguf'), metadata, [short]),
    /tensor short has 12 bytes; 8 were produced/,
  );
  assert.deepEqual(readdirSync(folder), []);
});

test('what a killed process left is removed, what another one is writing is kept', () => {
  const left = join(folder, 'left.gguf.1.partial');
  writeFileSync(left, 'half a model');
  utimesSync(left, 1, 1);
  writeFileSync(join(folder, 'other.gguf.2.partial'), 'half a model');
  writeGguf(join(folder, 'model.gguf'), metadata, []);
  assert.deepEqual(readdirSync(folder).sort(), ['model.gguf', 'other.gguf.2.partial']);
});
