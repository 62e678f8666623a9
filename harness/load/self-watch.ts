// What the measuring process cost itself: CPU time, and how late its event loop ran. A run whose client was busy
// measured the client, so these figures go into every result.
import { monitorEventLoopDelay } from 'node:perf_hooks';

export interface SelfCost {
  eventLoopDelayNs: { p50: number; p99: number; max: number };
  /** User and system time of this process. */
  cpuNs: number;
}

/** Fine enough to see a stall of one ITL, rare enough (100 wake-ups a second) to cost nothing that shows. */
const RESOLUTION_MS = 10;

/** Begins to watch; the function returned stops and tells. */
export function watchSelf(): () => SelfCost {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    histogram.disable();
    // The histogram holds the whole interval between two samples; what was asked for is no delay.
    const delay = (ns: number) => (histogram.count > 0 ? Math.max(0, ns - RESOLUTION_MS * 1e6) : 0);
    return {
      eventLoopDelayNs: {
        p50: delay(histogram.percentile(50)),
        p99: delay(histogram.percentile(99)),
        max: delay(histogram.max),
      },
      cpuNs: (user + system) * 1000,
    };
  };
}
