// The thread that samples a server's memory, so that reading smaps_rollup never delays the event loop that stamps tokens.
// It sleeps on a shared flag instead of an event loop, and answers once, when it is told to stop.
import { parentPort, workerData } from 'node:worker_threads';
import { treeMemory } from './process-tree.ts';

export interface MemoryWorkerData {
  pid: number;
  periodMs: number;
  /** One Int32: 0 while sampling, 1 to stop. */
  stopFlag: SharedArrayBuffer;
}

export interface MemoryPeaks {
  peakPssBytes: number;
  peakRssBytes: number;
  samples: number;
  processes: number;
}

function sample({ pid, periodMs, stopFlag }: MemoryWorkerData): MemoryPeaks {
  const flag = new Int32Array(stopFlag);
  const peaks: MemoryPeaks = { peakPssBytes: 0, peakRssBytes: 0, samples: 0, processes: 0 };
  for (let last = false; ; ) {
    const memory = treeMemory(pid);
    if (memory !== undefined) {
      peaks.samples += 1;
      peaks.peakPssBytes = Math.max(peaks.peakPssBytes, memory.pssBytes);
      peaks.peakRssBytes = Math.max(peaks.peakRssBytes, memory.rssBytes);
      peaks.processes = Math.max(peaks.processes, memory.processes);
    }
    if (last) return peaks;
    last = Atomics.wait(flag, 0, 0, periodMs) !== 'timed-out';
  }
}

parentPort?.postMessage(sample(workerData as MemoryWorkerData));
