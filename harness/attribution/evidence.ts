// The evidence folder of a capture: what lies in it with size and hash, which of it is kept, and whether the machine is
// left as it was found. It never touches a file outside the folder that it is given.
import { createHash } from 'node:crypto';
import { createReadStream, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { processTree } from './proc-tree.ts';

export const evidenceFileSchema = z.strictObject({
  file: z.string().describe('path inside the evidence folder'),
  bytes: z.number().int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  kept: z.boolean(),
});
export type EvidenceFile = z.infer<typeof evidenceFileSchema>;

/** Sha256 of a file in hexadecimal. */
async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/** Every file below the folder with size and hash, in order of name. */
export async function listEvidence(folder: string): Promise<EvidenceFile[]> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const files: EvidenceFile[] = [];
  for (const path of paths)
    files.push({
      file: relative(folder, path),
      bytes: statSync(path).size,
      sha256: await sha256(path),
      kept: true,
    });
  return files;
}

/**
 * Keeps the smallest files within the bound and removes the rest, the largest first; the list still names them with
 * their hash, marked as not kept.
 */
export function pruneEvidence(
  folder: string,
  files: readonly EvidenceFile[],
  maxBytes: number,
): EvidenceFile[] {
  let total = files.reduce((sum, file) => sum + file.bytes, 0);
  const removed = new Set<string>();
  for (const file of [...files].sort((a, b) => b.bytes - a.bytes)) {
    if (total <= maxBytes) break;
    rmSync(join(folder, file.file), { force: true });
    removed.add(file.file);
    total -= file.bytes;
  }
  return files.map((file) => ({ ...file, kept: file.kept && !removed.has(file.file) }));
}

export interface MachineState {
  /** perf processes below this one that run now. */
  perf: number[];
  /** Files in the places where perf and V8 leave things behind. */
  strays: string[];
}

const STRAY = /^(perf\.data(\.old)?|perf-\d+\.map|isolate-0x.*\.log|jit-\d+\.dump)$/;

/** What perf and V8 could leave behind, as it is now: compare before and after. */
export function machineState(folders: readonly string[]): MachineState {
  const strays = folders.flatMap((folder) => {
    try {
      return readdirSync(folder)
        .filter((name) => STRAY.test(name))
        .map((name) => join(folder, name));
    } catch {
      return [];
    }
  });
  return { perf: perfProcesses(), strays };
}

/** perf processes that we started: others may profile on this machine too. */
function perfProcesses(): number[] {
  return processTree(process.pid).filter((pid) => commOf(pid) === 'perf');
}

function commOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** What is there afterwards and was not before, in words; empty when the machine is clean. */
export function leftBehind(before: MachineState, after: MachineState): string[] {
  return [
    ...after.perf.filter((pid) => !before.perf.includes(pid)).map((pid) => `perf process ${pid}`),
    ...after.strays.filter((file) => !before.strays.includes(file)),
  ];
}
