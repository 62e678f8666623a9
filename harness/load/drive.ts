// The measured loop: holds a number of requests in flight, or sends at scheduled times, and keeps what each left behind.
// While it runs it prints, writes and judges nothing; success is judged when the last request has ended.
import type { Phase, RequestTimeline } from '../client/timeline.ts';
import { inFlight } from './in-flight.ts';
import type { SelfCost } from './self-watch.ts';
import { Session, type SessionOptions } from './session.ts';

export type { DriveProgress } from './session.ts';

export interface DriveOptions extends SessionOptions {
  concurrency: number;
  /** Issued first, at the same concurrency, and handed over without draining. */
  warmUpRequests: number;
  /** How many requests count. */
  requests: number;
}

export interface OpenLoopOptions extends SessionOptions {
  /** When each request is to be sent, ns from the start, ascending. */
  arrivalsNs: readonly number[];
  /** The first so many of them do not count. */
  warmUpRequests: number;
  /** Connections opened before the start; when all are busy a request waits, and its latency counts from when it was due. */
  connections: number;
}

export interface DriveResult {
  /** CLOCK_MONOTONIC; all stamps are relative to it. */
  originNs: bigint;
  loop: 'closed' | 'open';
  /** In the order of issue. */
  timelines: RequestTimeline[];
  concurrency: number;
  /** First measured request handed to its socket. */
  windowStartNs: number;
  /** Last measured request ended. */
  windowEndNs: number;
  peakInFlight: number;
  /** Share of the window's time with exactly `concurrency` in flight, 0 to 1. */
  shareAtConcurrency: number;
  connectionsOpened: number;
  /** Requests sent again because the server had closed a kept-alive socket. */
  reconnects: number;
  /** How much later than asked this process's event loop ran. */
  eventLoopDelayNs: { p50: number; p99: number; max: number };
  /** User and system CPU time of this process within the run. */
  clientCpuNs: number;
  /** The signal was raised; what was measured is there. */
  interrupted: boolean;
}

/**
 * Closed loop at exactly `concurrency` in flight: warm-up requests are replaced one by one by measured ones, and when no
 * measured one is left to issue, others keep the load up until the last measured one has ended. Rejects only when the
 * server cannot be reached at all or an option is impossible; what a request suffers is in its timeline.
 */
export async function drive(options: DriveOptions): Promise<DriveResult> {
  const { concurrency, warmUpRequests, requests, signal } = options;
  requireWhole('concurrency', concurrency, 1);
  requireWhole('warmUpRequests', warmUpRequests, 0);
  requireWhole('requests', requests, 1);
  const total = warmUpRequests + requests;
  const session = await Session.open(options, {
    connections: concurrency,
    total,
    prepare: total + 2 * concurrency,
  });
  let next = 0;
  let measuredLeft = requests;
  const startNs = session.clock.nowNs();
  const runSlot = async (slot: number) => {
    let freeNs = startNs;
    while (measuredLeft > 0 && !signal.aborted) {
      const index = next;
      next += 1;
      const phase = phaseOf(index, warmUpRequests, total);
      const timeline = await session.issue(slot, index, phase, freeNs);
      freeNs = timeline.closedNs ?? session.clock.nowNs();
      if (phase === 'measured') measuredLeft -= 1;
      if (measuredLeft === 0) session.abortAll('The last measured request had ended.');
      // A server that is gone answers at once: requests that only keep the load up must not become a busy loop.
      if (phase === 'drain' && timeline.failure !== undefined) return;
    }
  };
  let cost: SelfCost | undefined;
  try {
    await Promise.all(session.connections.map((_, slot) => runSlot(slot)));
  } finally {
    cost = await session.close();
  }
  return resultOf(session, cost, 'closed', concurrency, signal.aborted);
}

/**
 * Open loop: each request is sent when it is due, whether or not earlier ones have ended; `intendedNs` is the schedule,
 * so latency can be counted from when a request should have left. Rejects like drive.
 */
export async function driveOpenLoop(options: OpenLoopOptions): Promise<DriveResult> {
  const { arrivalsNs, warmUpRequests, connections, signal } = options;
  requireWhole('connections', connections, 1);
  requireWhole('warmUpRequests', warmUpRequests, 0);
  requireWhole('arrivals', arrivalsNs.length, warmUpRequests + 1);
  const total = arrivalsNs.length;
  const session = await Session.open(options, { connections, total, prepare: total });
  const idle = session.connections.map((_, slot) => slot).reverse();
  const waiting: number[] = [];
  const running = new Set<Promise<void>>();
  const startNs = session.clock.nowNs();
  const serve = async (slot: number) => {
    for (let index = waiting.shift(); index !== undefined; index = waiting.shift()) {
      if (signal.aborted) break;
      const dueNs = startNs + (arrivalsNs[index] ?? 0);
      await session.issue(slot, index, phaseOf(index, warmUpRequests, total), dueNs);
    }
    idle.push(slot);
  };
  let cost: SelfCost | undefined;
  try {
    for (let index = 0; index < total && !signal.aborted; index += 1) {
      const dueNs = startNs + (arrivalsNs[index] ?? 0);
      await sleep((dueNs - session.clock.nowNs()) / 1e6, signal);
      waiting.push(index);
      const slot = idle.pop();
      if (slot === undefined) continue;
      const serving = serve(slot).finally(() => running.delete(serving));
      running.add(serving);
    }
    await Promise.all(running);
  } finally {
    cost = await session.close();
  }
  return resultOf(session, cost, 'open', connections, signal.aborted);
}

function phaseOf(index: number, warmUp: number, total: number): Phase {
  if (index < warmUp) return 'warm-up';
  return index < total ? 'measured' : 'drain';
}

function resultOf(
  session: Session,
  cost: SelfCost,
  loop: 'closed' | 'open',
  concurrency: number,
  interrupted: boolean,
): DriveResult {
  const { timelines, clock, connections } = session;
  let windowStartNs = Number.POSITIVE_INFINITY;
  let windowEndNs = 0;
  for (const { phase, sentNs, closedNs } of timelines) {
    if (phase !== 'measured') continue;
    windowStartNs = Math.min(windowStartNs, sentNs);
    windowEndNs = Math.max(windowEndNs, closedNs ?? 0);
  }
  windowStartNs = Math.min(windowStartNs, windowEndNs);
  const occupancy = inFlight(timelines, windowStartNs, windowEndNs);
  return {
    originNs: clock.originNs,
    loop,
    timelines,
    concurrency,
    windowStartNs,
    windowEndNs,
    peakInFlight: occupancy.peak,
    shareAtConcurrency: occupancy.shareAt(concurrency),
    connectionsOpened: connections.reduce((sum, { connectionsOpened: n }) => sum + n, 0),
    reconnects: timelines.reduce((sum, { reconnects: n }) => sum + n, 0),
    eventLoopDelayNs: cost.eventLoopDelayNs,
    clientCpuNs: cost.cpuNs,
    interrupted,
  };
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal.addEventListener('abort', wake);
  });
}

function requireWhole(name: string, value: number, least: number): void {
  if (!Number.isInteger(value) || value < least) {
    throw new RangeError(`${name} is ${value}; it must be a whole number of at least ${least}.`);
  }
}
