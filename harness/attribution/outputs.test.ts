import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { flameDiffHtml, flameHtml } from './flame-html.ts';
import { flameDiff, flameTree, foldedStacks } from './flame-tree.ts';
import { Folder } from './folding.ts';
import type { Frame } from './perf-script-parser.ts';
import { firefoxProfile, speedscope } from './profile-files.ts';
import { profileRoles, type RoleProfile } from './role-profile.ts';
import { stackClassifier } from './symbol-classes.ts';

const frame = (symbol: string): Frame => ({
  ip: '1',
  symbol,
  dso: '/bin/server',
  deleted: false,
  inlined: false,
});
/** Profiles of one role from "path x count" with the leaf first. */
function profiles(stacks: [string[], number][], ms = 10): RoleProfile[] {
  const folder = new Folder(stackClassifier());
  for (const [names, count] of stacks)
    for (let i = 0; i < count; i++)
      folder.add({
        pid: 1,
        tid: 1,
        cpu: 0,
        timeNs: i,
        period: 1_000_000,
        event: 'cpu-clock',
        frames: names.map(frame),
      });
  return profileRoles(folder.result(), {
    roleOf: () => 'engine-core',
    busy: [],
    msPerStep: new Map([['engine-core', ms]]),
  });
}
const two = profiles([
  [['gemm', 'step'], 300],
  [['operator</script>; x', 'step'], 100],
]);

test("a tree's width is the exact ms per step, split by samples", () => {
  const tree = flameTree(two);
  assert.equal(tree.ms, 10);
  const step = tree.children[0]?.children[0];
  assert.deepEqual([step?.name, step?.ms], ['step', 10]);
  assert.deepEqual(
    step?.children.map((c) => [c.ms, c.samples]),
    [
      [7.5, 300],
      [2.5, 100],
    ],
  );
});

test('folded stacks keep the total in ns and no name can split a path', () => {
  const lines = foldedStacks(two).trim().split('\n');
  assert.equal(lines.length, 2);
  assert.ok(
    lines.every((line) => line.split(';').length === 3),
    lines.join('\n'),
  );
  const total = lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  assert.equal(total, 400_000_000);
});

test('a difference shows vanished paths, and colours only what is beyond the noise', () => {
  const before = flameTree(
    profiles([
      [['gone', 'step'], 200],
      [['same', 'step'], 200],
      [['rare', 'step'], 0],
    ]),
  );
  const after = flameTree(
    profiles([
      [['same', 'step'], 210],
      [['rare', 'step'], 1],
    ]),
  );
  const step = flameDiff(before, after).children[0]?.children[0];
  const of = (name: string) => step?.children.find((child) => child.name === name);
  assert.equal(of('gone')?.after, 0);
  assert.equal(of('gone')?.significant, true);
  assert.equal(of('rare')?.significant, false);
});

test('a parent whose children traded places is not shown as changed', () => {
  const before = flameTree(
    profiles([
      [['a', 'step'], 300],
      [['b', 'step'], 100],
    ]),
  );
  const after = flameTree(
    profiles([
      [['a', 'step'], 100],
      [['b', 'step'], 300],
    ]),
  );
  const step = flameDiff(before, after).children[0]?.children[0];
  assert.equal(step?.significant, false);
  assert.ok(step?.children.every((child) => child.significant));
});

/** Runs the page's own script against a document of the few things that it uses. */
function runPage(html: string): { texts: string[] } {
  const texts: string[] = [];
  const data = /id="data">(.*?)<\/script>/s.exec(html)?.[1] ?? '';
  const script = /<\/script><script>(.*)<\/script>/s.exec(html)?.[1] ?? '';
  const element = (extra: object = {}) => ({
    style: {},
    classList: { add: () => undefined },
    setAttribute: (_: string, value: string) => texts.push(value),
    append: () => undefined,
    value: '',
    textContent: '',
    ...extra,
  });
  const elements: Record<string, object> = { data: element({ textContent: data }) };
  const document = {
    getElementById: (id: string) => {
      elements[id] ??= element();
      return elements[id];
    },
    createElement: () => element(),
  };
  runInNewContext(script, { document, JSON });
  return { texts };
}

test('the HTML needs nothing else, draws every box and survives any symbol', () => {
  const html = flameHtml('c8 <b>', flameTree(two));
  assert.doesNotMatch(html, /(src|href)=|https?:/);
  assert.match(html, /<title>c8 &lt;b&gt;<\/title>/);
  const { texts } = runPage(html);
  assert.equal(texts.length, 5);
  assert.ok(texts.some((text) => text.startsWith('operator</script>; x: 2.5000 ms/step')));
});

test('the differential HTML states both sides and the interval', () => {
  const tree = flameTree(two);
  const { texts } = runPage(flameDiffHtml('a to b', flameDiff(tree, tree)));
  assert.ok(texts.every((text) => text.endsWith('within noise')));
});

test('a speedscope file has weights in ns and only frames that exist', () => {
  const file = speedscope('x', two) as {
    shared: { frames: unknown[] };
    profiles: { samples: number[][]; weights: number[]; endValue: number }[];
  };
  const [profile] = file.profiles;
  assert.equal(profile?.endValue, 400_000_000);
  assert.equal(profile?.samples.length, profile?.weights.length);
  assert.ok(profile?.samples.flat().every((i) => i >= 0 && i < file.shared.frames.length));
});

test('a Firefox profile refers only to rows that exist, parents before children', () => {
  const file = firefoxProfile('x', 1, two) as {
    threads: {
      stringArray: string[];
      funcTable: { length: number; name: number[] };
      stackTable: { length: number; frame: number[]; prefix: (number | null)[] };
      samples: { length: number; stack: number[]; weight: number[] };
    }[];
  };
  const [thread] = file.threads;
  assert.ok(thread);
  assert.ok(thread.funcTable.name.every((i) => thread.stringArray[i] !== undefined));
  assert.ok(thread.stackTable.prefix.every((prefix, i) => prefix === null || prefix < i));
  assert.ok(thread.stackTable.frame.every((i) => i < thread.funcTable.length));
  assert.ok(thread.samples.stack.every((i) => i < thread.stackTable.length));
  assert.equal(
    thread.samples.weight.reduce((a, b) => a + b, 0),
    400,
  );
});
