import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { provenanceOf } from './provenance.ts';

const folder = mkdtempSync(join(tmpdir(), 'provenance-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const git = (...args: string[]) =>
  execFileSync(
    'git',
    ['-C', folder, '-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args],
    { encoding: 'utf8' },
  );

test('outside a repository nothing is claimed', () => {
  assert.deepEqual(provenanceOf(folder, undefined), { revision: null, dirty: null, sameAs: null });
});

test('sources are proven identical by git, across commits that touch other files, and not when changed', () => {
  git('init', '-q');
  mkdirSync(join(folder, 'native'));
  writeFileSync(join(folder, 'native', 'a.cc'), 'int a;\n');
  git('add', '.');
  git('commit', '-qm', 'one');
  writeFileSync(join(folder, 'readme'), 'x\n');
  git('add', '.');
  git('commit', '-qm', 'two');
  const same = provenanceOf(folder, 'HEAD~1:native');
  assert.equal(same.dirty, false);
  assert.equal(same.sameAs?.identical, true);
  writeFileSync(join(folder, 'native', 'a.cc'), 'int b;\n');
  const changed = provenanceOf(folder, 'HEAD~1:native');
  assert.equal(changed.dirty, true);
  assert.equal(changed.sameAs?.identical, false);
  git('commit', '-qam', 'three');
  assert.equal(provenanceOf(folder, 'HEAD~1:native').sameAs?.identical, false);
  assert.throws(() => provenanceOf(folder, 'HEAD:no/such'), /git knows no HEAD:no\/such/);
  assert.throws(() => provenanceOf(folder, 'nonsense'), /Give REVISION:PATH|git knows no/);
});
