// The four states of a thread over time (running, woken-not-running, preempted, asleep) from scheduler events, and how
// an interval splits into them. Time before a thread's first event, after its last, or across a missing event is
// unknown, never running. Pure.
import type { SchedEvent } from './sched-parser.ts';

export const STATES = ['running', 'woken', 'preempted', 'asleep'] as const;
export type State = (typeof STATES)[number];

interface Segment {
  state: State | 'unknown';
  fromNs: number;
  toNs: number;
}

export interface Timeline {
  tid: number;
  /** Ascending, without gaps between the first and the last event. */
  segments: Segment[];
  /** Events that cannot follow each other: two switch-ins in a row, an end of sleep without a wake-up. */
  inconsistent: number;
  /** Time that ran backwards: dropped and counted. */
  impossible: number;
  /** Sleeps whose end was not announced: an interrupt on an idle CPU woke the thread unseen (see SwitchSource). */
  unseenWakes: number;
}

/**
 * Where switches come from. Tracepoints are complete on most hosts; on some, those of an idle CPU are never emitted, and
 * then perf's own switch records, written in the context of the thread itself, are the complete source.
 */
export type SwitchSource = 'tracepoints' | 'records';

interface Builder extends Timeline {
  state: State | 'unknown';
  sinceNs: number;
  /** A wake-up that came between "I shall sleep" and the switch: it belongs to the sleep that follows. */
  earlyWake: boolean;
}

function close(builder: Builder, atNs: number, next: State | 'unknown'): void {
  if (builder.sinceNs > atNs) {
    builder.impossible += 1;
    return;
  }
  if (builder.sinceNs >= 0 && atNs > builder.sinceNs)
    builder.segments.push({ state: builder.state, fromNs: builder.sinceNs, toNs: atNs });
  builder.state = next;
  builder.sinceNs = atNs;
}

/** What was the state up to this event, given what the event proves. */
function prove(builder: Builder, possible: readonly (State | 'unknown')[]): void {
  if (builder.sinceNs < 0 || builder.state === 'unknown' || possible.includes(builder.state))
    return;
  builder.inconsistent += 1;
  builder.state = 'unknown';
}

/** Timelines of the given threads, keyed by tid alone, from events in time order; the idle task is ignored. */
export class TimelineBuilder {
  readonly #threads = new Map<number, Builder>();
  readonly #source: SwitchSource;

  constructor(tids: Iterable<number>, source: SwitchSource = 'tracepoints') {
    this.#source = source;
    for (const tid of tids)
      if (tid > 0)
        this.#threads.set(tid, {
          tid,
          segments: [],
          inconsistent: 0,
          impossible: 0,
          unseenWakes: 0,
          state: 'unknown',
          sinceNs: -1,
          earlyWake: false,
        });
  }

  add(event: SchedEvent): void {
    if (event.kind === 'waking') this.#wake(event.wakee, event.timeNs);
    else if (event.kind !== 'switch') {
      if (this.#source !== 'records') return;
      if (event.kind === 'in') this.#in(event.tid, event.timeNs);
      else this.#out(event.tid, event.timeNs, event.preempted);
    } else if (this.#source === 'tracepoints') {
      this.#out(event.prev, event.timeNs, event.prevState.startsWith('R'));
      this.#in(event.next, event.timeNs);
    }
  }

  /** A wake-up of a thread that was woken or preempted changes nothing; only the first one counts. */
  #wake(tid: number, atNs: number): void {
    const thread = this.#threads.get(tid);
    if (!thread) return;
    if (thread.state === 'running') thread.earlyWake = true;
    else if (thread.state === 'asleep' || thread.sinceNs < 0) close(thread, atNs, 'woken');
  }

  #out(tid: number, atNs: number, preempted: boolean): void {
    const thread = this.#threads.get(tid);
    if (!thread) return;
    prove(thread, ['running']);
    close(thread, atNs, preempted ? 'preempted' : 'asleep');
  }

  #in(tid: number, atNs: number): void {
    const thread = this.#threads.get(tid);
    if (!thread) return;
    if (thread.state === 'asleep') {
      if (thread.earlyWake) thread.state = 'woken';
      else if (this.#source === 'records') thread.unseenWakes += 1;
    }
    // Out of sleep without a wake-up means that an event is missing, unless it could not be seen.
    prove(
      thread,
      this.#source === 'records' ? ['woken', 'preempted', 'asleep'] : ['woken', 'preempted'],
    );
    thread.earlyWake = false;
    close(thread, atNs, 'running');
  }

  /** The finished timelines; the state after the last event of a thread stays unknown. */
  timelines(): Map<number, Timeline> {
    const finished = new Map<number, Timeline>();
    for (const { tid, segments, inconsistent, impossible, unseenWakes } of this.#threads.values())
      finished.set(tid, { tid, segments, inconsistent, impossible, unseenWakes });
    return finished;
  }
}

export interface Partition {
  /** ns in each state. */
  running: number;
  woken: number;
  preempted: number;
  asleep: number;
  unknown: number;
  /** Length of the interval less the four states, ns: 0 where every moment is known. */
  closureErrorNs: number;
}

/** Index of the first segment that ends after `ns`. */
function firstAfter(segments: readonly Segment[], ns: number): number {
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((segments[middle]?.toNs ?? 0) > ns) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Splits [fromNs, toNs) of one thread into its four states; what is not covered shows as closure error. */
export function partition(timeline: Timeline, fromNs: number, toNs: number): Partition {
  const parts = { running: 0, woken: 0, preempted: 0, asleep: 0, unknown: 0 };
  const { segments } = timeline;
  for (let i = firstAfter(segments, fromNs); i < segments.length; i++) {
    const segment = segments[i];
    if (!segment || segment.fromNs >= toNs) break;
    parts[segment.state] += Math.min(segment.toNs, toNs) - Math.max(segment.fromNs, fromNs);
  }
  const known = parts.running + parts.woken + parts.preempted + parts.asleep;
  return { ...parts, closureErrorNs: toNs - fromNs - known };
}

/** True when the whole interval lies between the first and the last event of the thread. */
export function covered(timeline: Timeline, fromNs: number, toNs: number): boolean {
  const first = timeline.segments[0];
  const last = timeline.segments.at(-1);
  return first !== undefined && last !== undefined && first.fromNs <= fromNs && last.toNs >= toNs;
}
