import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ChainLink, examineChain } from './chain.ts';

function link(id: string, prev: string | null, envClass = 'cpu-2x'): ChainLink {
  return { id, chain: { prev }, kind: 'sweep', envClass };
}

test('an unbroken chain has one head and misses nothing', () => {
  const report = examineChain([link('a', null), link('b', 'a'), link('c', 'b')]);
  assert.deepEqual(report, { heads: [{ series: 'sweep/cpu-2x', ids: ['c'] }], missing: [] });
});

test('a removed record is noticed by the one that names it', () => {
  const { missing } = examineChain([link('a', null), link('c', 'b')]);
  assert.deepEqual(missing, [{ id: 'b', namedBy: 'c' }]);
});

test('a fork is legal and shows as two heads; series are apart', () => {
  const { heads, missing } = examineChain([
    link('a', null),
    link('c', 'a'),
    link('b', 'a'),
    link('x', null, 'arm-4x'),
  ]);
  assert.deepEqual(missing, []);
  assert.deepEqual(heads, [
    { series: 'sweep/arm-4x', ids: ['x'] },
    { series: 'sweep/cpu-2x', ids: ['b', 'c'] },
  ]);
});
