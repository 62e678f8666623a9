// Records as write-once files: write, list, find, read and check. Nothing here is ever changed or removed once written.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { HarnessError } from '../errors.ts';
import { canonicalJson, canonicalSha256 } from './canonical-json.ts';
import { type Json, upgrade } from './migrations.ts';
import { type Draft, type RunRecord, recordSchema } from './record.ts';
import { type RequestRow, requestRow } from './record-parts.ts';
import { shownPath, unwritable, writeOnce } from './write-once.ts';

/** A record above this size keeps its per-request data in a file of its own. */
export const RECORD_LIMIT_BYTES = 64 * 1024;

export interface StoredRecord {
  path: string;
  record: RunRecord;
  /** Read by a reader that is older than the record. */
  newerMinor: boolean;
}

/** What is wrong with a file that should be a record. */
export interface BrokenRecord {
  path: string;
  problem: string;
}

/**
 * Writes the record and, when it is large, its per-request data beside it. Resolves to the record with its id, and where
 * it lies. RECORDS_UNWRITABLE says which folder and why; nothing is left there then.
 */
export function writeRecord(
  folder: string,
  draft: Draft,
  rows: readonly RequestRow[] = [],
): StoredRecord {
  const prev = newestId(folder, seriesFolder(draft));
  const record = sealed(folder, withRaw(folder, draft, rows, prev), prev);
  const stamp = draft.createdUtc.replaceAll(/[-:]|\.\d+/g, '');
  const path = join(folder, seriesFolder(draft), `${stamp}-${record.id.slice(0, 12)}.json`);
  writeOnce(folder, path, Buffer.from(`${canonicalJson(record)}\n`));
  return { path, record, newerMinor: false };
}

/** Each kind lies in a folder of that name; what else lies in a records folder (raw data, evidence) is no record. */
const KINDS: readonly RunRecord['kind'][] = ['attribution', 'calibration', 'parity', 'sweep'];

/** Paths of all records, oldest first within a series; an absent folder holds none. */
export function listPaths(folder: string): string[] {
  return KINDS.flatMap((kind) => pathsUnder(join(folder, kind)));
}

function pathsUnder(folder: string): string[] {
  let names: string[];
  try {
    names = readdirSync(folder, { recursive: true }).map(String);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw unwritable(folder, error);
  }
  return names
    .filter(
      (name) => name.endsWith('.json') && !name.split('/').some((part) => part.startsWith('.')),
    )
    .sort()
    .map((name) => join(folder, name));
}

/** Reads and checks one record: its schema, and that its id is that of its content. INVALID_FILE says what is wrong. */
export function readRecord(path: string): StoredRecord {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw invalid(path, `it cannot be read as JSON: ${(cause as Error).message}`, cause);
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw invalid(path, 'it is not a JSON object');
  }
  const { id, ...content } = json as Json;
  if (id !== canonicalSha256(content)) {
    throw invalid(
      path,
      'its id is not the hash of its content, so it was changed after it was written',
    );
  }
  try {
    const { record, newerMinor } = upgrade(json as Json);
    const parsed = recordSchema.safeParse(record);
    if (parsed.success) return { path, record: parsed.data, newerMinor };
    const issue = parsed.error.issues[0];
    throw new RangeError(`its field ${issue?.path.join('.')} is wrong: ${issue?.message}`);
  } catch (cause) {
    throw invalid(path, (cause as Error).message, cause);
  }
}

/** All records of the folder one after another; a file that is none is given as a BrokenRecord. */
export function* readAll(folder: string): Generator<StoredRecord | BrokenRecord> {
  for (const path of listPaths(folder)) {
    try {
      yield readRecord(path);
    } catch (error) {
      if (!(error instanceof HarnessError)) throw error;
      yield { path, problem: error.message };
    }
  }
}

/** The record whose id begins so; INVALID_FILE when there is none or more than one. */
export function findRecord(folder: string, idPrefix: string): StoredRecord {
  const stem = idPrefix.slice(0, 12);
  const paths = listPaths(folder).filter((path) => path.split('-').at(-1)?.startsWith(stem));
  const found = paths.map(readRecord).filter(({ record }) => record.id.startsWith(idPrefix));
  const [first] = found;
  if (first === undefined || found.length > 1 || !/^[0-9a-f]{4,64}$/.test(idPrefix)) {
    const many =
      found.length > 1
        ? `${found.length} records begin with`
        : 'No record has an id that begins with';
    throw new HarnessError('INVALID_FILE', `${many} ${JSON.stringify(idPrefix)} in ${folder}.`, {
      hint: 'List them with: bench records list',
    });
  }
  return first;
}

/** Per-request data of a sweep; undefined when its file has expired. INVALID_FILE when it is not what was recorded. */
export function readRows(folder: string, record: RunRecord): RequestRow[] | undefined {
  if (record.kind !== 'sweep' && record.kind !== 'parity') return [];
  const { raw } = record;
  if (raw.kind === 'inline') return raw.requests;
  const path = rawPath(folder, raw.sha256);
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch {
    return undefined;
  }
  if (createHash('sha256').update(bytes).digest('hex') !== raw.sha256) {
    throw invalid(path, 'its hash is not the one in the record');
  }
  const lines = gunzipSync(bytes).toString('utf8').trimEnd().split('\n');
  return lines.map((line) => requestRow.parse(JSON.parse(line)));
}

function withRaw(
  folder: string,
  draft: Draft,
  rows: readonly RequestRow[],
  prev: string | null,
): Draft {
  if (draft.kind !== 'sweep' && draft.kind !== 'parity') return draft;
  const inline: Draft = { ...draft, raw: { kind: 'inline', requests: [...rows] } };
  if (Buffer.byteLength(canonicalJson({ ...inline, chain: { prev } })) + 100 <= RECORD_LIMIT_BYTES)
    return inline;
  const bytes = gzipSync(rows.map((row) => canonicalJson(row)).join('\n'));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  writeOnce(folder, rawPath(folder, sha256), bytes);
  const raw = {
    kind: 'file',
    sha256,
    bytes: bytes.length,
    rows: rows.length,
    encoding: 'jsonl+gzip',
  } as const;
  return { ...draft, raw };
}

function sealed(folder: string, draft: Draft, prev: string | null): RunRecord {
  const parsed = recordSchema.safeParse({ ...draft, chain: { prev }, id: '0'.repeat(64) });
  if (!parsed.success) {
    throw new Error(`A record for ${folder} does not keep its own schema.`, {
      cause: parsed.error,
    });
  }
  const { id: _, ...content } = parsed.data;
  return { ...content, id: canonicalSha256(content) } as RunRecord;
}

function seriesFolder(draft: Draft): string {
  return join(draft.kind, draft.environment.envClass);
}

function newestId(folder: string, series: string): string | null {
  const newest = pathsUnder(join(folder, series)).at(-1);
  return newest === undefined ? null : readRecord(newest).record.id;
}

function rawPath(folder: string, sha256: string): string {
  return join(folder, 'raw', `${sha256}.jsonl.gz`);
}

function invalid(path: string, problem: string, cause?: unknown): HarnessError {
  return new HarnessError('INVALID_FILE', `${shownPath(path)} is not a valid record: ${problem}.`, {
    cause,
    hint: 'Restore it from version control; see: bench records check',
  });
}
