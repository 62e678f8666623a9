// Numbers of a real header that say how much follows, made too large one at a time: all outside the long lists, and a
// sample of those in them. Each file is refused in one line, and nothing of that size is allocated. Random damage is in
// gguf-reader.test.ts.
import assert from 'node:assert/strict';
import {
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ModelError } from './errors.ts';
import { readGguf } from './gguf-reader.ts';

const REAL = 'models/tiny-qwen3/tiny-qwen3-mxfp4.gguf';
const folder = mkdtempSync(join(tmpdir(), 'mxbench-sizes-'));
after(() => rmSync(folder, { recursive: true }));

interface SizeField {
  what: string;
  at: number;
  bytes: 4 | 8;
}

const STRING = 8;
const ARRAY = 9;
const SCALAR_BYTES = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];

/** Finds the fields by the format's own rules, without the reader that is under test; it trusts the file. */
class SizeFields {
  readonly found: SizeField[] = [];
  #at = 8;
  readonly #bytes: Buffer;
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    const tensors = this.#u64('count of tensors');
    const pairs = this.#u64('count of metadata entries');
    for (let i = 0; i < pairs; i++) this.#pair(i);
    for (let i = 0; i < tensors; i++) this.#tensor(i, i % 6 === 0 || i === tensors - 1);
  }

  #u64(what?: string): number {
    if (what) this.found.push({ what, at: this.#at, bytes: 8 });
    this.#at += 8;
    return Number(this.#bytes.readBigUInt64LE(this.#at - 8));
  }
  #u32(what?: string): number {
    if (what) this.found.push({ what, at: this.#at, bytes: 4 });
    this.#at += 4;
    return this.#bytes.readUInt32LE(this.#at - 4);
  }
  #text(what?: string): void {
    const length = this.#u64(what);
    this.#at += length;
  }

  #pair(index: number): void {
    this.#text(`length of key ${index}`);
    const type = this.#u32();
    if (type === STRING) this.#text(`length of text ${index}`);
    else if (type === ARRAY) this.#array(index);
    else this.#at += SCALAR_BYTES[type] ?? 0;
  }

  #array(index: number): void {
    const type = this.#u32();
    const count = this.#u64(`count of array ${index}`);
    if (type !== STRING) this.#at += count * (SCALAR_BYTES[type] ?? 0);
    // All elements are read by the same lines: the ends and some between stand for the rest.
    else
      for (let i = 0; i < count; i++) {
        const isTried = i === 0 || i === count - 1 || i % 512 === 0;
        this.#text(isTried ? `length of element ${i} of ${index}` : undefined);
      }
  }

  #tensor(index: number, isTried: boolean): void {
    const field = (what: string): string | undefined =>
      isTried ? `${what} of tensor ${index}` : undefined;
    this.#text(field('length of the name'));
    const dimensions = this.#u32(field('count of dimensions'));
    for (let i = 0; i < dimensions; i++) this.#u64(field(`size ${i}`));
    this.#u32(field('type'));
    this.#u64(field('offset'));
  }
}

/** Reads the file with `value` at the field, and puts back what was there. */
async function readWith(path: string, field: SizeField, value: bigint): Promise<unknown> {
  const patch = Buffer.alloc(8);
  patch.writeBigUInt64LE(value);
  const real = original.subarray(field.at, field.at + field.bytes);
  const fd = openSync(path, 'r+');
  try {
    writeSync(fd, patch, 0, field.bytes, field.at);
    return await readGguf(path).then(
      () => 'read',
      (error: unknown) => error,
    );
  } finally {
    writeSync(fd, real, 0, field.bytes, field.at);
    closeSync(fd);
  }
}

const original = readFileSync(REAL);

test('the untouched copy is read: what is refused below is refused for the one number', async () => {
  assert.equal((await readGguf(REAL)).tensors.length, 90);
});

test('counts, lengths, sizes and offsets all over a real header are refused when too large', async () => {
  const path = join(folder, 'sizes.gguf');
  copyFileSync(REAL, path);
  const fields = new SizeFields(original).found;
  assert.ok(fields.length > 100, `${fields.length} fields`);
  const before = process.resourceUsage().maxRSS;
  // 2^31 could be allocated, 2^60 wraps around when it is multiplied, 2^63 is negative for who reads it with a sign.
  const values = [2n ** 31n, 2n ** 60n, 2n ** 63n];
  for (const [i, field] of fields.entries()) {
    const tried = field.bytes === 4 ? 2n ** 31n : (values[i % values.length] ?? 0n);
    const error = await readWith(path, field, tried);
    const said = `${field.what} = ${tried}: ${String(error)}`;
    assert.ok(error instanceof ModelError, said);
    assert.match(error.message, /^sizes\.gguf: [ -~]{10,400}$/, said);
  }
  assert.deepEqual(readFileSync(path), original);
  const grownBytes = (process.resourceUsage().maxRSS - before) * 1024;
  assert.ok(grownBytes < 256e6, `${grownBytes} bytes for a file of ${statSync(path).size}`);
});

test('the header counts are refused at every power of two above what the file can hold', async () => {
  const path = join(folder, 'counts.gguf');
  copyFileSync(REAL, path);
  const [tensors, pairs] = new SizeFields(original).found;
  assert.ok(tensors && pairs);
  for (let power = 20n; power < 64n; power++) {
    for (const field of [tensors, pairs]) {
      const error = await readWith(path, field, 2n ** power - 1n);
      assert.ok(error instanceof ModelError, `${field.what} = 2^${power} - 1: ${String(error)}`);
    }
  }
});
