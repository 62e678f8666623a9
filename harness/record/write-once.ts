// Files that appear whole or not at all, and are never changed: written beside their place, flushed, then linked to their
// name, which fails when the name exists. What a killed process left half written is removed by the next run.
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { HarnessError } from '../errors.ts';
import { isAlive, startTicksOf } from './process-identity.ts';

const PARTIAL = /^\.partial-(\d+)-(\d+)-/;

/** Proves that the folder takes records, before anything is measured: RECORDS_UNWRITABLE says why not. */
export function requireWritable(folder: string): void {
  const probe = join(folder, partialName('probe'));
  attempt(folder, () => {
    mkdirSync(folder, { recursive: true });
    removeLeftovers(folder);
    writeFlushed(probe, Buffer.alloc(4096));
  });
  rmSync(probe, { force: true });
}

/** Writes the bytes under a name that stands for them; a file that is there already stays. RECORDS_UNWRITABLE says why not. */
export function writeOnce(folder: string, path: string, bytes: Buffer): void {
  const partial = join(dirname(path), partialName('record'));
  attempt(folder, () => {
    mkdirSync(dirname(path), { recursive: true });
    try {
      writeFlushed(partial, bytes);
      linkSync(partial, path);
      syncFolder(dirname(path));
    } catch (error) {
      // The name is that of the content: whoever wrote it before wrote the same.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      rmSync(partial, { force: true });
    }
  });
}

function writeFlushed(path: string, bytes: Buffer): void {
  const file = openSync(path, 'wx', 0o644);
  try {
    let written = 0;
    while (written < bytes.length) written += writeSync(file, bytes, written);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function syncFolder(folder: string): void {
  const file = openSync(folder, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function partialName(what: string): string {
  return `.partial-${process.pid}-${startTicksOf(process.pid) ?? 0}-${what}`;
}

/** Removes what a killed run left half written; what a live one is writing stays. */
function removeLeftovers(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true }).map(String)) {
    const match = PARTIAL.exec(name.split('/').at(-1) ?? '');
    if (match !== null && !isAlive(Number(match[1]), Number(match[2]))) {
      rmSync(join(folder, name), { force: true });
    }
  }
}

function attempt(folder: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    throw unwritable(folder, error);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENOTDIR: 'a part of the path is a file, not a folder',
  EEXIST: 'a file of that name is in the way',
  ENAMETOOLONG: 'the path is too long',
};

/** The error of the system as RECORDS_UNWRITABLE with its reason; anything else as it came. */
export function unwritable(folder: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  const reason = REASONS[code] ?? `the system says ${code}`;
  const options =
    code === 'ENOSPC'
      ? { hint: 'Free some space, or name another folder with --records FOLDER.' }
      : {};
  return new HarnessError(
    'RECORDS_UNWRITABLE',
    `Records cannot be written to ${shownPath(folder)}: ${reason}.`,
    {
      cause: error,
      ...options,
    },
  );
}

/** A path as people see it from here. */
export function shownPath(path: string): string {
  const near = relative('', path);
  return near === '' || near.startsWith('..') ? path : near;
}
