// Runs the built tests beside their sources; a test whose source is gone does not run, even when
// its build output still lies in dist/. `--slow` runs the *.slow.test.ts files instead, and `--study`
// the *.study.test.ts: statistics of coverage that hold on a quiet machine only.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';

const KINDS = ['slow', 'study'];
const kind = KINDS.find((name) => process.argv.includes(`--${name}`));
const only = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const roots = ['harness', 'server', 'native', '.ci'];
const kindOf = (path) => KINDS.find((name) => path.endsWith(`.${name}.test.ts`));
const tests = roots
  .flatMap((root) => readdirSync(root, { recursive: true }).map((path) => `${root}/${path}`))
  .filter((path) => path.endsWith('.test.ts') && kindOf(path) === kind)
  .filter((path) => only.length === 0 || only.some((part) => path.includes(part)))
  .map((path) => `dist/${path.replace(/\.ts$/, '.js')}`);
if (tests.length === 0) {
  console.error(
    `No test file matches ${only.join(' ')}. Name a part of a path, such as "scheduler".`,
  );
  process.exit(2);
}
const run = spawnSync(
  process.execPath,
  ['--enable-source-maps', '--test', '--test-concurrency=2', '--test-reporter=spec', ...tests],
  { stdio: 'inherit' },
);
process.exit(run.status ?? 1);
