// Call trees in ms per step: one role a branch, scaled so that a role's branch is its exact CPU per step; and the
// two-sided difference of two trees, with intervals, so that vanished paths are seen and noise is not coloured. Pure.
import { type PathNode, selfWeight } from './folding.ts';
import { type Interval, poissonInterval } from './intervals.ts';
import type { RoleProfile } from './role-profile.ts';

export interface FlameNode {
  name: string;
  samples: number;
  /** Inclusive CPU, ms per step. */
  ms: number;
  children: FlameNode[];
}

function scaled(path: PathNode, msPerNs: number): FlameNode {
  return {
    name: path.name,
    samples: path.samples,
    ms: path.ns * msPerNs,
    children: [...path.children.values()]
      .map((child) => scaled(child, msPerNs))
      .sort((a, b) => b.ms - a.ms),
  };
}

/** The tree of all roles; a role's width is its exact ms per step, its inside is split by samples. */
export function flameTree(profiles: readonly RoleProfile[]): FlameNode {
  const children = profiles
    .filter((profile) => profile.sampledNs > 0)
    .map((profile) => {
      const cost = profile.workMsPerStep + profile.spinMsPerStep;
      return scaled(profile.paths, cost / profile.sampledNs);
    })
    .sort((a, b) => b.ms - a.ms);
  return {
    name: 'server',
    samples: children.reduce((sum, child) => sum + child.samples, 0),
    ms: children.reduce((sum, child) => sum + child.ms, 0),
    children,
  };
}

export interface FlameDiffNode {
  name: string;
  /** Inclusive ms per step on each side; 0 where the path does not exist. */
  before: number;
  after: number;
  /** Interval of after - before from the sample counts. */
  interval: Interval;
  /** The interval does not hold 0: only then is the node coloured. */
  significant: boolean;
  children: FlameDiffNode[];
}

function bounds(node: FlameNode | undefined, msPerSample: number): Interval {
  if (node && node.samples > 0) {
    const counts = poissonInterval(node.samples);
    const each = node.ms / node.samples;
    return { low: counts.low * each, high: counts.high * each };
  }
  return { low: 0, high: poissonInterval(0).high * msPerSample };
}

const perSample = (root: FlameNode) => (root.samples > 0 ? root.ms / root.samples : 0);

/** Every path of either tree with its change; a path that vanished is a node of its own, not a hole. */
export function flameDiff(before: FlameNode, after: FlameNode): FlameDiffNode {
  const [msBefore, msAfter] = [perSample(before), perSample(after)];
  const walk = (a: FlameNode | undefined, b: FlameNode | undefined): FlameDiffNode => {
    const [x, y] = [bounds(a, msBefore), bounds(b, msAfter)];
    const difference = (b?.ms ?? 0) - (a?.ms ?? 0);
    // Newcombe: each side's own distance to its bound, added in squares.
    const low = difference - Math.hypot((b?.ms ?? 0) - y.low, x.high - (a?.ms ?? 0));
    const high = difference + Math.hypot(y.high - (b?.ms ?? 0), (a?.ms ?? 0) - x.low);
    const names = new Set([...(a?.children ?? []), ...(b?.children ?? [])].map((c) => c.name));
    const find = (node: FlameNode | undefined, name: string) =>
      node?.children.find((child) => child.name === name);
    return {
      name: (b ?? a)?.name ?? '',
      before: a?.ms ?? 0,
      after: b?.ms ?? 0,
      interval: { low, high },
      significant: low > 0 || high < 0,
      children: [...names]
        .map((name) => walk(find(a, name), find(b, name)))
        .sort((p, q) => Math.max(q.before, q.after) - Math.max(p.before, p.after)),
    };
  };
  return walk(before, after);
}

/** Folded stacks, root first, with weights in ns: "role;main;f 1001001". Semicolons in names become colons. */
export function foldedStacks(profiles: readonly RoleProfile[]): string {
  const lines: string[] = [];
  const clean = (name: string) => name.replaceAll(';', ':').replaceAll('\n', ' ');
  const walk = (node: PathNode, prefix: string) => {
    const path = prefix === '' ? clean(node.name) : `${prefix};${clean(node.name)}`;
    const { ns } = selfWeight(node);
    if (ns > 0) lines.push(`${path} ${ns}`);
    for (const child of node.children.values()) walk(child, path);
  };
  for (const profile of profiles) walk(profile.paths, '');
  return lines.length > 0 ? `${lines.join('\n')}\n` : '';
}
