// How noisy this machine is right now: what others use of the CPU, and how late this process's timers run.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { watchServer } from '../arms/server-watch.ts';
import type { Check } from './checks.ts';

const WATCH_MS = 1000;
const RESOLUTION_MS = 1;
const QUIET_SHARE = 0.05;
const VOID_SHARE = 0.25;
const LATE_MS = 2;

/** Watches for a second. */
export async function measureNoise(): Promise<Check[]> {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const watch = watchServer(undefined);
  await new Promise((resolve) => setTimeout(resolve, WATCH_MS));
  delay.disable();
  const { cpu } = await watch.stop();
  const lateMs = Math.max(0, delay.percentile(99) / 1e6 - RESOLUTION_MS);
  return [otherPrograms(cpu.foreignCpuShare ?? 0), lateTimers(lateMs)];
}

function otherPrograms(share: number): Check {
  const name = 'other programs';
  const found = `they use ${(share * 100).toFixed(1)} % of the CPU`;
  if (share <= QUIET_SHARE) return { name, state: 'ok', found };
  const advice =
    share > VOID_SHARE
      ? 'Stop what else runs: a sweep would be VOID now.'
      : 'Stop what else runs for steadier numbers.';
  return { name, state: 'notice', found, advice };
}

function lateTimers(lateMs: number): Check {
  const name = 'timers';
  const found = `late by ${lateMs.toFixed(2)} ms (p99)`;
  if (lateMs <= LATE_MS) return { name, state: 'ok', found };
  const advice = 'Something holds the CPU for long; a cell may be VOID as client_saturated.';
  return { name, state: 'notice', found, advice };
}
