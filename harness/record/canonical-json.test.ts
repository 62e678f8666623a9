import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalJson, canonicalSha256 } from './canonical-json.ts';

test('keys are sorted by UTF-16 code units and numbers have their shortest form', () => {
  // The example of RFC 8785 section 3.2.3, and numbers of its appendix B.
  const value = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\u{1f600}': 5, '\u0080': 6, ö: 7 };
  assert.equal(
    canonicalJson(value),
    '{"\\r":2,"1":4,"\u0080":6,"ö":7,"\u20ac":1,"\u{1f600}":5,"\ufb33":3}',
  );
  assert.equal(
    canonicalJson([1e21, 1e-7, 0.000001, -0, JSON.parse('333333333.33333329'), 1e30, 4.5, 2e-3]),
    '[1e+21,1e-7,0.000001,0,333333333.3333333,1e+30,4.5,0.002]',
  );
});

test('the order in which fields were written does not change the hash', () => {
  assert.equal(
    canonicalSha256({ a: 1, b: { c: [true, null], d: 'x' } }),
    canonicalSha256({ b: { d: 'x', c: [true, null] }, a: 1 }),
  );
  assert.notEqual(canonicalSha256({ a: 1 }), canonicalSha256({ a: 2 }));
});

test('fields that are undefined are left out, as in JSON', () => {
  assert.equal(canonicalJson({ a: undefined, b: 1 }), '{"b":1}');
});

test('what JSON cannot carry is refused with its path', () => {
  assert.throws(() => canonicalJson({ a: [1, Number.NaN] }), /\$\.a\[1\] is NaN/);
  assert.throws(() => canonicalJson({ a: Number.POSITIVE_INFINITY }), /\$\.a is Infinity/);
  assert.throws(() => canonicalJson({ a: new Map() }), /\$\.a is a object/);
  assert.throws(() => canonicalJson([undefined]), /\$\[0\] is a undefined/);
  assert.throws(() => canonicalJson('\ud800'), /half a surrogate/);
  assert.throws(() => canonicalJson({ a: 1n }), /bigint/);
});
