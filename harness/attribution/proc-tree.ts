// Reads /proc: the processes below a root, and the exact CPU times of all their threads at one moment. It computes
// nothing; processes and threads that end while it reads are left out.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { HarnessError } from '../errors.ts';
import {
  type ProcessTimes,
  parseSchedstat,
  parseStat,
  type ThreadTimes,
  type TreeSnapshot,
} from './schedstat.ts';

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

const numbers = (path: string): number[] => {
  try {
    return readdirSync(path)
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
};

/** CLOCK_MONOTONIC in ns, on the same clock as perf -k CLOCK_MONOTONIC and the server's stamps. */
export const monotonicNs = (): number => Number(process.hrtime.bigint());

/** Clock ticks per second of /proc/PID/stat. */
export function ticksPerSecond(): number {
  return Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' })) || 100;
}

/** The process and all its descendants, parents first; HarnessError when the root is gone. */
export function processTree(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const pid of numbers('/proc')) {
    const text = readText(`/proc/${pid}/stat`);
    if (text === undefined) continue;
    const { ppid } = parseStat(text);
    const siblings = children.get(ppid);
    if (siblings) siblings.push(pid);
    else children.set(ppid, [pid]);
  }
  if (readText(`/proc/${root}/stat`) === undefined)
    throw new HarnessError('SERVER_NOT_READY', `there is no process ${root} any more`);
  const tree = [root];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  return tree;
}

function processTimes(pid: number): ProcessTimes | undefined {
  const text = readText(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  const stat = parseStat(text);
  return {
    pid,
    cpuTicks: stat.utimeTicks + stat.stimeTicks,
    startTicks: stat.startTicks,
    commandLine: (readText(`/proc/${pid}/cmdline`) ?? '').replaceAll('\0', ' ').trim(),
  };
}

function threadTimes(pid: number, tid: number): ThreadTimes | undefined {
  const folder = `/proc/${pid}/task/${tid}`;
  const stat = readText(`${folder}/stat`);
  const times = readText(`${folder}/schedstat`);
  if (stat === undefined || times === undefined) return undefined;
  const { comm, startTicks } = parseStat(stat);
  return { pid, tid, comm, startTicks, ...parseSchedstat(times) };
}

/** Times of all threads of these processes, read within about a millisecond of `atNs`. */
export function snapshot(pids: readonly number[]): TreeSnapshot {
  const atNs = monotonicNs();
  const processes = pids.flatMap((pid) => processTimes(pid) ?? []);
  const threads = pids.flatMap((pid) =>
    numbers(`/proc/${pid}/task`).flatMap((tid) => threadTimes(pid, tid) ?? []),
  );
  return { atNs, processes, threads };
}

/** Innermost pid of a /proc/PID/status text, which has one pid a namespace; `pid` where there is no such line. */
export function innermostPid(status: string, pid: number): number {
  const ids = /^NSpid:\s+(.*)$/m.exec(status)?.[1]?.trim().split(/\s+/) ?? [];
  return Number(ids.at(-1) ?? pid);
}

/** Pid inside the innermost namespace, which names the JavaScript map file of a container. */
export function innerPid(pid: number): number {
  return innermostPid(readText(`/proc/${pid}/status`) ?? '', pid);
}

export interface HostLoad {
  atNs: number;
  /** Total time in which some task waited for a CPU, us; absent without PSI. */
  psiSomeUs?: number;
  /** Ticks of all CPUs: busy, and stolen by the hypervisor. */
  busyTicks: number;
  stealTicks: number;
  cpus: number;
}

/** Counters of the whole host, to tell its noise from the server's own load. */
export function hostLoad(): HostLoad {
  const lines = (readText('/proc/stat') ?? '').split('\n');
  const fields = (lines.find((line) => line.startsWith('cpu ')) ?? '')
    .split(/\s+/)
    .slice(1)
    .map(Number);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = fields;
  const psi = /^some .*total=(\d+)/m.exec(readText('/proc/pressure/cpu') ?? '')?.[1];
  return {
    atNs: monotonicNs(),
    ...(psi === undefined ? {} : { psiSomeUs: Number(psi) }),
    busyTicks: user + nice + system + irq + softirq,
    stealTicks: steal,
    cpus: lines.filter((line) => /^cpu\d/.test(line)).length,
  };
}

/** CPU ns of one process by its threads, for what the measuring side itself used. */
export function ownThreads(): number[] {
  return numbers('/proc/self/task');
}
