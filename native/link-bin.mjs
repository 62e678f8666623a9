// Makes `npx bench` in a clone run this package: the npm registry has an unrelated one of that name.
import { chmodSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = join(root, 'node_modules', '.bin');
chmodSync(join(root, 'dist', 'harness', 'cli.js'), 0o755);
mkdirSync(bin, { recursive: true });
for (const name of ['bench', 'mxbench']) {
  rmSync(join(bin, name), { force: true });
  symlinkSync(join('..', '..', 'dist', 'harness', 'cli.js'), join(bin, name));
}
