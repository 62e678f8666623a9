// Watches a server while a cell is measured: peak memory of its process tree, CPU time of server, client and everyone
// else. It measures from outside, so it works on every server of this host and asks nothing of it.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { MemoryPeaks, MemoryWorkerData } from './memory-worker.ts';
import { highWaterRssBytes, machineCpu, treeCpuSeconds } from './process-tree.ts';

export interface MemoryUse extends MemoryPeaks {
  highWaterRssBytes: number;
  cgroupPeakBytes: number | null;
  periodMs: number;
}

export interface CpuUse {
  seconds: number;
  serverCpuSeconds: number | null;
  clientCpuSeconds: number;
  machineBusyCpuSeconds: number;
  cores: number;
  foreignCpuShare: number | null;
  stealShare: number;
}

export interface WatchResult {
  memory: MemoryUse | null;
  memoryAbsent?: string;
  cpu: CpuUse;
}

export interface ServerWatch {
  /** Ends the watch; safe to call once. */
  stop(): Promise<WatchResult>;
}

const WORKER = fileURLToPath(new URL('./memory-worker.js', import.meta.url));
/** A sample of a server with 1 GiB mapped costs about 2 ms of one core, so this keeps the cost near 1 %. */
export const MEMORY_PERIOD_MS = 200;

/**
 * Begins to watch the tree under `pid`; without one (a server elsewhere) only this machine's CPU is watched. What the trees
 * under `idlePids` use is ours too, and not foreign.
 */
export function watchServer(
  pid: number | undefined,
  idlePids: readonly number[] = [],
): ServerWatch {
  const stopFlag = new SharedArrayBuffer(4);
  const peaks =
    pid === undefined ? undefined : startSampling({ pid, periodMs: MEMORY_PERIOD_MS, stopFlag });
  const before = snapshot(pid, idlePids);
  return {
    async stop() {
      const cpu = difference(before, snapshot(pid, idlePids));
      Atomics.store(new Int32Array(stopFlag), 0, 1);
      Atomics.notify(new Int32Array(stopFlag), 0);
      if (pid === undefined || peaks === undefined) {
        return { memory: null, memoryAbsent: 'The server does not run on this machine.', cpu };
      }
      const seen = await peaks;
      if (seen === undefined || seen.samples === 0) {
        return {
          memory: null,
          memoryAbsent: `Process ${pid} was gone or may not be looked at.`,
          cpu,
        };
      }
      const memory = {
        ...seen,
        highWaterRssBytes: highWaterRssBytes(pid),
        cgroupPeakBytes: cgroupPeakBytes(pid),
        periodMs: MEMORY_PERIOD_MS,
      };
      return { memory, cpu };
    },
  };
}

function startSampling(workerData: MemoryWorkerData): Promise<MemoryPeaks | undefined> {
  const worker = new Worker(WORKER, { workerData, name: 'memory-watch' });
  return new Promise((resolve) => {
    worker.once('message', (peaks: MemoryPeaks) => resolve(peaks));
    worker.once('error', () => resolve(undefined));
    worker.once('exit', () => resolve(undefined));
  });
}

interface Snapshot {
  atNs: bigint;
  serverCpuSeconds: number | null;
  clientCpuSeconds: number;
  idleCpuSeconds: number;
  busySeconds: number;
  stealSeconds: number;
  cores: number;
}

function snapshot(pid: number | undefined, idlePids: readonly number[]): Snapshot {
  const { user, system } = process.cpuUsage();
  return {
    atNs: process.hrtime.bigint(),
    serverCpuSeconds: pid === undefined ? null : treeCpuSeconds(pid),
    clientCpuSeconds: (user + system) / 1e6,
    idleCpuSeconds: idlePids.reduce((sum, idle) => sum + treeCpuSeconds(idle), 0),
    ...machineCpu(),
  };
}

function difference(before: Snapshot, after: Snapshot): CpuUse {
  const seconds = Number(after.atNs - before.atNs) / 1e9;
  const { cores } = after;
  const clientCpuSeconds = after.clientCpuSeconds - before.clientCpuSeconds;
  // A server that ended within the cell leaves nothing to subtract; then nobody's share is known.
  const server =
    before.serverCpuSeconds === null ||
    after.serverCpuSeconds === null ||
    after.serverCpuSeconds === 0
      ? null
      : after.serverCpuSeconds - before.serverCpuSeconds;
  const machineBusyCpuSeconds = Math.max(0, after.busySeconds - before.busySeconds);
  const capacity = Math.max(seconds * cores, 1e-9);
  const idle = after.idleCpuSeconds - before.idleCpuSeconds;
  const foreign = (machineBusyCpuSeconds - (server ?? 0) - idle - clientCpuSeconds) / capacity;
  const gone = before.serverCpuSeconds !== null && server === null;
  return {
    seconds,
    serverCpuSeconds: server === null ? null : Math.max(0, server),
    clientCpuSeconds,
    machineBusyCpuSeconds,
    cores,
    foreignCpuShare: gone ? null : Math.min(1, Math.max(0, foreign)),
    stealShare: Math.max(0, after.stealSeconds - before.stealSeconds) / capacity,
  };
}

/** Peak of the process's cgroup since that began, in bytes. Other programs in the group count too. */
function cgroupPeakBytes(pid: number): number | null {
  try {
    const lines = readFileSync(`/proc/${pid}/cgroup`, 'latin1');
    const v1 = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(lines)?.[1];
    const v2 = /^0::(.*)$/m.exec(lines)?.[1];
    const file =
      v1 === undefined
        ? `/sys/fs/cgroup${v2 ?? ''}/memory.peak`
        : `/sys/fs/cgroup/memory${v1}/memory.max_usage_in_bytes`;
    const value = Number(readFileSync(file, 'latin1').trim());
    return Number.isSafeInteger(value) ? value : null;
  } catch {
    return null;
  }
}
