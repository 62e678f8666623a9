import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { judge, judgementSchema, type PremiseEvidence } from './decision.ts';
import { type CaptureFacts, checkGates } from './gates.ts';
import { type Premise, parsePremises } from './premise.ts';
import { countQuantity, type Quantity, quantityInterval } from './quantity.ts';

const ms = (estimate: number, se = 0): Quantity => ({
  estimate,
  unit: 'ms/step',
  method: 'test',
  error: { kind: 'normal', se },
});
const premise = (type: Premise['type'], value?: number): Premise => ({
  statement: 's',
  type,
  subject: 'frontend',
  ...(value === undefined ? {} : { value, unit: 'ms/step' as const }),
});
const verdict = (one: Premise, evidence: Partial<PremiseEvidence>, facts: CaptureFacts = {}) =>
  judge([one], () => ({ stepMs: 40, sources: [], ...evidence }), checkGates(facts))[0]?.verdict;

test('the published case: compute refuted, latency not shown, detokenising negligible', () => {
  const file = new URL('../../../harness/attribution/fixtures/seed-case.yaml', import.meta.url);
  const premises = parsePremises(readFileSync(file, 'utf8'), 'seed-case.yaml');
  const stepMs = 37.56;
  const perSample = stepMs / (999 * 22);
  const frontend = countQuantity(186, perSample, 'ms/step', 'cpu-clock samples', {
    upperFactor: 1 / 0.77, // the worst under-sampling of short slices that we measured
  });
  const detokenise = countQuantity(1, perSample, 'ms/step', 'cpu-clock samples');
  const judged = judge(
    premises,
    (one) => ({
      cost: one.subject === 'frontend' ? frontend : detokenise,
      stepMs,
      sources: ['published counts'],
    }),
    checkGates({}),
  );
  assert.deepEqual(
    judged.map((j) => j.verdict),
    ['REFUTED', 'INCONCLUSIVE', 'CONFIRMED'],
  );
  const plain = quantityInterval({ ...frontend, upperFactor: 1 });
  assert.ok(Math.abs(frontend.estimate - 0.318) < 0.001);
  assert.ok(Math.abs(plain.low - 0.274) < 0.001 && Math.abs(plain.high - 0.367) < 0.001);
  // Also by the longer ITL that was measured on the same day, judged on its own.
  const slower = countQuantity(186, 40.8 / (999 * 22), 'ms/step', 'samples', {
    upperFactor: 1 / 0.77,
  });
  assert.equal(verdict(premise('costs-at-least', 0.7), { cost: slower }), 'REFUTED');
  assert.match(judged[1]?.reason ?? '', /latency on the path .* was not measured/);
  assert.ok(judged[0]?.gates.every((gate) => gate.status === 'not-recorded'));
  for (const one of judged) judgementSchema.parse(one);
});

test('a low busy share does not refute a small compute term', () => {
  const cost = countQuantity(186, 40.8 / (999 * 22), 'ms/step', 'samples');
  assert.equal(verdict(premise('costs-at-least', 0.26), { cost }), 'CONFIRMED');
  assert.equal(verdict(premise('costs-at-least', 0.4), { cost }), 'INCONCLUSIVE');
});

test('nothing is refuted by the absence of a measurement', () => {
  for (const type of ['costs-at-least', 'about', 'closing-gains'] as const)
    assert.equal(verdict(premise(type, 1), {}), 'INCONCLUSIVE');
  for (const type of ['negligible', 'dominates-gap', 'compute-not-latency'] as const)
    assert.equal(verdict(premise(type), {}), 'INCONCLUSIVE');
});

const table: [string, Premise, Partial<PremiseEvidence>, string][] = [
  ['costs at least', premise('costs-at-least', 1), { cost: ms(1.2, 0.05) }, 'CONFIRMED'],
  ['costs at least', premise('costs-at-least', 1), { cost: ms(0.6, 0.05) }, 'REFUTED'],
  ['costs at least', premise('costs-at-least', 1), { cost: ms(0.9, 0.05) }, 'INCONCLUSIVE'],
  ['about', premise('about', 1), { cost: ms(1.1, 0.1) }, 'CONFIRMED'],
  ['about', premise('about', 1), { cost: ms(2, 0.1) }, 'REFUTED'],
  ['about', premise('about', 1), { cost: ms(1.5, 0.1) }, 'INCONCLUSIVE'],
  ['dominates', premise('dominates-gap'), { gapShare: ms(0.8, 0.1) }, 'CONFIRMED'],
  ['dominates', premise('dominates-gap'), { gapShare: ms(0.2, 0.1) }, 'REFUTED'],
  ['dominates', premise('dominates-gap'), { gapShare: ms(0.55, 0.1) }, 'INCONCLUSIVE'],
  ['compute', premise('compute-not-latency'), { cost: ms(1), latency: ms(0.3) }, 'CONFIRMED'],
  ['compute', premise('compute-not-latency'), { cost: ms(0.3), latency: ms(1) }, 'REFUTED'],
  ['compute', premise('compute-not-latency'), { cost: ms(1), latency: ms(0.9) }, 'INCONCLUSIVE'],
  ['latency', premise('latency-not-compute'), { cost: ms(0.3), latency: ms(1) }, 'CONFIRMED'],
  ['closing', premise('closing-gains', 1), { slope: ms(1, 0.02), cost: ms(0.9) }, 'CONFIRMED'],
  ['closing', premise('closing-gains', 1), { slope: ms(0, 0.05), cost: ms(2) }, 'REFUTED'],
  ['closing', premise('closing-gains', 1), { engineSleep: ms(0.01, 0.01) }, 'REFUTED'],
  ['closing', premise('closing-gains', 1), { slope: ms(0.6, 0.05), cost: ms(1) }, 'INCONCLUSIVE'],
  ['negligible', premise('negligible'), { cost: ms(0.1, 0.05) }, 'CONFIRMED'],
  ['negligible', premise('negligible'), { cost: ms(1, 0.1) }, 'REFUTED'],
  ['negligible', premise('negligible'), { cost: ms(0.4, 0.1) }, 'INCONCLUSIVE'],
  ['negligible', premise('negligible'), { cost: ms(0.6, 0.05), gapSeMs: 1 }, 'CONFIRMED'],
];
for (const [name, one, evidence, expected] of table)
  test(`"${name}" is ${expected} where its bound says so (${JSON.stringify(Object.keys(evidence))})`, () => {
    assert.equal(verdict(one, evidence), expected);
  });

test('any failed gate makes the verdict VOID, with the gate as its reason', () => {
  const judged = judge(
    [premise('costs-at-least', 1)],
    () => ({ stepMs: 40, sources: [], cost: ms(2) }),
    checkGates({ steps: 199 }),
  );
  assert.equal(judged[0]?.verdict, 'VOID');
  assert.equal(judged[0]?.reason, 'steps: 199 steps (at least 200)');
});

test('a user-only profile voids what is said of a class, not what schedstat says of a role', () => {
  const facts = { events: [{ name: 'cpu-clock:u', userOnly: true, hardware: false }] };
  const role = premise('costs-at-least', 1);
  assert.equal(verdict(role, { cost: ms(2) }, facts), 'CONFIRMED');
  assert.equal(verdict({ ...role, subject: 'frontend/gc' }, { cost: ms(2) }, facts), 'VOID');
});

test('several premises on one capture need more evidence each', () => {
  const evidence = { cost: ms(1.105, 0.05) };
  assert.equal(verdict(premise('costs-at-least', 1), evidence), 'CONFIRMED');
  const many = Array.from({ length: 5 }, () => premise('costs-at-least', 1));
  const judged = judge(many, () => ({ stepMs: 40, sources: [], ...evidence }), []);
  assert.deepEqual(new Set(judged.map((j) => j.verdict)), new Set(['INCONCLUSIVE']));
});

const failing: [string, CaptureFacts][] = [
  ['samples lost', { samples: { kept: 990, lost: 10, expected: 1000 } }],
  ['profile not empty', { samples: { kept: 0, lost: 0, expected: 10 }, exactNs: 1e9 }],
  ['sampling rate', { samples: { kept: 3, lost: 0, expected: 1000 } }],
  ['samples agree with exact time', { kappaMax: 1.5 }],
  ['kernel included', { events: [{ name: 'cpu-clock:u', userOnly: true, hardware: false }] }],
  ['scheduler trace is system-wide', { schedSystemWide: false }],
  ['scheduler events lost', { lostSchedEvents: 1 }],
  ['roles mapped', { unmappedCpuShare: 0.011 }],
  ['states close', { closureErrorUs: -1.5 }],
  ['clocks agree', { bracket: { inside: 49, total: 50 } }],
  ['clocks agree', { bracket: { inside: 0, total: 0 } }],
  ['host pressure', { host: { psiSome: 0.66, strangers: 0.1, steal: 0, cpus: 2 } }],
  ['foreign share of waiting', { foreignWakeShare: 0.11 }],
  ['build id', { buildId: { claimed: 'a', found: 'b' } }],
  ['positive control', { positiveControl: { injectedMs: 0.5, recoveredMs: 0.39 } }],
];
for (const [name, facts] of failing)
  test(`the gate "${name}" fails on ${JSON.stringify(facts)}`, () => {
    const failed = checkGates(facts).filter((gate) => gate.status === 'failed');
    assert.deepEqual(
      failed.map((gate) => gate.name),
      [name],
    );
  });

test('pressure that the server and its client make themselves is not host noise', () => {
  const facts = { host: { psiSome: 0.66, strangers: 0.01, steal: 0.01, cpus: 2 } };
  assert.equal(checkGates(facts).find((gate) => gate.name === 'host pressure')?.status, 'passed');
});

test('a profiled phase that slows the server fails, one within its noise does not', () => {
  const tpot = (profiled: number, again = 40) => ({
    free: { name: 'free', mean: 40, se: 0.1 },
    freeAgain: { name: 'free again', mean: again, se: 0.1 },
    profiled: [{ name: 'on-CPU', mean: profiled, se: 0.1 }],
  });
  const failed = (facts: CaptureFacts) =>
    checkGates(facts)
      .filter((gate) => gate.status === 'failed')
      .map((gate) => gate.name);
  assert.deepEqual(failed({ tpot: tpot(40.7) }), []);
  assert.deepEqual(failed({ tpot: tpot(41.2) }), ['perturbation']);
  assert.deepEqual(failed({ tpot: tpot(41, 42.1) }), ['drift']);
});

test('a premise file is refused with the field that is wrong', () => {
  const refuse = (text: string, pattern: RegExp) =>
    assert.throws(() => parsePremises(text, 'p.yaml'), pattern);
  refuse(
    'statement: a\ntype: about\nsubject: frontend\n',
    /p\.yaml: value is needed by type about/,
  );
  refuse('statement: a\ntype: guess\nsubject: frontend\n', /p\.yaml: type /);
  refuse(
    'premises: [{statement: a, type: negligible, subject: "Front End"}]',
    /premises\.0\.subject must be ROLE/,
  );
  refuse('a: [', /p\.yaml is not YAML/);
});
