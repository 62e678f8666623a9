// Wake-ups: how long each hop took from the wake-up to running, who was running meanwhile, and who ends the engine's
// sleep. Wakers outside the server are interrupts and timers in disguise, so they count as `irq`. Pure.
import { quantile } from './bootstrap.ts';
import type { SchedEvent, SwitchEvent } from './sched-parser.ts';
import type { SwitchSource } from './sched-states.ts';

/** The role given to wakers that are no thread of ours. */
const IRQ = 'irq';

export interface HopSummary {
  from: string;
  to: string;
  count: number;
  p50Us: number;
  p99Us: number;
  meanUs: number;
  /** Mean without the time in which a stranger or the measuring side had the CPU: the server's own part. */
  ownMeanUs: number;
  /** Share of the hop's latency at whose end a task outside the server had the CPU. */
  foreignShare: number;
  /** Names of those tasks with the ns that they are charged, largest first. */
  meanwhile: { comm: string; ns: number }[];
}

export interface SleepEnd {
  /** Role that ended the sleep. */
  waker: string;
  count: number;
  sleptNs: number;
}

interface Hop {
  latencies: number[];
  foreignNs: number;
  apparatusNs: number;
  totalNs: number;
  meanwhile: Map<string, number>;
}

interface Pending {
  timeNs: number;
  waker: number;
}

export interface WakeOptions {
  roleOf: (tid: number) => string | undefined;
  /** Whether a thread belongs to the server under test. */
  ours: (tid: number) => boolean;
  /** Threads of the measuring side: the CPU that they take is neither the server's nor a stranger's. */
  apparatus?: (tid: number) => boolean;
  source?: SwitchSource;
}

/** A switch record follows its tracepoint within microseconds; only the tracepoint says who was there before. */
const SAME_SWITCH_NS = 100_000;

/** Collects hops and sleeps from scheduler events in time order. */
export class WakeCollector {
  readonly #options: WakeOptions;
  readonly #records: boolean;
  readonly #pending = new Map<number, Pending>();
  readonly #asleep = new Map<number, number>();
  /** Woken while still running: between the decision to sleep and the switch. */
  readonly #early = new Map<number, { timeNs: number; waker: number; wakee: number }>();
  readonly #hops = new Map<string, Hop>();
  readonly #sleeps = new Map<string, Map<string, { count: number; sleptNs: number }>>();
  readonly #lastInto = new Map<number, SwitchEvent>();
  readonly #lastOut = new Map<number, SwitchEvent>();
  readonly preemptedBy = new Map<string, { count: number; foreign: number }>();

  constructor(options: WakeOptions) {
    this.#options = options;
    this.#records = options.source === 'records';
  }

  add(event: SchedEvent): void {
    if (event.kind === 'waking') {
      if (this.#options.ours(event.wakee) && !this.#pending.has(event.wakee)) this.#wake(event);
    } else if (event.kind === 'switch') this.#switch(event);
    else if (this.#records && this.#options.ours(event.tid)) this.#record(event.kind, event);
  }

  #switch(event: SwitchEvent): void {
    if (this.#records) {
      this.#lastInto.set(event.next, event);
      this.#lastOut.set(event.prev, event);
      return;
    }
    if (this.#options.ours(event.prev))
      this.#out(event.prev, event.timeNs, event.prevState.startsWith('R'), event);
    if (this.#options.ours(event.next)) this.#in(event.next, event.timeNs, event);
  }

  #record(kind: 'in' | 'out', event: { tid: number; timeNs: number; preempted: boolean }): void {
    const last = (kind === 'in' ? this.#lastInto : this.#lastOut).get(event.tid);
    const near = last && Math.abs(event.timeNs - last.timeNs) < SAME_SWITCH_NS ? last : undefined;
    if (kind === 'in') this.#in(event.tid, event.timeNs, near);
    else this.#out(event.tid, event.timeNs, event.preempted, near);
  }

  #role(tid: number): string {
    return this.#options.ours(tid) ? (this.#options.roleOf(tid) ?? IRQ) : IRQ;
  }

  #wake(event: { timeNs: number; waker: number; wakee: number }): void {
    const since = this.#asleep.get(event.wakee);
    if (since === undefined) {
      this.#early.set(event.wakee, event);
      return;
    }
    this.#asleep.delete(event.wakee);
    this.#pending.set(event.wakee, event);
    this.#slept(event.wakee, this.#role(event.waker), event.timeNs - since);
  }

  #slept(tid: number, waker: string, ns: number): void {
    const role = this.#role(tid);
    const byWaker = this.#sleeps.get(role) ?? new Map<string, { count: number; sleptNs: number }>();
    this.#sleeps.set(role, byWaker);
    const sum = byWaker.get(waker) ?? { count: 0, sleptNs: 0 };
    byWaker.set(waker, { count: sum.count + 1, sleptNs: sum.sleptNs + ns });
  }

  #out(tid: number, timeNs: number, preempted: boolean, event: SwitchEvent | undefined): void {
    this.#pending.delete(tid);
    const early = this.#early.get(tid);
    this.#early.delete(tid);
    if (!preempted) {
      this.#asleep.set(tid, timeNs);
      if (early && timeNs - early.timeNs < SAME_SWITCH_NS) this.#wake({ ...early, timeNs });
      return;
    }
    const role = this.#role(tid);
    const sum = this.preemptedBy.get(role) ?? { count: 0, foreign: 0 };
    const foreign = event && event.next !== 0 && !this.#options.ours(event.next) ? 1 : 0;
    this.preemptedBy.set(role, { count: sum.count + 1, foreign: sum.foreign + foreign });
  }

  #in(tid: number, timeNs: number, event: SwitchEvent | undefined): void {
    const since = this.#asleep.get(tid);
    this.#asleep.delete(tid);
    const pending = this.#pending.get(tid);
    if (!pending) {
      // Woken unseen on an idle CPU: by a timer or an interrupt, since a thread of ours would have been seen.
      if (since !== undefined && this.#records) this.#slept(tid, IRQ, timeNs - since);
      return;
    }
    this.#pending.delete(tid);
    const latency = timeNs - pending.timeNs;
    if (latency < 0) return;
    const key = `${this.#role(pending.waker)}\t${this.#role(tid)}`;
    const hop = this.#hops.get(key) ?? {
      latencies: [],
      foreignNs: 0,
      apparatusNs: 0,
      totalNs: 0,
      meanwhile: new Map<string, number>(),
    };
    this.#hops.set(key, hop);
    hop.latencies.push(latency);
    hop.totalNs += latency;
    // Whoever is switched out here held the CPU that the woken thread waited for.
    if (event && event.prev !== 0 && !this.#options.ours(event.prev)) {
      if (this.#isApparatus(event)) hop.apparatusNs += latency;
      else hop.foreignNs += latency;
      hop.meanwhile.set(event.prevComm, (hop.meanwhile.get(event.prevComm) ?? 0) + latency);
    }
  }

  #isApparatus(event: SwitchEvent): boolean {
    return event.prevComm === 'perf' || this.#options.apparatus?.(event.prev) === true;
  }

  /** Every hop between roles, the largest total latency first. */
  hops(): HopSummary[] {
    const list = [...this.#hops].sort((a, b) => b[1].totalNs - a[1].totalNs);
    return list.map(([key, hop]) => {
      const [from = '', to = ''] = key.split('\t');
      return {
        from,
        to,
        count: hop.latencies.length,
        p50Us: quantile(hop.latencies, 0.5) / 1e3,
        p99Us: quantile(hop.latencies, 0.99) / 1e3,
        meanUs: hop.totalNs / hop.latencies.length / 1e3,
        ownMeanUs: (hop.totalNs - hop.foreignNs - hop.apparatusNs) / hop.latencies.length / 1e3,
        foreignShare: hop.totalNs > 0 ? hop.foreignNs / hop.totalNs : 0,
        meanwhile: [...hop.meanwhile]
          .sort((a, b) => b[1] - a[1])
          .slice(0, 5)
          .map(([comm, ns]) => ({ comm, ns })),
      };
    });
  }

  /** Share of all wake-up latency at whose end a stranger had the CPU: host noise. */
  foreignShare(): number {
    return this.#shareOf((hop) => hop.foreignNs);
  }

  /** The same for the measuring side itself: with a remote client it would not exist. */
  apparatusShare(): number {
    return this.#shareOf((hop) => hop.apparatusNs);
  }

  #shareOf(part: (hop: Hop) => number): number {
    let [total, sum] = [0, 0];
    for (const hop of this.#hops.values()) {
      total += hop.totalNs;
      sum += part(hop);
    }
    return total > 0 ? sum / total : 0;
  }

  /** Who ended the sleep of a role's threads: loop membership when asked of the engine. */
  sleepEnds(role: string): SleepEnd[] {
    return [...(this.#sleeps.get(role) ?? [])]
      .map(([waker, sum]) => ({ waker, ...sum }))
      .sort((a, b) => b.sleptNs - a.sleptNs);
  }
}
