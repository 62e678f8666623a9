import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Migrations, upgrade, versionOf } from './migrations.ts';

const MIGRATIONS: Migrations = {
  1: (record) => ({
    ...record,
    schema: 'mxbench-record/2.0',
    seconds: Number(record['ms']) / 1000,
  }),
  2: (record) => ({ ...record, schema: 'mxbench-record/3.0', added: true }),
};

test('an old record climbs every step to the current version, and the original is untouched', () => {
  const old = { schema: 'mxbench-record/1.4', ms: 1500 };
  const { record, newerMinor } = upgrade(old, MIGRATIONS, { major: 3, minor: 0 });
  assert.deepEqual(record, { schema: 'mxbench-record/3.0', ms: 1500, seconds: 1.5, added: true });
  assert.equal(newerMinor, false);
  assert.deepEqual(old, { schema: 'mxbench-record/1.4', ms: 1500 });
});

test('a newer minor version is read with a notice', () => {
  const record = { schema: 'mxbench-record/1.99' };
  assert.deepEqual(upgrade(record), { record, newerMinor: true });
});

test('an unknown, newer or abandoned major version is refused with what to do', () => {
  assert.throws(
    () => upgrade({ schema: 'mxbench-record/2.0' }),
    /reads up to 1\.x, so update bench/,
  );
  assert.throws(() => upgrade({ schema: 'bench/1' }), /its schema is "bench\/1"/);
  assert.throws(() => upgrade({}), /its schema is undefined/);
  assert.throws(
    () => upgrade({ schema: 'mxbench-record/1.0' }, {}, { major: 2, minor: 0 }),
    /can no longer be read/,
  );
});

test('only our own schema names have a version', () => {
  assert.deepEqual(versionOf('mxbench-record/12.3'), { major: 12, minor: 3 });
  for (const other of ['mxbench-record/1', 'mxbench-record/1.0.0', ' mxbench-record/1.0', 7]) {
    assert.equal(versionOf(other), undefined);
  }
});
