// Exact CPU time of threads from /proc text: on-CPU ns, run-queue wait ns and slices, and their difference between two
// snapshots. Pure: reads no file and no clock. Counters are exact as numbers up to 2^53 ns, about 104 days of CPU.
import { HarnessError } from '../errors.ts';

export interface ThreadTimes {
  pid: number;
  tid: number;
  comm: string;
  /** Start of the thread in clock ticks since boot: tells a reused tid from the old thread. */
  startTicks: number;
  runNs: number;
  waitNs: number;
  slices: number;
}

export interface ProcessTimes {
  pid: number;
  /** User and system time of all its threads, dead ones included, in ticks. */
  cpuTicks: number;
  startTicks: number;
  commandLine: string;
}

export interface TreeSnapshot {
  /** CLOCK_MONOTONIC, ns. */
  atNs: number;
  processes: ProcessTimes[];
  threads: ThreadTimes[];
}

/** Parses /proc/PID/task/TID/schedstat: "run_ns wait_ns slices". */
export function parseSchedstat(text: string): { runNs: number; waitNs: number; slices: number } {
  const match = /^(\d+) (\d+) (\d+)\s*$/.exec(text);
  if (!match)
    throw new HarnessError(
      'INVALID_FILE',
      `schedstat holds ${JSON.stringify(text.slice(0, 80))} instead of three numbers`,
      { hint: 'The kernel must have CONFIG_SCHED_INFO; use another host or kernel.' },
    );
  return { runNs: Number(match[1]), waitNs: Number(match[2]), slices: Number(match[3]) };
}

export interface StatFields {
  id: number;
  comm: string;
  state: string;
  ppid: number;
  utimeTicks: number;
  stimeTicks: number;
  startTicks: number;
}

/** Parses /proc/PID/stat, whose name field may hold spaces, parentheses and newlines. */
export function parseStat(text: string): StatFields {
  const open = text.indexOf(' (');
  const close = text.lastIndexOf(') ');
  const rest = text
    .slice(close + 2)
    .trim()
    .split(' ');
  if (open < 1 || close <= open || rest.length < 20)
    throw new HarnessError(
      'INVALID_FILE',
      `stat holds ${JSON.stringify(text.slice(0, 80))}, which is not a process line`,
    );
  const field = (index: number) => Number(rest[index]);
  return {
    id: Number(text.slice(0, open)),
    comm: text.slice(open + 2, close),
    state: rest[0] ?? '?',
    ppid: field(1),
    utimeTicks: field(11),
    stimeTicks: field(12),
    startTicks: field(19),
  };
}

interface ThreadBusy {
  pid: number;
  tid: number;
  comm: string;
  runNs: number;
  waitNs: number;
  slices: number;
  /** The thread was born inside the window. */
  born: boolean;
}

export interface WindowBusy {
  windowNs: number;
  threads: ThreadBusy[];
  /** Threads that ended inside the window: the rest of their time is only in the process totals. */
  died: ThreadTimes[];
  /** CPU of dead threads, from process totals; 0 when within what the tick can tell. */
  diedNs: number;
  /** The resolution of diedNs. */
  diedResolutionNs: number;
}

const identity = (t: { tid: number; startTicks: number }) => `${t.tid}:${t.startTicks}`;

/** What each thread ran between two snapshots of one process tree, exactly; a reused tid counts as a new thread. */
export function busyBetween(a: TreeSnapshot, b: TreeSnapshot, ticksPerSecond: number): WindowBusy {
  if (b.atNs <= a.atNs)
    throw new HarnessError(
      'USAGE',
      `the second snapshot (${b.atNs}) is not after the first (${a.atNs})`,
    );
  const before = new Map(a.threads.map((t) => [identity(t), t]));
  const threads = b.threads.map((t): ThreadBusy => {
    const from = before.get(identity(t));
    return {
      pid: t.pid,
      tid: t.tid,
      comm: t.comm,
      runNs: t.runNs - (from?.runNs ?? 0),
      waitNs: t.waitNs - (from?.waitNs ?? 0),
      slices: t.slices - (from?.slices ?? 0),
      born: from === undefined,
    };
  });
  const after = new Set(b.threads.map(identity));
  const died = a.threads.filter((t) => !after.has(identity(t)));
  const tickNs = 1e9 / ticksPerSecond;
  const totals = new Map(a.processes.map((p) => [`${p.pid}:${p.startTicks}`, p.cpuTicks]));
  const processNs = b.processes.reduce(
    (sum, p) => sum + (p.cpuTicks - (totals.get(`${p.pid}:${p.startTicks}`) ?? 0)) * tickNs,
    0,
  );
  const liveNs = threads.reduce((sum, t) => sum + t.runNs, 0);
  // utime and stime are truncated to ticks each, at both ends, for each process.
  const diedResolutionNs = 4 * tickNs * Math.max(1, b.processes.length);
  const diedNs = died.length > 0 || processNs - liveNs > diedResolutionNs ? processNs - liveNs : 0;
  return {
    windowNs: b.atNs - a.atNs,
    threads,
    died,
    diedNs: Math.max(0, diedNs),
    diedResolutionNs,
  };
}

export interface RoleBusy {
  role: string;
  threads: number;
  runNs: number;
  waitNs: number;
  slices: number;
  /** Cores kept busy: 1 is one core for the whole window. */
  cores: number;
}

/** Sums thread times by role, largest first; the sum over roles is the sum over threads. */
export function busyByRole(window: WindowBusy, roleOf: (tid: number) => string): RoleBusy[] {
  const roles = new Map<string, RoleBusy>();
  for (const t of window.threads) {
    const role = roleOf(t.tid);
    const sum = roles.get(role) ?? { role, threads: 0, runNs: 0, waitNs: 0, slices: 0, cores: 0 };
    sum.threads += 1;
    sum.runNs += t.runNs;
    sum.waitNs += t.waitNs;
    sum.slices += t.slices;
    roles.set(role, sum);
  }
  const list = [...roles.values()].map((r) => ({ ...r, cores: r.runNs / window.windowNs }));
  return list.sort((x, y) => y.runNs - x.runNs);
}

/** How far samples agree with the kernel's own account: below 1, slices were too short for the sampler. */
export function agreement(
  sampledNs: number,
  exact: { runNs: number; slices: number },
): { kappa: number; missingNsPerSlice: number } | undefined {
  if (exact.runNs <= 0) return undefined;
  return {
    kappa: sampledNs / exact.runNs,
    missingNsPerSlice: exact.slices > 0 ? (exact.runNs - sampledNs) / exact.slices : 0,
  };
}
