// One steady load, four phases: free, on-CPU, scheduler, free again. Sampling and tracing never share a phase, because the
// sampler's timer lengthens the switches being measured; the free phases are the numbers of record. It measures and keeps;
// analyse.ts says what it means.
import { setTimeout as sleep } from 'node:timers/promises';
import { type OnCpuCapture, recordOnCpu } from './on-cpu.ts';
import {
  type HostLoad,
  hostLoad,
  monotonicNs,
  ownThreads,
  processTree,
  snapshot,
} from './proc-tree.ts';
import { recordSched, type SchedCapture } from './sched-record.ts';
import type { TreeSnapshot } from './schedstat.ts';

export type PhaseName = 'free' | 'on-cpu' | 'scheduler' | 'free again';

export interface PhaseCapture {
  name: PhaseName;
  fromNs: number;
  toNs: number;
  /** Exact times at the ends and once a second between. */
  snapshots: TreeSnapshot[];
  hostBefore: HostLoad;
  hostAfter: HostLoad;
  /** CPU of the measuring process in the phase, ns. */
  ownCpuNs: number;
}

export interface PhaseOptions {
  rootPid: number;
  folder: string;
  freeSeconds: number;
  onCpuSeconds: number;
  schedSeconds: number;
  frequency: number;
  /** Which profiled phases the rights allow. */
  sample: boolean;
  trace: boolean;
  /** Only the first free phase. */
  once?: boolean;
  signal: AbortSignal;
  onPhase: (name: PhaseName, seconds: number) => void;
}

export interface PhaseCaptures {
  phases: PhaseCapture[];
  onCpu?: OnCpuCapture;
  sched?: SchedCapture;
  pids: number[];
  /** Threads of the measuring process: they are apparatus, not strangers. */
  apparatus: number[];
}

const SNAPSHOT_MS = 1_000;

/** Lets `seconds` pass with an exact snapshot about once a second. */
async function watch(
  name: PhaseName,
  pids: readonly number[],
  seconds: number,
  signal: AbortSignal,
): Promise<PhaseCapture> {
  const hostBefore = hostLoad();
  const cpu = process.cpuUsage();
  const snapshots = [snapshot(pids)];
  const endNs = monotonicNs() + seconds * 1e9;
  for (;;) {
    const leftMs = (endNs - monotonicNs()) / 1e6;
    if (leftMs <= 1) break;
    await sleep(leftMs < 1.5 * SNAPSHOT_MS ? leftMs : SNAPSHOT_MS, undefined, { signal });
    snapshots.push(snapshot(pids));
  }
  const used = process.cpuUsage(cpu);
  return {
    name,
    fromNs: snapshots[0]?.atNs ?? 0,
    toNs: snapshots.at(-1)?.atNs ?? 0,
    snapshots,
    hostBefore,
    hostAfter: hostLoad(),
    ownCpuNs: (used.user + used.system) * 1e3,
  };
}

/** Runs the phases over a load that the caller keeps up; rejects when it is interrupted or perf fails. */
export async function runPhases(options: PhaseOptions): Promise<PhaseCaptures> {
  const { folder, frequency, signal } = options;
  const pids = processTree(options.rootPid);
  const phases: PhaseCapture[] = [];
  const captures: PhaseCaptures = { phases, pids, apparatus: ownThreads() };
  const phase = async (name: PhaseName, seconds: number) => {
    options.onPhase(name, seconds);
    phases.push(await watch(name, pids, seconds, signal));
  };
  await phase('free', options.freeSeconds);
  if (options.once) return captures;
  if (options.sample) {
    captures.onCpu = await recordOnCpu({
      pids,
      folder,
      frequency,
      window: () => phase('on-cpu', options.onCpuSeconds),
    });
  }
  if (options.trace) {
    const tids = snapshot(pids).threads.map((thread) => thread.tid);
    captures.sched = await recordSched({
      pids,
      tids,
      folder,
      window: () => phase('scheduler', options.schedSeconds),
    });
  }
  await phase('free again', options.freeSeconds);
  return captures;
}
