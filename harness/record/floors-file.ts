// Floors as they stand where a change began: the file of the merge base, so that a change cannot lower its own bar.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { HarnessError } from '../errors.ts';
import { type FloorsFile, parseFloors } from '../parity/floors.ts';

export interface FloorsAtBase {
  /** Undefined when the merge base has no such file: nothing is protected yet. */
  floors: FloorsFile | undefined;
  /** The commit that it was read from; undefined for the working tree (no git). */
  commit: string | undefined;
}

/** Reads the floors at the merge base of HEAD and `base`. INVALID_FILE names what is wrong in them. */
export function floorsAtBase(path: string, base: string): FloorsAtBase {
  const folder = dirname(resolve(path));
  const commit = git(folder, 'merge-base', 'HEAD', base);
  if (commit === undefined) return { floors: parse(readOrEmpty(path), path), commit };
  const top = git(folder, 'rev-parse', '--show-prefix') ?? '';
  const text = git(folder, 'show', `${commit}:${top}${path.split('/').at(-1)}`);
  return {
    floors: text === undefined ? undefined : parse(text, `${path} at ${commit.slice(0, 12)}`),
    commit,
  };
}

/** The floors of the working tree, for checking a change to them. */
export function floorsHere(path: string): FloorsFile {
  return parse(readOrEmpty(path), path);
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new HarnessError('INVALID_FILE', `The floors file ${path} cannot be read.`, {
      cause,
      hint: 'Name it with --floors FILE.',
    });
  }
}

function parse(text: string, name: string): FloorsFile {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new HarnessError('INVALID_FILE', `${name} is not JSON: ${(cause as Error).message}.`, {
      cause,
    });
  }
  const parsed = parseFloors(json);
  if (parsed.ok) return parsed.floors;
  throw new HarnessError('INVALID_FILE', `${name}: ${parsed.problems.join('; ')}.`);
}

function git(cwd: string, ...args: string[]): string | undefined {
  try {
    return execFileSync('git', args, {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}
