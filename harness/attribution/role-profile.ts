// From folded samples and exact thread times to what each role does: classes with intervals, top functions with the
// ranks the data allows, and how far the samples agree with the kernel's own account. Pure.
import { type Folded, type LeafFunction, mergePaths, type PathNode } from './folding.ts';
import { type Interval, possibleRanks, wilsonInterval } from './intervals.ts';
import { agreement, type RoleBusy } from './schedstat.ts';
import { isWaiting, type StackClass } from './symbol-classes.ts';

interface Share {
  samples: number;
  /** Of the role's samples, weighted by period. */
  share: number;
  interval: Interval;
  /** 1 is the largest; a range where intervals overlap. */
  rank: { best: number; worst: number };
}

interface ClassShare extends Share {
  class: StackClass;
  waiting: boolean;
  /** CPU of the class per step: its share times the role's exact CPU per step. */
  msPerStep: number;
}

interface FunctionShare extends Share {
  symbol: string;
  dso: string;
  addresses: { ip: string; samples: number }[];
  msPerStep: number;
}

export interface RoleProfile {
  role: string;
  samples: number;
  sampledNs: number;
  /** Sampled ns over exact ns in the same window; absent when the role did not run. */
  kappa?: number;
  missingNsPerSlice?: number;
  classes: ClassShare[];
  functions: FunctionShare[];
  /** Exact CPU split by the samples: busy = work + spin. */
  workMsPerStep: number;
  spinMsPerStep: number;
  paths: PathNode;
}

export interface ProfileOptions {
  roleOf: (tid: number) => string;
  /** Exact times of the same window as the samples. */
  busy: readonly RoleBusy[];
  /** Exact CPU of each role per step, in the free windows, ms. */
  msPerStep: ReadonlyMap<string, number>;
  topFunctions?: number;
  confidence?: number;
}

interface RoleSum {
  samples: number;
  ns: number;
  classes: Map<StackClass, { samples: number; ns: number }>;
  leaves: Map<string, LeafFunction>;
  trees: PathNode[];
}

function sumRoles(folded: Folded, roleOf: (tid: number) => string): Map<string, RoleSum> {
  const sums = new Map<string, RoleSum>();
  for (const thread of folded.threads.values()) {
    const role = roleOf(thread.tid);
    let sum = sums.get(role);
    if (!sum) {
      sum = { samples: 0, ns: 0, classes: new Map(), leaves: new Map(), trees: [] };
      sums.set(role, sum);
    }
    sum.samples += thread.samples;
    sum.ns += thread.ns;
    sum.trees.push(thread.paths);
    for (const [name, weight] of thread.classes) {
      const to = sum.classes.get(name) ?? { samples: 0, ns: 0 };
      sum.classes.set(name, { samples: to.samples + weight.samples, ns: to.ns + weight.ns });
    }
    for (const [key, leaf] of thread.leaves)
      sum.leaves.set(key, mergeLeaf(sum.leaves.get(key), leaf));
  }
  return sums;
}

function mergeLeaf(to: LeafFunction | undefined, leaf: LeafFunction): LeafFunction {
  if (!to) return { ...leaf, addresses: new Map(leaf.addresses) };
  to.samples += leaf.samples;
  to.ns += leaf.ns;
  for (const [ip, count] of leaf.addresses)
    to.addresses.set(ip, (to.addresses.get(ip) ?? 0) + count);
  return to;
}

/**
 * A share of the sampled time as a share of the exact time: what the sampler missed (at the switches of short slices) may
 * belong to any of its parts, so both bounds move by it.
 */
export function withUnsampled({ low, high }: Interval, kappa: number | undefined): Interval {
  const seen = Math.min(1, kappa ?? 1);
  return { low: low * seen, high: Math.min(1, high * seen + (1 - seen)) };
}

/** Profiles of every role that was sampled, the largest first; shares are of the role's own samples. */
export function profileRoles(folded: Folded, options: ProfileOptions): RoleProfile[] {
  const { confidence = 0.95, topFunctions = 20 } = options;
  const busy = new Map(options.busy.map((role) => [role.role, role]));
  const profiles: RoleProfile[] = [];
  for (const [role, sum] of sumRoles(folded, options.roleOf)) {
    const cost = options.msPerStep.get(role) ?? 0;
    const exact = busy.get(role);
    const seen = exact && agreement(sum.ns, exact);
    const share = <T extends { samples: number; ns: number }>(list: T[]) => {
      const shares = list.map((item) =>
        withUnsampled(wilsonInterval(item.samples, sum.samples, confidence), seen?.kappa),
      );
      const ranks = possibleRanks(shares);
      return list.map((item, i) => ({
        item,
        samples: item.samples,
        share: sum.ns > 0 ? item.ns / sum.ns : 0,
        interval: shares[i] ?? { low: 0, high: 1 },
        rank: ranks[i] ?? { best: 1, worst: list.length },
        msPerStep: sum.ns > 0 ? (item.ns / sum.ns) * cost : 0,
      }));
    };
    const classes = share(
      [...sum.classes].map(([name, weight]) => ({ name, ...weight })).sort((a, b) => b.ns - a.ns),
    ).map(({ item, ...rest }) => ({ class: item.name, waiting: isWaiting(item.name), ...rest }));
    const functions = share([...sum.leaves.values()].sort((a, b) => b.ns - a.ns))
      .slice(0, topFunctions)
      .map(({ item, ...rest }) => ({
        symbol: item.symbol,
        dso: item.dso,
        addresses: topAddresses(item),
        ...rest,
      }));
    const spin = classes.filter((c) => c.waiting).reduce((total, c) => total + c.msPerStep, 0);
    profiles.push({
      role,
      samples: sum.samples,
      sampledNs: sum.ns,
      ...seen,
      classes,
      functions,
      workMsPerStep: cost - spin,
      spinMsPerStep: spin,
      paths: mergePaths(role, sum.trees),
    });
  }
  return profiles.sort((a, b) => b.sampledNs - a.sampledNs);
}

function topAddresses(leaf: LeafFunction): { ip: string; samples: number }[] {
  return [...leaf.addresses]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 3)
    .map(([ip, samples]) => ({ ip, samples }));
}
