// Reads scheduler events from the text of `perf script --ns` as it streams: the tracepoints sched_switch and sched_waking
// (only their documented fields, so renamed kernel structures do not matter) and perf's own switch records.
import { HarnessError } from '../errors.ts';

export const SCHED_FIELDS = 'pid,tid,cpu,time,event,trace';
/** Asked together with --show-switch-events. */
export const SWITCH_FIELDS = 'pid,tid,cpu,time';

export interface SwitchEvent {
  kind: 'switch';
  timeNs: number;
  cpu: number;
  prev: number;
  prevComm: string;
  /** 'R' or 'R+' is preemption; anything else is sleep. */
  prevState: string;
  next: number;
  nextComm: string;
}

interface WakingEvent {
  kind: 'waking';
  timeNs: number;
  cpu: number;
  /** The task that was current: the waker, or a bystander when an interrupt woke. */
  waker: number;
  wakee: number;
}

/** PERF_RECORD_SWITCH of one thread: written in its own context, so no idle CPU can hide it. */
interface RecordEvent {
  kind: 'in' | 'out';
  timeNs: number;
  tid: number;
  /** Switched out while it could have run on. */
  preempted: boolean;
}

export type SchedEvent = SwitchEvent | WakingEvent | RecordEvent;

const HEADER = /^\s*(-?\d+)\/(-?\d+)\s+\[(-?\d+)\]\s+(\d+)\.(\d{9}):\s+sched:(sched_\w+):\s(.*)$/s;
const START = /^\s*-?\d+\/-?\d+\s+\[-?\d+\]\s/;
const RECORD =
  /^\s*-?\d+\/(-?\d+)\s+\[-?\d+\]\s+(\d+)\.(\d{9}): PERF_RECORD_SWITCH(?:_CPU_WIDE)? (IN|OUT)( preempt)?/;
// Thread names may hold anything, so the last occurrence of each field is taken.
const SWITCH =
  /^prev_comm=(.*) prev_pid=(\d+) prev_prio=-?\d+ prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+) next_prio=-?\d+\s*$/s;
const WAKING = / pid=(\d+) prio=-?\d+ target_cpu=\d+\s*$/s;

export interface SchedCounts {
  events: number;
  other: number;
  badLines: number;
  firstBad: string[];
}

/** A push parser of complete text lines in any chunking; a name with a newline in it does not break an event. */
export class SchedParser {
  readonly counts: SchedCounts = { events: 0, other: 0, badLines: 0, firstBad: [] };
  readonly #onEvent: (event: SchedEvent) => void;
  #rest: Buffer = Buffer.alloc(0);
  #pending = '';

  constructor(onEvent: (event: SchedEvent) => void) {
    this.#onEvent = onEvent;
  }

  push(chunk: Buffer): void {
    const data = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    let from = 0;
    for (;;) {
      const newline = data.indexOf(10, from);
      if (newline < 0) break;
      this.#line(data.toString('utf8', from, newline));
      from = newline + 1;
    }
    this.#rest = Buffer.from(data.subarray(from));
  }

  end(): SchedCounts {
    if (this.#rest.length > 0) this.#line(this.#rest.toString('utf8'));
    this.#rest = Buffer.alloc(0);
    this.#flush();
    return this.counts;
  }

  #line(line: string): void {
    if (START.test(line)) {
      this.#flush();
      this.#pending = line;
    } else if (this.#pending !== '' && this.#pending.length < 4_096) this.#pending += `\n${line}`;
    else if (line.trim() !== '') this.#bad(line);
  }

  #flush(): void {
    const text = this.#pending;
    this.#pending = '';
    if (text === '') return;
    const event = parseSchedEvent(text);
    if (event === 'other') this.counts.other += 1;
    else if (event) {
      this.counts.events += 1;
      this.#onEvent(event);
    } else this.#bad(text);
  }

  #bad(line: string): void {
    this.counts.badLines += 1;
    if (this.counts.firstBad.length < 5) this.counts.firstBad.push(line.slice(0, 200));
  }
}

function parseSchedEvent(text: string): SchedEvent | 'other' | undefined {
  const record = RECORD.exec(text);
  if (record)
    return {
      kind: record[4] === 'IN' ? 'in' : 'out',
      timeNs: Number(record[2]) * 1e9 + Number(record[3]),
      tid: Number(record[1]),
      preempted: record[5] !== undefined,
    };
  const header = HEADER.exec(text);
  if (!header) {
    if (/\.\d{6}:\s/.test(text))
      throw new HarnessError(
        'INVALID_FILE',
        `perf script printed microseconds in ${JSON.stringify(text.slice(0, 80))}, which makes ties`,
        { hint: `Print it with: perf script --ns -F ${SCHED_FIELDS}` },
      );
    return undefined;
  }
  const at = { timeNs: Number(header[4]) * 1e9 + Number(header[5]), cpu: Number(header[3]) };
  const trace = header[7] ?? '';
  if (header[6] === 'sched_switch') {
    const m = SWITCH.exec(trace);
    if (!m) return undefined;
    return {
      kind: 'switch',
      ...at,
      prev: Number(m[2]),
      prevComm: m[1] ?? '',
      prevState: m[3] ?? '',
      next: Number(m[5]),
      nextComm: m[4] ?? '',
    };
  }
  if (header[6] !== 'sched_waking') return 'other';
  const m = WAKING.exec(trace);
  return m ? { kind: 'waking', ...at, waker: Number(header[2]), wakee: Number(m[1]) } : undefined;
}
