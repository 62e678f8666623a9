// Runs the native test program and the kernel benchmark; the checks themselves are C++, in native/test.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { ISAS, loadAddon } from './index.ts';
import { buildProgram, checkCounts, KERNEL_CHECKS, runProgram } from './native-program.ts';

interface BenchKernel {
  name: string;
  isa: string;
  boundBy: string;
  share: number;
  [figure: string]: string | number;
}

interface BenchReport {
  quick: boolean;
  rounds: number;
  threads: number;
  bestIsa: string;
  readOneThreadBytesPerSecond: number;
  readAllThreadsBytesPerSecond: number;
  peaks: Array<Record<string, string | number>>;
  kernels: BenchKernel[];
}

describe('native test program', () => {
  before(() => buildProgram('--tests'));

  it('passes, with checks of every kernel on every instruction set that this CPU has', () => {
    const run = runProgram('native/build/native_tests');
    assert.equal(run.status, 0, run.stdout + run.stderr);
    const counts = checkCounts(run.stdout);
    for (const isa of loadAddon().availableIsas()) {
      for (const [kernel, atLeast] of KERNEL_CHECKS) {
        const count = counts.get(`${kernel} | ${isa}`) ?? 0;
        assert.ok(count >= atLeast, `${kernel} on ${isa}: ${count} checks, ${atLeast} wanted`);
      }
    }
  });

  it('fails when no test has the name that was asked for', () => {
    assert.equal(runProgram('native/build/native_tests', ['no such test']).status, 1);
  });
});

describe('kernel benchmark', () => {
  before(() => buildProgram('--bench'));

  it('reports every kernel of every instruction set as a share of a ceiling it measured itself', () => {
    const run = runProgram('native/build/native_bench', ['--quick', '--json']);
    assert.equal(run.status, 0, run.stderr);
    const report = JSON.parse(run.stdout) as BenchReport;
    assert.equal(report.quick, true);
    assert.ok(report.threads >= 1);
    assert.ok(report.readOneThreadBytesPerSecond > 0 && report.readAllThreadsBytesPerSecond > 0);
    const isas = loadAddon().availableIsas();
    assert.equal(report.bestIsa, loadAddon().bestIsa());
    assert.deepEqual(
      [...new Set(report.kernels.map((kernel) => kernel.isa))],
      ISAS.filter((isa) => isas.includes(isa)),
    );
    const names = report.kernels.filter(({ isa }) => isa === 'portable').map(({ name }) => name);
    assert.ok(names.length >= 15);
    for (const isa of isas) {
      const kernels = report.kernels.filter((kernel) => kernel.isa === isa);
      assert.deepEqual(
        kernels.map(({ name }) => name),
        names,
      );
      for (const kernel of kernels) {
        const unit = kernel.boundBy.startsWith('read') ? 'BytesPerSecond' : 'MacsPerSecond';
        const measured = Number(kernel[`measured${unit}`]);
        const ceiling = Number(kernel[`ceiling${unit}`]);
        assert.ok(measured > 0 && ceiling > 0, kernel.name);
        assert.ok(Math.abs(kernel.share - measured / ceiling) < 1e-3 * kernel.share, kernel.name);
      }
    }
  });

  it('prints the same as a table for people', () => {
    const run = runProgram('native/build/native_bench', ['--quick', '--filter', 'attention']);
    assert.equal(run.status, 0, run.stderr);
    assert.match(run.stdout, /read bandwidth +[\d.]+ GB\/s one thread/);
    assert.match(run.stdout, /attention decode.*portable.*%/);
    assert.doesNotMatch(run.stdout, /mxfp4/);
  });

  it('refuses options that it does not know with one sentence', () => {
    for (const args of [['--fast'], ['--rounds', '0'], ['--rounds']]) {
      const run = runProgram('native/build/native_bench', args);
      assert.equal(run.status, 2);
      assert.match(run.stderr, /^native_bench: '--\w+' is not understood; use .*\n$/);
    }
  });
});
