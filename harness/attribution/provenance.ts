// Proof of what was measured: which revision the bundled server was built from, and whether its sources are those of
// another revision. It asks git; without git it says nothing rather than guess.
import { execFileSync } from 'node:child_process';
import { z } from 'zod';
import { HarnessError } from '../errors.ts';

export const provenanceSchema = z.strictObject({
  revision: z.string().nullable().describe('commit of the sources, null outside a repository'),
  dirty: z.boolean().nullable().describe('files differ from the commit'),
  sameAs: z
    .strictObject({
      revision: z.string(),
      path: z.string(),
      /** Git's own hash of the tree or file on both sides. */
      here: z.string(),
      there: z.string(),
      identical: z.boolean(),
    })
    .nullable(),
});
export type Provenance = z.infer<typeof provenanceSchema>;

function git(folder: string, ...args: string[]): string | undefined {
  try {
    return execFileSync('git', ['-C', folder, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}

/** Compares `path` as committed here with REV:path; INVALID_FILE where git knows one of them not, or files are dirty. */
function compare(folder: string, claim: string): NonNullable<Provenance['sameAs']> {
  const [, revision = '', path = ''] = /^([^:]+):(.+)$/.exec(claim) ?? [];
  const here = path === '' ? undefined : git(folder, 'rev-parse', '--verify', `HEAD:${path}`);
  const there =
    path === '' ? undefined : git(folder, 'rev-parse', '--verify', `${revision}:${path}`);
  if (here === undefined || there === undefined)
    throw new HarnessError(
      'INVALID_FILE',
      `--same-as ${claim}: git knows no ${here === undefined ? `HEAD:${path}` : claim}`,
      {
        hint: 'Give REVISION:PATH, with a path that both revisions have, such as v1.2:native.',
      },
    );
  const changed = git(folder, 'status', '--porcelain', '--', path) !== '';
  return {
    revision,
    path,
    here: changed ? `${here} with changes` : here,
    there,
    identical: !changed && here === there,
  };
}

/** Revision of the sources in this folder, and the proof that was asked for. */
export function provenanceOf(folder: string, sameAs: string | undefined): Provenance {
  const revision = git(folder, 'rev-parse', 'HEAD') ?? null;
  const status =
    revision === null ? undefined : git(folder, 'status', '--porcelain', '--untracked-files=no');
  return {
    revision,
    dirty: status === undefined ? null : status !== '',
    sameAs: sameAs === undefined ? null : compare(folder, sameAs),
  };
}
