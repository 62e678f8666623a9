// Which harness measured: version, commit, and a hash over its built files that survives a rebase.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { HarnessIdentity } from './record.ts';
import type { Private } from './redaction.ts';

const PACKAGE = fileURLToPath(new URL('../../../', import.meta.url));
const HARNESS = fileURLToPath(new URL('../', import.meta.url));

/** The version in package.json. */
export function harnessVersion(): string {
  const parsed = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')));
  return parsed.version;
}

/** Who we are. Without git, or outside of a clone, commit and dirty are null. */
export function harnessIdentity(): HarnessIdentity {
  const commit = git('rev-parse', 'HEAD');
  // Records are written by the tool itself, and pages are made from them: they do not make the sources dirty.
  const status = git(
    'status',
    '--porcelain',
    '--',
    '.',
    ':!records',
    ':!BENCHMARKS.md',
    ':!STATUS.md',
  );
  return {
    version: harnessVersion(),
    node: process.version,
    commit: commit ?? null,
    dirty: commit === undefined || status === undefined ? null : status !== '',
    sourceSha256: sourceHash(),
  };
}

/** Folders and names that records must not hold. */
export function privateNames(): Private {
  const folders = [
    { path: homedir(), shown: '~' },
    { path: process.cwd(), shown: '.' },
    { path: PACKAGE.replace(/\/$/, ''), shown: 'MXBENCH' },
  ];
  return { folders, hostNames: [hostname()] };
}

function sourceHash(): string {
  const hash = createHash('sha256');
  const names = readdirSync(HARNESS, { recursive: true }).map(String);
  for (const name of names.filter((path) => /(?<!\.test)\.js$/.test(path)).sort()) {
    hash.update(`${name}\n`).update(readFileSync(join(HARNESS, name)));
  }
  return hash.digest('hex');
}

function git(...args: string[]): string | undefined {
  try {
    return execFileSync('git', args, {
      cwd: PACKAGE,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}
