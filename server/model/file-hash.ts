// The sha256 of a big file, remembered in the user's cache by path, size and time of change: a model of gigabytes is
// read once, not at every start.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { cacheFolder } from './cache-folder.ts';

/** Lower-case hex. The cache is only a help: when it cannot be read or written the file is read. */
export async function sha256OfFile(path: string): Promise<string> {
  const { size, mtimeMs, ino } = await stat(path);
  const key = createHash('sha256')
    .update(JSON.stringify([path, size, mtimeMs, ino]))
    .digest('hex');
  const folder = join(cacheFolder(), 'sha256');
  const remembered = await readFile(join(folder, key), 'utf8').catch(() => '');
  if (/^[0-9a-f]{64}$/.test(remembered)) return remembered;
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  const digest = hash.digest('hex');
  await remember(folder, key, digest).catch(() => undefined);
  return digest;
}

async function remember(folder: string, key: string, digest: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const temporary = join(folder, `${key}.${process.pid}`);
  await writeFile(temporary, digest);
  await rename(temporary, join(folder, key));
}
