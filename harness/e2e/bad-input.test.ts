import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { Workplace } from './bench-process.ts';

const TABLE: { args: string[]; says: RegExp }[] = [
  {
    args: ['sweep', '--concurrency', '0'],
    says: /--concurrency 0: it must be whole numbers from 1/,
  },
  { args: ['sweep', '--concurrency', '1,1'], says: /--concurrency 1,1: .* none of them twice/ },
  { args: ['sweep', '--concurrency', 'four'], says: /--concurrency four: / },
  { args: ['sweep', '--concurrency', ''], says: /--concurrency : / },
  {
    args: ['sweep', '--concurency', '1'],
    says: /unknown option '--concurency'\n\(Did you mean --concurrency\?\)/,
  },
  {
    args: ['sweep', '--output-tokens', '0'],
    says: /--output-tokens 0: it must be a whole number from 1/,
  },
  { args: ['sweep', '--requests', '1e3'], says: /--requests 1e3: it must be a whole number/ },
  {
    args: ['sweep', '--activations', 'fp4'],
    says: /--activations fp4: it must be one of f32, bf16, int8/,
  },
  {
    args: ['sweep', '--url', 'ftp://x'],
    says: /--url ftp:\/\/x: it must be an address such as http/,
  },
  { args: ['sweep', '--label', 'a|b'], says: /--label a\|b: it must be 1 to 40 letters/ },
  { args: ['sweep', '--seed'], says: /option '--seed <N>' argument missing/ },
  { args: ['sweap'], says: /unknown command 'sweap'\n\(Did you mean sweep\?\)/ },
  { args: ['records', 'show', 'zz'], says: /No record has an id that begins with "zz"/ },
  { args: ['emitter', '--fault', 'all'], says: /--fault all: / },
];

for (const { args, says } of TABLE) {
  test(`bench ${args.join(' ')} is refused with exit 2 and what to do`, async () => {
    const place = new Workplace();
    try {
      const { code, stdout, stderr } = await place.bench(...args);
      assert.equal(code, 2, stderr);
      assert.match(stderr, says);
      assert.match(stderr, /^error: /);
      assert.ok(stderr.trim().split('\n').length <= 2, stderr);
      assert.equal(stdout, '');
    } finally {
      place.remove();
    }
  });
}

test('a URL at which nothing listens ends with 3 and the URL', async () => {
  const place = new Workplace();
  try {
    const { code, stderr } = await place.bench(
      'sweep',
      '--url',
      'http://127.0.0.1:9',
      '--concurrency',
      '1',
    );
    assert.equal(code, 3);
    assert.match(
      stderr,
      /error: http:\/\/127\.0\.0\.1:9\/v1\/models cannot be used: connect ECONNREFUSED/,
    );
  } finally {
    place.remove();
  }
});

test('a port in use is named', async () => {
  const place = new Workplace();
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const address = taken.address();
  const port = String(typeof address === 'object' ? address?.port : 0);
  try {
    const { code, stderr } = await place.bench('emitter', '--port', port);
    assert.equal(code, 2);
    assert.match(stderr, new RegExp(`${port}.*in use`));
  } finally {
    taken.close();
    place.remove();
  }
});

test('a records folder that is a file is refused before anything is measured', async () => {
  const place = new Workplace();
  try {
    writeFileSync(place.records, 'not a folder');
    const { code, stderr } = await place.bench('sweep', '--url', 'http://127.0.0.1:9');
    assert.equal(code, 2);
    assert.match(
      stderr,
      /error: Records cannot be written to records: a file of that name is in the way/,
    );
    assert.match(stderr, /--records FOLDER/);
  } finally {
    place.remove();
  }
});

test('a records folder that cannot take more, or may not be written, is refused with the reason', async () => {
  const place = new Workplace();
  mkdirSync(place.records);
  const mounted = tryToMount(place.records);
  try {
    if (mounted)
      execFileSync('dd', ['if=/dev/zero', `of=${join(place.records, 'fill')}`, 'bs=4096'], {
        stdio: 'ignore',
      });
  } catch {
    // dd fails when the file system is full, which is what it is for.
  }
  // Without the right to mount, a folder of the kernel's stands for one that nobody may write to.
  const folder = mounted ? place.records : '/proc/sys';
  try {
    const { code, stderr } = await place.bench(
      'sweep',
      '--url',
      'http://127.0.0.1:9',
      '--records',
      folder,
    );
    assert.equal(code, 2, stderr);
    assert.match(stderr, /error: Records cannot be written to \S+: /);
    if (mounted) assert.match(stderr, /the disk is full\.\nFree some space/);
  } finally {
    if (mounted) execFileSync('umount', [place.records]);
    place.remove();
  }
});

function tryToMount(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'none', folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
