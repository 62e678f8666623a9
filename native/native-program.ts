// Builds and runs the native test and benchmark programs for the tests beside them, and reads what they
// print. Holds no checks itself.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

export interface ProgramRun {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program of native/ with its arguments; `path` is relative to the repository. */
export function runProgram(path: string, args: readonly string[] = []): ProgramRun {
  const run = spawnSync(join(root, path), args, { encoding: 'utf8', maxBuffer: 1 << 26 });
  if (run.error) throw run.error;
  return { status: run.status, stdout: run.stdout, stderr: run.stderr };
}

/** Builds one target of native/ (`--tests`, `--sanitize` or `--bench`); throws with the compiler's words. */
export function buildProgram(option: string): void {
  const build = spawnSync(process.execPath, [join(root, 'native', 'build.mjs'), option], {
    encoding: 'utf8',
  });
  if (build.status !== 0) throw new Error(`native/build.mjs ${option} failed: ${build.stderr}`);
}

/** Number of checks by "kernel | instruction set", from the lines `checks | kernel | isa | count`. */
export function checkCounts(stdout: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [, subject = '', count] of stdout.matchAll(/^checks \| (.+) \| (\d+)$/gm)) {
    counts.set(subject, Number(count));
  }
  return counts;
}

/** Every kernel that the tests must cover on every instruction set, with a lower bound of its checks. */
export const KERNEL_CHECKS: ReadonlyArray<readonly [kernel: string, atLeast: number]> = [
  ['matrix mxfp4 x int8', 20_000],
  ['matrix mxfp4 x bf16', 20_000],
  ['matrix mxfp4 x f32', 20_000],
  ['matrix q8 x int8', 5000],
  ['matrix q8 x f32', 5000],
  ['matrix bf16 x bf16', 5000],
  ['matrix bf16 x f32', 5000],
  ['matrix f32 x f32', 5000],
  ['pack activations int8', 2000],
  ['pack activations bf16', 300],
  ['pack activations f32', 300],
  ['attend bf16', 100_000],
  ['attend f32', 100_000],
  ['store_kv bf16', 1000],
  ['store_kv f32', 1000],
  ['merge_span', 500],
  ['rms_norm', 2000],
  ['rotate', 500],
  ['silu_multiply', 2000],
  ['add', 2000],
  ['argmax', 500],
  ['table', 14],
];
