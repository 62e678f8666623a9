// Builds the addon with CMake; incremental, offline, and with one clear sentence when a tool is missing.
// `--tests` builds the test program, `--sanitize` the same under ASan and UBSan, `--bench` the kernel benchmark.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);
const sanitize = process.argv.includes('--sanitize');
const target =
  sanitize || process.argv.includes('--tests')
    ? 'native_tests'
    : process.argv.includes('--bench')
      ? 'native_bench'
      : 'addon';
const buildFolder = join(here, sanitize ? 'build-sanitize' : 'build');

function fail(sentence) {
  console.error(`mxbench: ${sentence}`);
  process.exit(1);
}

function requireTool(name, hint) {
  const probe = spawnSync(name, ['--version'], { stdio: 'ignore' });
  if (probe.error) fail(`${name} was not found; ${hint}`);
}

function run(name, args) {
  const result = spawnSync(name, args, { encoding: 'utf8' });
  if (result.status === 0) return;
  process.stderr.write(`${result.stdout ?? ''}${result.stderr ?? ''}`);
  fail(`'${name} ${args.join(' ')}' failed; the compiler's own words are above.`);
}

requireTool('cmake', 'install it with: apt-get install cmake');
if (!process.env.CXX) {
  const found = ['c++', 'g++', 'clang++'].some(
    (name) => !spawnSync(name, ['--version'], { stdio: 'ignore' }).error,
  );
  if (!found) fail('no C++ compiler was found; install one with: apt-get install g++');
}

run('cmake', [
  '-S',
  here,
  '-B',
  buildFolder,
  `-DCMAKE_BUILD_TYPE=Release`,
  `-DMXBENCH_SANITIZE=${sanitize ? 'ON' : 'OFF'}`,
  `-DNODE_API_INCLUDE=${require('node-api-headers').include_dir}`,
  `-DNODE_ADDON_API_INCLUDE=${dirname(require.resolve('node-addon-api/package.json'))}`,
]);
run('cmake', [
  '--build',
  buildFolder,
  '--target',
  target,
  '--parallel',
  String(availableParallelism()),
]);
