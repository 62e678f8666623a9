import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flagHelp, parseBytes, parseFlags, shownConfig } from './config.ts';
import { planMemory } from './engine/memory-plan.ts';
import { ServerError } from './errors.ts';

const refused: [string, Record<string, unknown>, RegExp][] = [
  ['a missing model', {}, /^--model is missing/],
  ['a port that is no number', { model: 'm', port: 'x' }, /^--port x: it must be a whole number/],
  ['a port out of range', { model: 'm', port: '70000' }, /^--port 70000: it must be at most 65535/],
  ['zero threads', { model: 'm', threads: '0' }, /^--threads 0: it must be at least 1/],
  [
    'unknown activations',
    { model: 'm', activations: 'int3' },
    /^--activations int3: it must be one of f32, bf16, int8/,
  ],
  ['an unknown instruction set', { model: 'm', isa: 'mmx' }, /^--isa mmx: it must be one of auto/],
  [
    'memory without a unit that exists',
    { model: 'm', kvMemory: '3 apples' },
    /--kv-memory 3 apples: it must be a size/,
  ],
  [
    'an unknown policy',
    { model: 'm', schedulingPolicy: 'x' },
    /--scheduling-policy x: it must be one of fcfs/,
  ],
];

for (const [what, flags, message] of refused) {
  test(`${what} is refused in one sentence that names the flag and exits 2`, () => {
    assert.throws(
      () => parseFlags(flags),
      (error) => {
        assert.ok(error instanceof ServerError);
        assert.match(error.message, message);
        assert.ok(!error.message.includes('\n'));
        assert.equal(error.exitCode, 2);
        return true;
      },
    );
  });
}

test('flags have the documented defaults', () => {
  const flags = parseFlags({ model: 'm' });
  assert.equal(flags.host, '127.0.0.1');
  assert.equal(flags.port, 8000);
  assert.equal(flags.activations, 'int8');
  assert.equal(flags.enablePrefixCaching, false);
  assert.equal(flags.debugEndpoints, false);
});

test('every field of the schema is a flag with a description', () => {
  for (const { flag, description } of flagHelp()) {
    assert.match(flag, /^--[a-z]+(-[a-z]+)*$/);
    assert.ok(description.length > 10, flag);
  }
  const switches = flagHelp().filter(({ isSwitch }) => isSwitch);
  assert.deepEqual(
    switches.map(({ flag }) => flag),
    ['--enable-prefix-caching', '--debug-endpoints', '--exit-with-parent'],
  );
});

test('sizes are read with binary and decimal units', () => {
  assert.equal(parseBytes('2GiB'), 2 ** 31);
  assert.equal(parseBytes('1.5 MB'), 1_500_000);
  assert.equal(parseBytes('4096'), 4096);
  assert.equal(parseBytes('constructor'), undefined);
  assert.equal(parseBytes('1 constructor'), undefined);
  assert.equal(parseBytes('-1'), undefined);
});

test('the shown configuration tells that a key is set, not which', () => {
  const shown = shownConfig(parseFlags({ model: 'm', apiKey: 'secret' }), { isa: 'avx2' });
  assert.ok(!JSON.stringify(shown).includes('secret'));
  assert.equal(shown['apiKey'], 'set');
  assert.equal(shown['isa'], 'avx2');
});

const wish = {
  shape: { layers: 2, kvHeads: 2, headWidth: 64 },
  kvFormat: 'bf16',
  maxSequences: 4,
  contextLength: 4096,
  maxModelLength: undefined,
  kvBytes: undefined,
  freeBytes: 2 ** 33,
} as const;

test('the KV pool holds all sequences at full length when memory allows', () => {
  assert.deepEqual(planMemory(wish), { kvBlocks: 4 * 256, maxModelLength: 4096 });
});

test('the KV pool takes at most a quarter of free memory and shortens the context if it must', () => {
  // 16 KiB a block of 16 tokens.
  const plan = planMemory({ ...wish, freeBytes: 4 * 100 * 16384 });
  assert.deepEqual(plan, { kvBlocks: 100, maxModelLength: 1600 });
});

test('a context that was asked for and does not fit is refused', () => {
  const tight = { ...wish, kvBytes: 10 * 16384, maxModelLength: 4096 };
  assert.throws(() => planMemory(tight), /--kv-memory/);
  assert.throws(() => planMemory({ ...wish, maxModelLength: 5000 }), /context is 4096/);
});
