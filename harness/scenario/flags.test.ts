import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command } from 'commander';
import { declareFlags, parseFlags } from './flags.ts';
import { sweepOptions } from './sweep-options.ts';

test('every field of the schema is a flag with its description and default', () => {
  const help = declareFlags(new Command('sweep'), sweepOptions).helpInformation();
  for (const flag of [
    '--concurrency <LIST>',
    '--input-tokens <N>',
    '--foreign-cpu-limit <PERCENT>',
    '--json',
  ]) {
    assert.ok(help.includes(flag), flag);
  }
  assert.match(help.replaceAll(/\s+/g, ' '), /tokens of each prompt \(default 1024\)/);
});

test('without flags the defaults are the workload of the design', () => {
  const { concurrency, inputTokens, outputTokens, seed, records } = parseFlags(sweepOptions, {});
  assert.deepEqual(concurrency, [1, 2, 4, 8]);
  assert.deepEqual([inputTokens, outputTokens, seed, records], [1024, 128, 1, 'records']);
});

test('flags arrive as text and leave as checked values', () => {
  const given = { concurrency: '8, 1', outputTokens: '16', foreignCpuLimit: '0' };
  const { concurrency, outputTokens, foreignCpuLimit } = parseFlags(sweepOptions, given);
  assert.deepEqual([concurrency, outputTokens, foreignCpuLimit], [[8, 1], 16, 0]);
});

test('a wrong value is named by its flag', () => {
  assert.throws(
    () => parseFlags(sweepOptions, { inputTokens: '-5' }),
    /--input-tokens -5: it must be a whole/,
  );
  assert.throws(() => parseFlags(sweepOptions, { concurrency: '1,,2' }), /--concurrency 1,,2: /);
  assert.throws(
    () => parseFlags(sweepOptions, { seed: '9999999999' }),
    /--seed 9999999999: .* to 2147483647/,
  );
});
