// The scheduler phase: system-wide switch and wake-up events, filtered in the kernel to the server's threads, beside
// perf's own switch records of those threads. Per-task tracepoints are never used: they drop switch-ins and foreign
// wake-ups without a word.
import { join } from 'node:path';
import { HarnessError } from '../errors.ts';
import {
  type AckedAt,
  lostEvents,
  perfReport,
  Recording,
  type RecordingResult,
} from './perf-process.ts';
import { monotonicNs } from './proc-tree.ts';
import { SCHED_FIELDS, type SchedEvent, SchedParser, SWITCH_FIELDS } from './sched-parser.ts';
import type { SwitchSource } from './sched-states.ts';

/** Filters grow with the threads; the kernel takes about a page of text. */
const MAX_FILTER_BYTES = 4_000;
const MAX_EVENTS = 4_000_000;

/** Filter text for tracepoints of these threads; HarnessError when the kernel could not hold it. */
export function schedFilters(tids: readonly number[]): { switches: string; wakes: string } {
  const ids = [...new Set(tids)].filter((tid) => tid > 0).sort((a, b) => a - b);
  const ranges = rangesOf(ids);
  const clause = (field: string) =>
    ranges
      .map(([from, to]) =>
        from === to ? `${field}==${from}` : `(${field}>=${from} && ${field}<=${to})`,
      )
      .join(' || ');
  const switches = `${clause('prev_pid')} || ${clause('next_pid')}`;
  if (switches.length > MAX_FILTER_BYTES)
    throw new HarnessError(
      'USAGE',
      `${ids.length} threads make a scheduler filter of ${switches.length} bytes, more than ${MAX_FILTER_BYTES}`,
      { hint: 'Give the server fewer threads, or leave the scheduler phase out.' },
    );
  return { switches, wakes: clause('pid') };
}

/** Runs of neighbouring ids: threads started together have neighbouring ids, so the filter stays short. */
function rangesOf(ids: readonly number[]): [number, number][] {
  const ranges: [number, number][] = [];
  for (const id of ids) {
    const last = ranges.at(-1);
    if (last && last[1] === id - 1) last[1] = id;
    else ranges.push([id, id]);
  }
  return ranges;
}

/** One stamp before and one after a sleep of this thread: its switch-out must lie between them. */
export interface Bracket {
  beforeNs: number;
  afterNs: number;
}

export interface SchedCapture {
  traced: RecordingResult;
  records: RecordingResult;
  enabled: AckedAt;
  disabled: AckedAt;
  brackets: Bracket[];
  tids: readonly number[];
  /** The thread that slept for the brackets. */
  bracketTid: number;
}

const BRACKETS = 20;

function sleepBriefly(): Bracket {
  const beforeNs = monotonicNs();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 0.2);
  return { beforeNs, afterNs: monotonicNs() };
}

/** Traces these threads for as long as `window` takes, then brackets a few sleeps of its own to test the clock. */
export async function recordSched(options: {
  pids: readonly number[];
  tids: readonly number[];
  folder: string;
  window: () => Promise<void>;
}): Promise<SchedCapture> {
  const { pids, tids, folder } = options;
  const filters = schedFilters([...tids, process.pid]);
  const traced = await Recording.start(
    [
      '-a',
      '-e',
      'sched:sched_switch',
      '--filter',
      filters.switches,
      '-e',
      'sched:sched_waking',
      '--filter',
      filters.wakes,
    ],
    join(folder, 'sched.data'),
  );
  let records: Recording | undefined;
  try {
    records = await Recording.start(
      ['-e', 'dummy', '--switch-events', '-p', pids.join(',')],
      join(folder, 'switches.data'),
    );
    const enabled = await traced.enable();
    await records.enable();
    await options.window();
    const brackets = Array.from({ length: BRACKETS }, sleepBriefly);
    await records.disable();
    const disabled = await traced.disable();
    return {
      traced: await traced.stop(),
      records: await records.stop(),
      enabled,
      disabled,
      brackets,
      tids,
      bracketTid: process.pid,
    };
  } catch (error) {
    await traced.abandon();
    await records?.abandon();
    throw error;
  }
}

export interface SchedTrace {
  /** In time order. */
  events: SchedEvent[];
  source: SwitchSource;
  badLines: number;
  lost: number;
  /** Events of other tasks are there: a per-task trace has none, and its latencies are wrong. */
  systemWide: boolean;
  bracket: { inside: number; total: number };
}

/** Reads both recordings back in time order; the switch records are the source wherever they exist. */
export async function readSched(capture: SchedCapture): Promise<SchedTrace> {
  const events: SchedEvent[] = [];
  const keep = (event: SchedEvent) => {
    if (events.length < MAX_EVENTS) events.push(event);
  };
  const traced = new SchedParser(keep);
  await perfReport(['script', '--ns', '-i', capture.traced.file, '-F', SCHED_FIELDS], (chunk) =>
    traced.push(chunk),
  );
  const tracedCounts = traced.end();
  let recordsSeen = 0;
  const records = new SchedParser((event) => {
    recordsSeen += 1;
    keep(event);
  });
  await perfReport(
    ['script', '--ns', '--show-switch-events', '-i', capture.records.file, '-F', SWITCH_FIELDS],
    (chunk) => records.push(chunk),
  );
  const recordCounts = records.end();
  events.sort((a, b) => a.timeNs - b.timeNs);
  const beyond = events.length >= MAX_EVENTS ? 1 : 0;
  return {
    events,
    source: recordsSeen > 0 ? 'records' : 'tracepoints',
    badLines: tracedCounts.badLines + recordCounts.badLines,
    lost:
      beyond + (await lostEvents(capture.traced.file)) + (await lostEvents(capture.records.file)),
    systemWide: recordsSeen > 0 || !looksPerTask(events, new Set(capture.tids)),
    bracket: bracketTest(events, capture.brackets, capture.bracketTid),
  };
}

const ENOUGH_EVENTS = 20;

/** True when every event came from the server's own threads: switch-ins and foreign wake-ups are missing. */
export function looksPerTask(events: readonly SchedEvent[], ours: ReadonlySet<number>): boolean {
  const currents = events.flatMap((e) =>
    e.kind === 'switch' ? [e.prev] : e.kind === 'waking' ? [e.waker] : [],
  );
  return currents.length >= ENOUGH_EVENTS && currents.every((tid) => ours.has(tid));
}

/** How many brackets hold a switch-out of the thread that slept in them. */
export function bracketTest(
  events: readonly SchedEvent[],
  brackets: readonly Bracket[],
  tid: number,
): { inside: number; total: number } {
  const outs = events.flatMap((e) => (e.kind === 'switch' && e.prev === tid ? [e.timeNs] : []));
  const inside = brackets.filter((b) => outs.some((at) => at >= b.beforeNs && at <= b.afterNs));
  return { inside: inside.length, total: brackets.length };
}
