import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom, shuffled, splitmix64, xoshiro128 } from './random.ts';

test('xoshiro128** gives the published outputs for the state 1, 2, 3, 4', () => {
  const random = xoshiro128([1, 2, 3, 4]);
  const expected = [
    11520, 0, 5927040, 70819200, 2031721883, 1637235492, 1287239034, 3734860849, 3729100597,
    4258142804,
  ];
  assert.deepEqual(Array.from(expected, random.uint32), expected);
});

test('splitmix64 gives the published outputs for the seed 1234567', () => {
  const next = splitmix64(1234567n);
  const expected = [
    6457827717110365317n,
    3203168211198807973n,
    9817491932198370423n,
    4593380528125082431n,
    16408922859458223821n,
  ];
  assert.deepEqual(Array.from(expected, next), expected);
});

test('the same seed and label repeat, and another label gives another stream', () => {
  const draw = (...labels: (string | number)[]) => {
    const random = seededRandom(7, ...labels);
    return Array.from({ length: 8 }, random.uint32);
  };
  assert.deepEqual(draw('plan', 1), draw('plan', 1));
  assert.notDeepEqual(draw('plan', 1), draw('plan', 2));
  assert.notDeepEqual(draw('plan', 1), draw('plan1'));
});

test('bounded draws are uniform: a chi-square over six faces stays under its 0.1 % point', () => {
  const random = seededRandom(3, 'die');
  const counts = [0, 0, 0, 0, 0, 0];
  for (let draw = 0; draw < 60_000; draw += 1) {
    const face = random.below(6);
    counts[face] = (counts[face] ?? 0) + 1;
  }
  const chiSquare = counts.reduce((sum, count) => sum + (count - 10_000) ** 2 / 10_000, 0);
  assert.ok(chiSquare < 20.5, `chi-square ${chiSquare}`);
});

test('unit draws fill [0, 1) with mean one half', () => {
  const random = seededRandom(4);
  const draws = Array.from({ length: 20_000 }, random.unit);
  assert.ok(draws.every((draw) => draw >= 0 && draw < 1));
  const mean = draws.reduce((sum, draw) => sum + draw, 0) / draws.length;
  assert.ok(Math.abs(mean - 0.5) < 0.01, `mean ${mean}`);
});

test('shuffling keeps every item, reaches every order and leaves the input alone', () => {
  const random = seededRandom(5, 'shuffle');
  const input = ['a', 'b', 'c'];
  const orders = new Set(
    Array.from({ length: 200 }, () => {
      const order = shuffled(input, random);
      assert.deepEqual([...order].sort(), input);
      return order.join('');
    }),
  );
  assert.equal(orders.size, 6);
  assert.deepEqual(input, ['a', 'b', 'c']);
});

test('a seed or a bound that is no whole number is refused with its value', () => {
  assert.throws(() => seededRandom(-1), /A seed of -1/);
  assert.throws(() => seededRandom(0.5), /A seed of 0.5/);
  assert.throws(() => seededRandom(1).below(0), /A bound of 0/);
  assert.throws(() => xoshiro128([0, 0, 0, 0]), /all zero/);
});
