// GGUF (version 2 and 3): the header of a model file, read with every count, length and offset checked against the file. The
// weights are not read; the engine maps them.
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { basename } from 'node:path';
import type { TensorLocation } from '../../native/index.ts';
import { ModelError } from './errors.ts';
import { HeaderCursor } from './header-cursor.ts';
import { shown } from './shown-name.ts';
import { TENSOR_TYPES_BY_ID, tensorTypeName } from './tensor-types.ts';

export type GgufScalar = number | boolean | string;
export type GgufValue = GgufScalar | GgufScalar[];

export interface GgufFile {
  path: string;
  fileBytes: number;
  version: number;
  metadata: Map<string, GgufValue>;
  /** Shapes row-major (the slowest dimension first), offsets from the file's beginning. */
  tensors: TensorLocation[];
}

const MAGIC = 0x46554747;
const DEFAULT_ALIGNMENT = 32;
const MAX_DIMENSIONS = 4;
/** Of tensors, and of metadata entries: the largest models have a few thousand. */
const MAX_ENTRIES = 1 << 16;
/** Of one list: vocabularies and merges of the largest models have a few hundred thousand. As values they take far more
 * memory than in the file. */
const MAX_ELEMENTS = 1 << 21;
/** Key length, type and one byte of value; name length, dimension count, one dimension, type and offset. */
const LEAST_PAIR_BYTES = 13;
const LEAST_TENSOR_BYTES = 32;
const MAX_ARRAY_DEPTH = 1;

type Scalar = { leastBytes: number; read(cursor: HeaderCursor): GgufScalar };
const ARRAY_TYPE = 9;
const SCALARS: ReadonlyMap<number, Scalar> = new Map<number, Scalar>([
  [0, { leastBytes: 1, read: (cursor) => cursor.u8() }],
  [1, { leastBytes: 1, read: (cursor) => cursor.i8() }],
  [2, { leastBytes: 2, read: (cursor) => cursor.u16() }],
  [3, { leastBytes: 2, read: (cursor) => cursor.i16() }],
  [4, { leastBytes: 4, read: (cursor) => cursor.u32() }],
  [5, { leastBytes: 4, read: (cursor) => cursor.i32() }],
  [6, { leastBytes: 4, read: (cursor) => cursor.f32() }],
  [7, { leastBytes: 1, read: (cursor) => cursor.u8() !== 0 }],
  [8, { leastBytes: 8, read: (cursor) => cursor.string('text') }],
  [10, { leastBytes: 8, read: (cursor) => cursor.u64() }],
  [11, { leastBytes: 8, read: (cursor) => cursor.i64() }],
  [12, { leastBytes: 8, read: (cursor) => cursor.f64() }],
]);

/** Reads the header of `path`; ModelError says in one sentence what is wrong with the file. */
export async function readGguf(path: string): Promise<GgufFile> {
  const fd = openFile(path);
  try {
    const status = fstatSync(fd);
    if (!status.isFile()) throw new ModelError('not_gguf', `${path} is not a file.`);
    return parseNamed(path, fd, status.size);
  } finally {
    closeSync(fd);
  }
}

function parseNamed(path: string, fd: number, fileBytes: number): GgufFile {
  try {
    return parse(path, new HeaderCursor(fd, fileBytes), fileBytes);
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    throw new ModelError(error.code, `${basename(path)}: ${error.message}`, { cause: error });
  }
}

function openFile(path: string): number {
  try {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer for ever.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      throw new ModelError('not_found', `There is no file ${path}.`, { cause });
    }
    throw new ModelError('unreadable', `${path} cannot be opened (${code}).`, { cause });
  }
}

function parse(path: string, cursor: HeaderCursor, fileBytes: number): GgufFile {
  if (fileBytes < 24 || cursor.u32() !== MAGIC) {
    throw new ModelError('not_gguf', 'this is not a GGUF file (it does not begin with "GGUF").');
  }
  const version = cursor.u32();
  if (version !== 2 && version !== 3) {
    throw new ModelError('unsupported', `GGUF version ${version} is not supported.`);
  }
  const tensorCount = cursor.count(LEAST_TENSOR_BYTES, 'tensors');
  const pairCount = cursor.count(LEAST_PAIR_BYTES, 'metadata entries');
  if (tensorCount > MAX_ENTRIES || pairCount > MAX_ENTRIES) {
    throw new ModelError(
      'corrupt',
      `the header announces ${tensorCount} tensors and ${pairCount} metadata entries, which no model has.`,
    );
  }
  const metadata = readMetadata(cursor, pairCount);
  const infos = readTensorInfos(cursor, tensorCount);
  const alignment = alignmentOf(metadata);
  const dataStart = Math.ceil(cursor.position / alignment) * alignment;
  const tensors = infos.map((info) => locate(info, dataStart, alignment, fileBytes));
  return { path, fileBytes, version, metadata, tensors };
}

function readMetadata(cursor: HeaderCursor, count: number): Map<string, GgufValue> {
  const metadata = new Map<string, GgufValue>();
  for (let i = 0; i < count; i++) {
    const key = cursor.string('a metadata key');
    if (metadata.has(key))
      throw new ModelError('corrupt', `metadata key "${shown(key)}" occurs twice.`);
    metadata.set(key, readValue(cursor, cursor.u32(), key, 0));
  }
  return metadata;
}

function readValue(cursor: HeaderCursor, type: number, key: string, depth: number): GgufValue {
  if (type !== ARRAY_TYPE) return scalarOf(type, key).read(cursor);
  if (depth >= MAX_ARRAY_DEPTH) {
    throw new ModelError('corrupt', `metadata "${shown(key)}" nests arrays.`);
  }
  const element = scalarOf(cursor.u32(), key);
  const count = cursor.count(element.leastBytes, `elements of "${shown(key)}"`);
  if (count > MAX_ELEMENTS) {
    throw new ModelError(
      'corrupt',
      `metadata "${shown(key)}" has ${count} elements, which no model has.`,
    );
  }
  const values: GgufScalar[] = [];
  for (let i = 0; i < count; i++) values.push(element.read(cursor));
  return values;
}

function scalarOf(type: number, key: string): Scalar {
  const scalar = SCALARS.get(type);
  if (!scalar)
    throw new ModelError('corrupt', `metadata "${shown(key)}" has unknown type ${type}.`);
  return scalar;
}

interface TensorInfo {
  name: string;
  /** As in the file: the fastest dimension first. */
  dimensions: number[];
  type: number;
  offset: number;
}

function readTensorInfos(cursor: HeaderCursor, count: number): TensorInfo[] {
  const names = new Set<string>();
  const infos: TensorInfo[] = [];
  for (let i = 0; i < count; i++) {
    const name = cursor.string('a tensor name');
    if (names.has(name)) throw new ModelError('corrupt', `tensor "${shown(name)}" occurs twice.`);
    names.add(name);
    const dimensionCount = cursor.u32();
    if (dimensionCount < 1 || dimensionCount > MAX_DIMENSIONS) {
      throw new ModelError('corrupt', `tensor "${shown(name)}" has ${dimensionCount} dimensions.`);
    }
    const dimensions = Array.from({ length: dimensionCount }, () => cursor.u64());
    infos.push({ name, dimensions, type: cursor.u32(), offset: cursor.u64() });
  }
  return infos;
}

function alignmentOf(metadata: Map<string, GgufValue>): number {
  const alignment = metadata.get('general.alignment') ?? DEFAULT_ALIGNMENT;
  const isPowerOfTwo =
    typeof alignment === 'number' &&
    Number.isInteger(alignment) &&
    alignment >= 1 &&
    alignment <= 1 << 20 &&
    (alignment & (alignment - 1)) === 0;
  if (!isPowerOfTwo) {
    throw new ModelError(
      'corrupt',
      `general.alignment is ${shown(String(alignment))}; it must be a power of two.`,
    );
  }
  return alignment;
}

function locate(
  info: TensorInfo,
  dataStart: number,
  alignment: number,
  fileBytes: number,
): TensorLocation {
  const name = shown(info.name);
  const type = TENSOR_TYPES_BY_ID.get(info.type);
  if (!type) {
    throw new ModelError(
      'unsupported',
      `tensor "${name}" has type ${tensorTypeName(info.type)}, which the engine does not compute with.`,
    );
  }
  const [columns = 0] = info.dimensions;
  const elements = info.dimensions.reduce((product, extent) => product * extent, 1);
  if (elements < 1 || columns % type.blockElements !== 0) {
    throw new ModelError(
      'corrupt',
      `tensor "${name}" (${type.name}) has the impossible shape [${info.dimensions}].`,
    );
  }
  const lengthBytes = (elements / type.blockElements) * type.blockBytes;
  const offsetBytes = dataStart + info.offset;
  if (info.offset % alignment !== 0) {
    throw new ModelError(
      'corrupt',
      `tensor "${name}" begins at ${info.offset}, off the alignment.`,
    );
  }
  // Products above 2^53 are inexact, but far above any file's size.
  if (offsetBytes + lengthBytes > fileBytes) {
    throw new ModelError(
      'truncated',
      `tensor "${name}" ends at byte ${offsetBytes + lengthBytes}; the file has ${fileBytes}.`,
    );
  }
  return {
    name: info.name,
    type: type.name,
    shape: info.dimensions.toReversed(),
    offsetBytes,
    lengthBytes,
  };
}
