// A process and its descendants as /proc shows them: who is in the tree, how much CPU time they used, how much memory
// they hold. Everything is read synchronously, so call it where nobody waits for the event loop.
import { readdirSync, readFileSync } from 'node:fs';

/** Pids of the process and all its living descendants, the process first; empty when it is gone. */
export function processTree(rootPid: number): number[] {
  const tree = [rootPid];
  try {
    readdirSync(`/proc/${rootPid}`);
  } catch {
    return [];
  }
  for (const pid of tree) tree.push(...childrenOf(pid));
  return tree;
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((tid) =>
      readFileSync(`/proc/${pid}/task/${tid}/children`, 'latin1')
        .trim()
        .split(' ')
        .filter((child) => child !== '')
        .map(Number),
    );
  } catch {
    return [];
  }
}

export interface TreeMemory {
  pssBytes: number;
  rssBytes: number;
  processes: number;
}

/** Memory of the tree now; undefined when the process is gone or may not be looked at. */
export function treeMemory(rootPid: number): TreeMemory | undefined {
  let pssBytes = 0;
  let rssBytes = 0;
  let processes = 0;
  for (const pid of processTree(rootPid)) {
    try {
      const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1');
      pssBytes += kilobytes(rollup, 'Pss') * 1024;
      rssBytes += kilobytes(rollup, 'Rss') * 1024;
      processes += 1;
    } catch {
      // Gone between the two looks, or another user's.
    }
  }
  return processes === 0 ? undefined : { pssBytes, rssBytes, processes };
}

/** The kernel's own record of the largest RSS that this one process ever had, in bytes; 0 when unknown. */
export function highWaterRssBytes(pid: number): number {
  try {
    return kilobytes(readFileSync(`/proc/${pid}/status`, 'latin1'), 'VmHWM') * 1024;
  } catch {
    return 0;
  }
}

function kilobytes(text: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s*(\\d+) kB`, 'm').exec(text)?.[1] ?? 0);
}

/** Clock ticks a second in /proc: 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** User and system time of the tree and of the children that it has waited for, in seconds. */
export function treeCpuSeconds(rootPid: number): number {
  let ticks = 0;
  for (const pid of processTree(rootPid)) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      for (const at of [11, 12, 13, 14]) ticks += Number(fields[at] ?? 0);
    } catch {
      // Gone between the two looks.
    }
  }
  return ticks / TICKS_PER_SECOND;
}

export interface MachineCpu {
  busySeconds: number;
  stealSeconds: number;
  cores: number;
}

/** CPU time of the whole machine since boot, from the text of /proc/stat. Waiting for a disk is not busy. */
export function machineCpu(stat: string = readFileSync('/proc/stat', 'latin1')): MachineCpu {
  const first = /^cpu\s+(.*)$/m.exec(stat)?.[1]?.split(' ').map(Number) ?? [];
  // Guest time is in user time already.
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, steal = 0] = first;
  return {
    busySeconds: (user + nice + system + irq + softIrq) / TICKS_PER_SECOND,
    stealSeconds: steal / TICKS_PER_SECOND,
    cores: Math.max(1, stat.match(/^cpu\d+/gm)?.length ?? 1),
  };
}
