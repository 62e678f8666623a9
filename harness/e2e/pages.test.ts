import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Workplace } from './bench-process.ts';

const RECORDS = fileURLToPath(new URL('../../../records', import.meta.url));

test('the records of this repository are whole, and its pages are what they give', async () => {
  const place = new Workplace();
  try {
    const records = await place.bench('records', 'check', '--records', RECORDS);
    assert.equal(records.code, 0, records.stderr);
    const pages = await place.bench('report', '--check', '--records', RECORDS);
    assert.equal(pages.code, 0, `${pages.stderr}Make them again with: npx bench report`);
  } finally {
    place.remove();
  }
});
