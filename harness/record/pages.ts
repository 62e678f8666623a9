// Writes a generated page in one step, so that a reader never sees half of it.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { HarnessError } from '../errors.ts';

/** Replaces the file when its content differs. RECORDS_UNWRITABLE names the file. */
export function writePage(path: string, text: string): void {
  if (readPage(path) === text) return;
  const partial = `${path}.partial-${process.pid}`;
  try {
    writeFileSync(partial, text);
    renameSync(partial, path);
  } catch (cause) {
    rmSync(partial, { force: true });
    throw new HarnessError(
      'RECORDS_UNWRITABLE',
      `${path} cannot be written: ${(cause as Error).message}.`,
      { cause, hint: 'Name another file with --benchmarks FILE.' },
    );
  }
}

/** The page as it is; undefined when there is none. */
export function readPage(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
