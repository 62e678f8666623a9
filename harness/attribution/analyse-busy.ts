// From exact snapshots of the free phases to what each role costs per step and per token, with an interval from second to
// second. Pure.
import { meanInterval } from './intervals.ts';
import type { Quantity } from './quantity.ts';
import {
  busyBetween,
  busyByRole,
  type RoleBusy,
  type TreeSnapshot,
  type WindowBusy,
} from './schedstat.ts';

export interface StepCount {
  /** Steps that ended in a window (monotonic ns). */
  between: (fromNs: number, toNs: number) => number;
  tokens: (fromNs: number, toNs: number) => number;
}

export interface RoleCost extends RoleBusy {
  msPerStep: number;
  usPerToken: number;
  queueMsPerStep: number;
  slicesPerStep: number;
  cost: Quantity;
}

interface Second {
  steps: number;
  roles: Map<string, number>;
}

function seconds(
  snapshots: readonly TreeSnapshot[],
  ticks: number,
  roleOf: (tid: number) => string,
  count: StepCount,
): Second[] {
  return snapshots.slice(1).flatMap((b, i) => {
    const a = snapshots[i];
    if (!a) return [];
    const steps = count.between(a.atNs, b.atNs);
    const roles = busyByRole(busyBetween(a, b, ticks), roleOf);
    return [{ steps, roles: new Map(roles.map((role) => [role.role, role.runNs])) }];
  });
}

/** Ratio of sums over seconds, with the delete-one jackknife for its error: steps vary from second to second too. */
function ratio(role: string, list: readonly Second[], steps: number): Quantity {
  const useful = list.filter((second) => second.steps > 0);
  const runNs = useful.reduce((sum, second) => sum + (second.roles.get(role) ?? 0), 0);
  const all = useful.reduce((sum, second) => sum + second.steps, 0);
  const estimate = all > 0 ? runNs / all / 1e6 : 0;
  const left = useful.map(
    (second) => (runNs - (second.roles.get(role) ?? 0)) / Math.max(1, all - second.steps) / 1e6,
  );
  const n = left.length;
  const { mean } = meanInterval(left);
  const variance =
    ((n - 1) / Math.max(1, n)) * left.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return {
    estimate,
    unit: 'ms/step',
    method: 'schedstat by seconds, free phases',
    error:
      n < 3
        ? { kind: 'bounds', low: 0, high: Number.MAX_VALUE }
        : { kind: 'normal', se: Math.sqrt(variance), df: n - 1 },
    steps,
  };
}

/** Sums windows and gives each role its cost; the totals are exact, the interval is from second to second. */
export function roleCosts(
  windows: readonly (readonly TreeSnapshot[])[],
  ticks: number,
  roleOf: (tid: number) => string,
  count: StepCount,
): { roles: RoleCost[]; steps: number; windowNs: number; diedNs: number } {
  const totals = new Map<string, RoleBusy>();
  const parts: Second[] = [];
  let [steps, tokens, windowNs, diedNs] = [0, 0, 0, 0];
  for (const snapshots of windows) {
    const [first, last] = [snapshots[0], snapshots.at(-1)];
    if (!first || !last || first === last) continue;
    const whole: WindowBusy = busyBetween(first, last, ticks);
    steps += count.between(first.atNs, last.atNs);
    tokens += count.tokens(first.atNs, last.atNs);
    windowNs += whole.windowNs;
    diedNs += whole.diedNs;
    parts.push(...seconds(snapshots, ticks, roleOf, count));
    for (const role of busyByRole(whole, roleOf))
      totals.set(role.role, add(totals.get(role.role), role));
  }
  const perStep = (ns: number) => (steps > 0 ? ns / steps / 1e6 : 0);
  const roles = [...totals.values()]
    .map((role) => ({
      ...role,
      cores: windowNs > 0 ? role.runNs / windowNs : 0,
      msPerStep: perStep(role.runNs),
      usPerToken: tokens > 0 ? role.runNs / tokens / 1e3 : 0,
      queueMsPerStep: perStep(role.waitNs),
      slicesPerStep: steps > 0 ? role.slices / steps : 0,
      cost: ratio(role.role, parts, steps),
    }))
    .sort((a, b) => b.runNs - a.runNs);
  return { roles, steps, windowNs, diedNs };
}

function add(to: RoleBusy | undefined, role: RoleBusy): RoleBusy {
  if (!to) return role;
  return {
    ...role,
    threads: Math.max(to.threads, role.threads),
    runNs: to.runNs + role.runNs,
    waitNs: to.waitNs + role.waitNs,
    slices: to.slices + role.slices,
  };
}
