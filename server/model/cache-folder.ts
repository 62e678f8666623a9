// Where generated models and hashes of big files are kept between runs.
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** $XDG_CACHE_HOME/mxbench, or ~/.cache/mxbench. It may not exist yet. */
export function cacheFolder(): string {
  const given = process.env['XDG_CACHE_HOME'];
  const base = given && isAbsolute(given) ? given : join(homedir(), '.cache');
  return join(base, 'mxbench');
}
