// GGUF files from outside may be anything: each is read, or refused with one line, in bounded memory.
import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
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
  [
    'an alignment that is a text of two lines',
    header(0, 1, text('general.alignment'), u32(8), text('a\nb'), padding),
    /is a\?b; it must be/,
  ],
  ['alignment 24', header(0, 1, text('general.alignment'), u32(4), u32(24), padding), /is 24/],
];
for (const [name, bytes, message] of refused) {
  test(`${name}: one line says what is wrong`, async () =>
    assert.match(await refusal(bytes), message));
}

/** Opens the bytes as a model with all its weights: a sparse file, as long as the real one. */
async function outcome(bytes: Buffer, fileBytes: number): Promise<string> {
  const path = join(folder, 'mutant.gguf');
  writeFileSync(path, bytes);
  truncateSync(path, fileBytes);
  try {
    const { tokenizer } = await openModel(path);
    tokenizer.decode([0, 1, 2]);
    return 'read';
  } catch (error) {
    assert.ok(error instanceof ModelError, String((error as Error).stack));
    assert.match(error.message, /^[ -~]{10,400}$/);
    return error.code;
  }
}

test('a thousand broken copies of a real header are each opened or refused, in bounded memory', async () => {
  const fileBytes = statSync(REAL).size;
  const headerBytes = Math.min(...(await readGguf(REAL)).tensors.map((each) => each.offsetBytes));
  const real = readFileSync(REAL).subarray(0, headerBytes);
  const random = randomFrom(1);
  const before = process.memoryUsage().rss;
  const outcomes = new Map<string, number>();
  for (let i = 0; i < 1000; i++) {
    let bytes = Buffer.from(real);
    // Early bytes hold the counts and short entries, late ones the tensors; between them is token text.
    const early = random(1200);
    const at = i % 3 === 0 ? random(bytes.length) : i % 3 === 1 ? early : bytes.length - 1 - early;
    const kind = i % 5;
    if (kind === 0) bytes = bytes.subarray(0, at);
    if (kind === 1) for (let k = 0; k < 3; k++) bytes[Math.max(0, at - random(99))] = random(256);
    if (kind === 2)
      bytes.writeBigUInt64LE(2n ** BigInt(random(64)), Math.min(at, bytes.length - 8));
    if (kind === 3) bytes.fill(random(256), at, Math.min(bytes.length, at + 1 + random(64)));
    if (kind === 4) bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8));
    const which = await outcome(bytes, kind === 0 ? at : fileBytes);
    outcomes.set(which, (outcomes.get(which) ?? 0) + 1);
  }
  // Changed token text is still a model; every other kind of damage has to be met as well.
  for (const kind of ['read', 'truncated', 'corrupt', 'unsupported', 'not_gguf']) {
    assert.ok((outcomes.get(kind) ?? 0) >= 3, `${kind}: ${JSON.stringify([...outcomes])}`);
  }
  assert.ok(process.memoryUsage().rss - before < 300e6);
});

function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test('a file of gigabytes cannot pass for one long header', async () => {
  const path = join(folder, 'long.gguf');
  const most = 64 << 20;
  const cases: [string, Buffer, RegExp][] = [
    [
      'a text',
      header(0, 1, text('k'), u32(8), u64(2 ** 30)),
      /more than the 67108864 bytes that a/,
    ],
    ['bytes', header(0, 1, text('k'), u32(9), u32(0), u64(2 ** 30)), /elements of "k", more than/],
    ['tensors', header(2 ** 20, 0), /1048576 tensors and 0 metadata entries, which no model has/],
    ['entries', header(0, 2 ** 20), /0 tensors and 1048576 metadata entries/],
    [
      'texts without end',
      header(0, 2, text('k'), u32(8), u64(most - 100), Buffer.alloc(most - 100), u64(99)),
      /bytes of a metadata key, more than the 67108864/,
    ],
  ];
  for (const [name, bytes, message] of cases) {
    writeFileSync(path, bytes);
    truncateSync(path, 2 ** 31);
    await assert.rejects(readGguf(path), message, name);
  }
});

test('a list of ten million numbers is refused before it takes any memory', async () => {
  const count = 10_000_000;
  const bytes = Buffer.concat([
    header(0, 1, text('k'), u32(9), u32(0), u64(count)),
    Buffer.alloc(count),
  ]);
  const before = process.memoryUsage().heapUsed;
  assert.match(await refusal(bytes), /"k" has 10000000 elements, which no model has/);
  assert.ok(process.memoryUsage().heapUsed - before < 20e6);
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
