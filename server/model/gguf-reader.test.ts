// GGUF files from outside may be anything: each is read, or refused with one line, in bounded memory.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gguf } from '@huggingface/gguf';
import { ModelError } from './errors.ts';
import { readGguf } from './gguf-reader.ts';
import { openModel } from './open-model.ts';

const REAL = 'models/tiny-qwen3/tiny-qwen3-mxfp4.gguf';
const folder = mkdtempSync(join(tmpdir(), 'mxbench-gguf-'));
after(() => rmSync(folder, { recursive: true }));

const u32 = (value: number): Buffer => Buffer.from(Uint32Array.of(value).buffer);
const u64 = (value: number | bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
};
const text = (value: string): Buffer => Buffer.concat([u64(value.length), Buffer.from(value)]);
const header = (tensors: number | bigint, pairs: number | bigint, ...rest: Buffer[]): Buffer =>
  Buffer.concat([Buffer.from('GGUF'), u32(3), u64(tensors), u64(pairs), ...rest]);
const tensor = (dimensions: (number | bigint)[], type: number, offset: number | bigint): Buffer =>
  Buffer.concat([
    text('t'),
    u32(dimensions.length),
    ...dimensions.map(u64),
    u32(type),
    u64(offset),
  ]);

async function refusal(bytes: Buffer): Promise<string> {
  const path = join(folder, 'case.gguf');
  writeFileSync(path, bytes);
  try {
    await readGguf(path);
  } catch (error) {
    assert.ok(error instanceof ModelError, String(error));
    assert.ok(!error.message.includes('\n'));
    assert.ok(error.hint.length > 0);
    return error.message;
  }
  return 'read';
}

test('the real file reads as the hub library reads it', async () => {
  const ours = await readGguf(REAL);
  const theirs = await gguf(REAL, { allowLocalFile: true });
  assert.equal(ours.tensors.length, theirs.tensorInfos.length);
  for (const [i, info] of theirs.tensorInfos.entries()) {
    const tensor = ours.tensors[i];
    assert.equal(tensor?.name, info.name);
    assert.deepEqual(tensor?.shape.toReversed(), info.shape.map(Number));
    assert.equal(tensor?.offsetBytes, Number(info.offset + theirs.tensorDataOffset));
  }
  for (const [key, value] of Object.entries(theirs.metadata)) {
    // The library adds three fields of the header to the metadata.
    if (ours.metadata.has(key)) assert.deepEqual(ours.metadata.get(key), value, key);
  }
  assert.equal(ours.metadata.size, Number(theirs.metadata['kv_count']));
});

const padding = Buffer.alloc(64);
const refused: [string, Buffer, RegExp][] = [
  ['an empty file', Buffer.alloc(0), /not a GGUF file/],
  ['text', Buffer.from('hello, this is no model at all'), /not a GGUF file/],
  ['an old version', Buffer.concat([Buffer.from('GGUF'), u32(1), padding]), /version 1/],
  ['2^60 tensors', header(2n ** 60n, 0, padding), /announces 1152921504606847000 tensors/],
  ['2^64 - 1 metadata entries', header(0, 2n ** 64n - 1n, padding), /metadata entries, more than/],
  ['a key of 2^63 bytes', header(0, 1, u64(2n ** 63n), padding), /bytes of a metadata key/],
  [
    'an array of 2^61 numbers',
    header(0, 1, text('k'), u32(9), u32(4), u64(2n ** 61n), padding),
    /elements of "k"/,
  ],
  [
    'an array in an array',
    header(0, 1, text('k'), u32(9), u32(9), u64(1), padding),
    /unknown type 9/,
  ],
  ['an unknown value type', header(0, 1, text('k'), u32(77), padding), /unknown type 77/],
  [
    'a key twice',
    header(0, 2, text('k'), u32(4), u32(1), text('k'), u32(4), u32(1), padding),
    /occurs twice/,
  ],
  ['no dimensions', header(1, 0, tensor([], 0, 0), padding), /has 0 dimensions/],
  ['nine dimensions', header(1, 0, tensor(Array(9).fill(1), 0, 0), padding), /has 9 dimensions/],
  [
    'sizes whose product overflows',
    header(1, 0, tensor([2n ** 32n, 2n ** 32n], 0, 0), padding),
    /ends at byte/,
  ],
  ['a size of zero', header(1, 0, tensor([0, 4], 0, 0), padding), /impossible shape/],
  [
    'a row that is no whole blocks',
    header(1, 0, tensor([33], 39, 0), padding),
    /impossible shape \[33\]/,
  ],
  ['an offset past the end', header(1, 0, tensor([4], 0, 1 << 20), padding), /the file has/],
  ['an offset off the alignment', header(1, 0, tensor([4], 0, 3), padding), /off the alignment/],
  [
    'a type that is not computed with',
    header(1, 0, tensor([256], 12, 0), padding),
    /"t" has type Q4_K/,
  ],
  ['an unknown type', header(1, 0, tensor([256], 1234, 0), padding), /type number 1234/],
  [
    'a tensor twice',
    header(2, 0, tensor([4], 0, 0), tensor([4], 0, 0), padding),
    /"t" occurs twice/,
  ],
  [
    'alignment zero',
    header(0, 1, text('general.alignment'), u32(4), u32(0), padding),
    /must be a power of two/,
  ],
  ['alignment 24', header(0, 1, text('general.alignment'), u32(4), u32(24), padding), /is 24/],
];
for (const [name, bytes, message] of refused) {
  test(`${name}: one line says what is wrong`, async () =>
    assert.match(await refusal(bytes), message));
}

test('a thousand broken copies of a real header are each read or refused, in bounded memory', async () => {
  const real = readFileSync(REAL).subarray(0, 400_000);
  let state = 1;
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const before = process.memoryUsage().rss;
  let refusals = 0;
  for (let i = 0; i < 1000; i++) {
    let bytes = Buffer.from(real);
    const kind = i % 4;
    if (kind === 0) bytes = bytes.subarray(0, random(bytes.length));
    // Early bytes hold the counts and the short entries; most of the rest is token text.
    const reach = i % 3 === 0 ? bytes.length : 1500;
    if (kind === 1) for (let flips = 0; flips < 3; flips++) bytes[random(reach)] = random(256);
    if (kind === 2) bytes.writeBigUInt64LE(2n ** BigInt(random(64)), random(reach));
    if (kind === 3) bytes.fill(random(256), random(reach), bytes.length);
    if ((await refusal(bytes)) !== 'read') refusals++;
  }
  assert.ok(refusals > 900, `${refusals} were refused`);
  assert.ok(process.memoryUsage().rss - before < 300e6);
});

test('specs that name no model are refused with what to do', async () => {
  const two = join(folder, 'two');
  mkdirSync(two);
  writeFileSync(join(two, 'a.gguf'), '');
  writeFileSync(join(two, 'b.gguf'), '');
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  const cases: [string, RegExp][] = [
    [join(folder, 'absent'), /There is no model/],
    [join(folder, 'two', 'a.gguf', 'x'), /There is no model/],
    [empty, /has no \.gguf file/],
    [two, /has 2 \.gguf files/],
    ['synthetic:gpt-5', /no synthetic model "gpt-5" \(there are: small-qwen3/],
    ['/dev/null', /is not a file/],
  ];
  for (const [spec, message] of cases) await assert.rejects(openModel(spec), message);
});
