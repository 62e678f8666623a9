import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type KneeOptions, type KneePoint, nextLoad } from './knee.ts';

function search(goodShare: (load: number) => number, changes: Partial<KneeOptions> = {}) {
  const options = {
    lowest: 1,
    highest: 128,
    wantedShare: 0.99,
    resolution: 0.05,
    whole: true,
    ...changes,
  };
  const points: KneePoint[] = [];
  for (;;) {
    const step = nextLoad(points, options);
    if (!('measure' in step)) return { ...step, measured: points.map(({ load }) => load) };
    assert.ok(points.length < 40, 'the search does not end');
    assert.ok(
      points.every(({ load }) => load !== step.measure),
      'a load is measured twice',
    );
    points.push({ load: step.measure, goodShare: goodShare(step.measure) });
  }
}

test('every whole knee is found exactly, in few measurements', () => {
  for (let knee = 1; knee <= 127; knee += 1) {
    const found = search((load) => (load <= knee ? 1 : 0), { resolution: 0 });
    assert.equal(found.best, knee);
    assert.equal(found.firstBad, knee + 1);
    assert.ok(found.measured.length <= 12, `${found.measured}`);
  }
});

test('a rate is found to the resolution asked for', () => {
  const { best, firstBad } = search((load) => (load <= 7.3 ? 1 : 0.5), { whole: false });
  assert.ok(best !== null && firstBad !== null && best <= 7.3 && firstBad > 7.3);
  assert.ok((firstBad - best) / firstBad <= 0.05);
});

test('a server that is good everywhere, and one that is good nowhere, take two and one measurements', () => {
  assert.deepEqual(
    search(() => 1),
    { best: 128, firstBad: null, measured: [1, 128] },
  );
  assert.deepEqual(
    search(() => 0.9),
    { best: null, firstBad: 1, measured: [1] },
  );
});

test('a good point above a bad one is not believed', () => {
  const points = [
    { load: 1, goodShare: 1 },
    { load: 8, goodShare: 0.5 },
    { load: 16, goodShare: 1 },
  ];
  const options = { lowest: 1, highest: 16, wantedShare: 0.99, resolution: 0.01, whole: true };
  assert.deepEqual(nextLoad(points, options), { measure: 3 });
});

test('an impossible range is refused', () => {
  const options = { lowest: 4, highest: 2, wantedShare: 0.99, resolution: 0.01, whole: true };
  assert.throws(() => nextLoad([], options), /from 4 to 2/);
});
