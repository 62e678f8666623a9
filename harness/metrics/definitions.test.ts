import assert from 'node:assert/strict';
import { test } from 'node:test';
import { METRICS, metricDefinition } from './definitions.ts';

test('every metric has one id, a label, a unit and a formula', () => {
  const ids = METRICS.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
  for (const { id, label, unit, formula } of METRICS) {
    assert.match(id, /^[a-z0-9_]+$/);
    assert.ok(label !== '' && unit !== '' && formula.length > 10, id);
  }
});

test('a definition is found by its id, and no other', () => {
  assert.equal(metricDefinition('tpot').label, 'TPOT');
  assert.equal(metricDefinition('output_throughput').direction, 'higher');
});
