// Reads the text of `perf script --ns -F pid,tid,cpu,time,period,event,ip,sym,symoff,dso` as it streams, one sample at
// a time, in memory bounded by the number of different frames. It does no I/O and decides nothing about the samples.
import { HarnessError } from '../errors.ts';

/** The fields asked of perf script; the thread name is left out because it can hold anything. */
export const SAMPLE_FIELDS = 'pid,tid,cpu,time,period,event,ip,sym,symoff,dso';

export interface Frame {
  /** Hexadecimal address within the dso as perf prints it, without 0x. */
  ip: string;
  /** Function name without offset; '[unknown]' where perf knows none. */
  symbol: string;
  /** Path of the binary, '[kernel.kallsyms]', '[vdso]', a perf map, or '[unknown]'. */
  dso: string;
  /** The binary was deleted or replaced after it was mapped. */
  deleted: boolean;
  /** Inlined into the frame below it, at the same address. */
  inlined: boolean;
}

export interface Sample {
  pid: number;
  tid: number;
  cpu: number;
  /** CLOCK_MONOTONIC when recorded with -k CLOCK_MONOTONIC, ns. */
  timeNs: number;
  /** What the sample stands for: ns of CPU time for cpu-clock, else events. */
  period: number;
  event: string;
  /** Leaf first. */
  frames: Frame[];
}

/** Lines that are neither a header, a frame nor blank; the first few are kept for the message. */
export interface ParseCounts {
  samples: number;
  badLines: number;
  firstBad: string[];
}

const HEADER = /^\s*(-?\d+)\/(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s+(\d+)\s+(\S.*):\s*$/;
const HEADER_START = /^\s*-?\d+\/-?\d+\s/;
const FRAME = /^\s+(?:0x)?([0-9a-f]+) (.*)$/;
const UNKNOWN = '[unknown]';

/** The opening bracket of the last balanced "(...)" of the text, or -1: dso names may hold spaces and brackets. */
function lastGroup(text: string): number {
  let depth = 0;
  for (let i = text.length - 1; i >= 0; i--) {
    if (text[i] === ')') depth++;
    else if (text[i] === '(' && --depth === 0) return i > 0 && text[i - 1] !== ' ' ? -1 : i;
  }
  return -1;
}

/** Parses one frame line, or returns undefined when it is not one. */
export function parseFrame(line: string): Frame | undefined {
  const match = FRAME.exec(line);
  if (!match) return undefined;
  const ip = match[1] ?? '';
  const rest = (match[2] ?? '').trimEnd();
  if (rest.endsWith(' (inlined)'))
    return {
      ip,
      symbol: stripOffset(rest.slice(0, -10)),
      dso: UNKNOWN,
      deleted: false,
      inlined: true,
    };
  // "(/path (deleted))" is balanced and so is "([JIT app cache])": the last group is the dso.
  if (!rest.endsWith(')')) return undefined;
  const balanced = lastGroup(rest);
  const open = balanced < 0 ? rest.lastIndexOf(' (') + 1 : balanced;
  if (open < 1) return undefined;
  let dso = rest.slice(open + 1, -1);
  const deleted = dso.endsWith(' (deleted)');
  if (deleted) dso = dso.slice(0, -10);
  return {
    ip,
    symbol: stripOffset(rest.slice(0, open).trimEnd()) || UNKNOWN,
    dso,
    deleted,
    inlined: false,
  };
}

function stripOffset(symbol: string): string {
  return symbol.replace(/\+0x[0-9a-f]+$/, '');
}

/** A push parser: feed it bytes as they come, then call end(); every complete sample goes to onSample once. */
export class PerfScriptParser {
  readonly counts: ParseCounts = { samples: 0, badLines: 0, firstBad: [] };
  readonly #onSample: (sample: Sample) => void;
  readonly #frames = new Map<string, Frame>();
  readonly #maxFrames: number;
  #rest: Buffer = Buffer.alloc(0);
  #open: Sample | undefined;

  constructor(onSample: (sample: Sample) => void, maxFrames = 200_000) {
    this.#onSample = onSample;
    this.#maxFrames = maxFrames;
  }

  push(chunk: Buffer): void {
    const data = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    let from = 0;
    for (;;) {
      const newline = data.indexOf(10, from);
      if (newline < 0) break;
      // Each line becomes a string of its own, so that a kept frame does not keep its whole chunk alive.
      this.#line(data.toString('utf8', from, newline));
      from = newline + 1;
    }
    this.#rest = Buffer.from(data.subarray(from));
  }

  end(): ParseCounts {
    if (this.#rest.length > 0) this.#line(this.#rest.toString('utf8'));
    this.#rest = Buffer.alloc(0);
    this.#finish();
    return this.counts;
  }

  #finish(): void {
    const sample = this.#open;
    this.#open = undefined;
    if (!sample) return;
    this.counts.samples += 1;
    this.#onSample(sample);
  }

  #line(line: string): void {
    if (line.trim() === '') this.#finish();
    else if (HEADER_START.test(line)) this.#header(line);
    else this.#frame(line);
  }

  #frame(line: string): void {
    const known = this.#frames.get(line);
    const frame = known ?? parseFrame(line);
    if (!frame || !this.#open) {
      this.counts.badLines += 1;
      if (this.counts.firstBad.length < 5) this.counts.firstBad.push(line.slice(0, 200));
      return;
    }
    if (!known && this.#frames.size < this.#maxFrames) this.#frames.set(line, frame);
    this.#open.frames.push(frame);
  }

  #header(line: string): void {
    this.#finish();
    const m = HEADER.exec(line);
    if (!m)
      throw new HarnessError(
        'INVALID_FILE',
        `perf script printed ${JSON.stringify(line.slice(0, 160))}, which lacks nanoseconds (--ns) or one of ${SAMPLE_FIELDS}`,
        { hint: `Print it with: perf script --no-inline --ns -F ${SAMPLE_FIELDS}` },
      );
    this.#open = {
      pid: Number(m[1]),
      tid: Number(m[2]),
      cpu: Number(m[3]),
      timeNs: Number(m[4]) * 1e9 + Number(m[5]),
      period: Number(m[6]),
      event: (m[7] ?? '').trim(),
      frames: [],
    };
  }
}
