// Checks (or with --write applies) clang-format over native/, with the version that the lock file pins.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';

const write = process.argv.includes('--write');
const files = readdirSync('native', { recursive: true })
  .map((path) => `native/${path}`)
  .filter((path) => /\.(cc|h)$/.test(path) && !path.startsWith('native/build'));
const mode = write ? ['-i'] : ['--dry-run', '--Werror'];
const run = spawnSync('npx', ['clang-format', ...mode, ...files], { stdio: 'inherit' });
process.exit(run.status ?? 1);
