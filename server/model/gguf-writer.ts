// Writes a GGUF version 3 file whole or not at all: into a temporary file beside the target, synced, then renamed. Two
// processes that write the same path at once both succeed, and readers see one of the two. What a killed process left
// is removed when the next file is written.
import { randomUUID } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { TensorTypeName } from '../../native/index.ts';
import type { GgufScalar } from './gguf-reader.ts';
import { TENSOR_TYPES_BY_ID } from './tensor-types.ts';

const ALIGNMENT = 32;
const U32 = 4;
const I32 = 5;
const F32 = 6;
const BOOL = 7;
const STRING = 8;
const ARRAY = 9;

/** A metadata value with the type that the file gives it. */
export type TypedValue =
  | { type: 'u32' | 'f32'; value: number }
  | { type: 'bool'; value: boolean }
  | { type: 'string'; value: string }
  | { type: 'strings'; value: readonly string[] }
  | { type: 'i32s'; value: readonly number[] };

export interface TensorToWrite {
  name: string;
  type: TensorTypeName;
  /** Row-major. */
  shape: readonly number[];
  /** Calls `write` with the tensor's bytes in order, in pieces of any size. */
  produce(write: (bytes: Uint8Array) => void): void;
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'utf8');
  return Buffer.concat([u64(bytes.length), bytes]);
}

function number32(write: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.alloc(4);
  write(bytes);
  return bytes;
}

function encodeValue(entry: TypedValue): Buffer {
  switch (entry.type) {
    case 'u32':
      return Buffer.concat([u32(U32), u32(entry.value)]);
    case 'f32':
      return Buffer.concat([u32(F32), number32((bytes) => bytes.writeFloatLE(entry.value))]);
    case 'bool':
      return Buffer.concat([u32(BOOL), Buffer.of(entry.value ? 1 : 0)]);
    case 'string':
      return Buffer.concat([u32(STRING), text(entry.value)]);
    case 'strings':
      return encodeArray(STRING, entry.value, (value) => text(String(value)));
    case 'i32s':
      return encodeArray(I32, entry.value, (value) =>
        number32((bytes) => bytes.writeInt32LE(Number(value))),
      );
  }
}

function encodeArray(
  type: number,
  values: readonly GgufScalar[],
  encode: (value: GgufScalar) => Buffer,
): Buffer {
  return Buffer.concat([u32(ARRAY), u32(type), u64(values.length), ...values.map(encode)]);
}

/** Bytes of a tensor of this type and shape. */
export function tensorBytes(type: TensorTypeName, shape: readonly number[]): number {
  const layout = [...TENSOR_TYPES_BY_ID.values()].find(({ name }) => name === type);
  const elements = shape.reduce((product, extent) => product * extent, 1);
  return layout ? (elements / layout.blockElements) * layout.blockBytes : 0;
}

function typeId(type: TensorTypeName): number {
  for (const [id, { name }] of TENSOR_TYPES_BY_ID) if (name === type) return id;
  throw new Error(`no type number for ${type}`);
}

const paddingAfter = (bytes: number): number => (ALIGNMENT - (bytes % ALIGNMENT)) % ALIGNMENT;

function encodeHeader(
  metadata: ReadonlyMap<string, TypedValue>,
  tensors: readonly TensorToWrite[],
): Buffer {
  const parts = [Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(metadata.size)];
  for (const [key, value] of metadata) parts.push(text(key), encodeValue(value));
  let offset = 0;
  for (const { name, type, shape } of tensors) {
    const dimensions = shape.toReversed().map(u64);
    parts.push(text(name), u32(shape.length), ...dimensions, u32(typeId(type)), u64(offset));
    const bytes = tensorBytes(type, shape);
    offset += bytes + paddingAfter(bytes);
  }
  const header = Buffer.concat(parts);
  return Buffer.concat([header, Buffer.alloc(paddingAfter(header.length))]);
}

const PARTIAL = '.partial';
/** A writer at work touches its file all the time; only a slow sync may pause it. */
const ABANDONED_AFTER_MS = 5 * 60_000;

/** Gigabytes that a killed process left: no process would ever finish them. */
function removeAbandoned(folder: string): void {
  const fresh = join(folder, `${randomUUID()}${PARTIAL}`);
  closeSync(openSync(fresh, 'wx'));
  // The file system's own clock, which on a network disk need not be ours.
  const nowMs = statSync(fresh).mtimeMs;
  rmSync(fresh);
  for (const name of readdirSync(folder)) {
    if (!name.endsWith(PARTIAL)) continue;
    const path = join(folder, name);
    const touchedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs;
    if (nowMs - touchedMs <= ABANDONED_AFTER_MS) continue;
    try {
      rmSync(path, { force: true });
    } catch {
      // Somebody else's, who may remove it; this write does without.
    }
  }
}

function writeTensor(tensor: TensorToWrite, write: (bytes: Uint8Array) => void): void {
  const bytes = tensorBytes(tensor.type, tensor.shape);
  let produced = 0;
  tensor.produce((piece) => {
    produced += piece.length;
    write(piece);
  });
  // Every later tensor would be read from the wrong place.
  if (produced !== bytes) {
    throw new Error(`tensor ${tensor.name} has ${bytes} bytes; ${produced} were produced`);
  }
  write(Buffer.alloc(paddingAfter(bytes)));
}

/** Writes the file; errors of the file system pass through, and leave nothing behind. */
export function writeGguf(
  path: string,
  metadata: ReadonlyMap<string, TypedValue>,
  tensors: readonly TensorToWrite[],
): void {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true });
  removeAbandoned(folder);
  // Containers that share a folder may have equal process ids.
  const temporary = `${path}.${randomUUID()}${PARTIAL}`;
  const fd = openSync(temporary, 'wx');
  try {
    try {
      const write = (bytes: Uint8Array): void => {
        for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
      };
      write(encodeHeader(metadata, tensors));
      for (const tensor of tensors) writeTensor(tensor, write);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
