// Writes a GGUF version 3 file whole or not at all: into a temporary file beside the target, synced, then renamed. Two
// processes that write the same path at once both succeed, and readers see one of the two.
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
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

/** Writes the file; errors of the file system pass through, and leave nothing behind. */
export function writeGguf(
  path: string,
  metadata: ReadonlyMap<string, TypedValue>,
  tensors: readonly TensorToWrite[],
): void {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}.partial`;
  const fd = openSync(temporary, 'w');
  try {
    const write = (bytes: Uint8Array): void => {
      for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
    };
    write(encodeHeader(metadata, tensors));
    for (const tensor of tensors) {
      tensor.produce(write);
      write(Buffer.alloc(paddingAfter(tensorBytes(tensor.type, tensor.shape))));
    }
    fsyncSync(fd);
    closeSync(fd);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
