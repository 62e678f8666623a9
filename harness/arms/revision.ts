// Another revision of this project, built in a folder of the user's cache, so that it can be measured against this one. The
// clone itself is not touched: no worktree, no branch, no checkout.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { HarnessError } from '../errors.ts';

const run = promisify(execFile);
const PACKAGE = fileURLToPath(new URL('../../../', import.meta.url));
const OUTPUT_LIMIT_BYTES = 16 * 2 ** 20;

export interface BuiltRevision {
  commit: string;
  /** The server's entry file of that revision. */
  serverMain: string;
}

/** Builds the revision, or finds it built. USAGE when there is no such revision; SERVER_NOT_READY when it does not build. */
export async function buildRevision(
  revision: string,
  cacheFolder: string,
  signal: AbortSignal,
): Promise<BuiltRevision> {
  const commit = await commitOf(revision);
  const folder = join(cacheFolder, 'revisions', commit);
  const serverMain = join(folder, 'dist', 'server', 'main.js');
  if (existsSync(serverMain)) return { commit, serverMain };
  const partial = `${folder}.partial-${process.pid}`;
  try {
    mkdirSync(partial, { recursive: true });
    const tar = join(partial, 'source.tar');
    await run('git', ['archive', '-o', tar, commit], { cwd: PACKAGE, signal });
    await run('tar', ['-xf', tar, '-C', partial], { signal });
    rmSync(tar);
    await provideModules(partial, signal);
    const options = { cwd: partial, signal, maxBuffer: OUTPUT_LIMIT_BYTES };
    await run(process.execPath, ['native/build.mjs'], options);
    await run(process.execPath, ['node_modules/typescript/bin/tsc'], options);
    renameSync(partial, folder);
    return { commit, serverMain };
  } catch (cause) {
    rmSync(partial, { recursive: true, force: true });
    if (signal.aborted)
      throw new HarnessError('INTERRUPTED', `Interrupted while ${revision} was built.`);
    const said =
      (cause as { stderr?: string }).stderr?.trim().split('\n').slice(-5).join('\n') ?? '';
    throw new HarnessError(
      'SERVER_NOT_READY',
      `Revision ${revision} (${commit.slice(0, 12)}) does not build.`,
      {
        cause,
        hint: said === '' ? (cause as Error).message : `It said: ${said}`,
      },
    );
  }
}

async function commitOf(revision: string): Promise<string> {
  try {
    const options = { cwd: PACKAGE };
    const { stdout } = await run('git', ['rev-parse', '--verify', `${revision}^{commit}`], options);
    return stdout.trim();
  } catch (cause) {
    throw new HarnessError('USAGE', `${revision} is not a revision of this project.`, {
      cause,
      hint: 'See: git log --oneline',
    });
  }
}

/** The same lock file means the same modules, which are then shared instead of installed anew. */
async function provideModules(folder: string, signal: AbortSignal): Promise<void> {
  const lock = (root: string) => readFileSync(join(root, 'package-lock.json'), 'utf8');
  if (lock(folder) === lock(PACKAGE)) {
    symlinkSync(join(PACKAGE, 'node_modules'), join(folder, 'node_modules'));
    return;
  }
  await run('npm', ['ci', '--ignore-scripts', '--silent'], {
    cwd: folder,
    signal,
    maxBuffer: OUTPUT_LIMIT_BYTES,
  });
}
