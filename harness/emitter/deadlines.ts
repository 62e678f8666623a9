// Calls functions at absolute moments of CLOCK_MONOTONIC, to about a tenth of a millisecond, without burning a core:
// timers bring it near, then it sleeps in short slices and looks at its sockets between them.

interface Entry {
  atNs: number;
  run: (nowNs: number) => void;
}

/** Node's timers are a millisecond coarse; nearer than this they cannot be trusted. */
const NEAR_NS = 1_500_000;
const SLICE_MS = 0.1;

/** CLOCK_MONOTONIC, ns, as an integer. */
export function monotonicNs(): number {
  const [seconds, rest] = process.hrtime();
  return seconds * 1e9 + rest;
}

export class Deadlines {
  /** A binary heap by time. */
  readonly #heap: Entry[] = [];
  readonly #sleepCell = new Int32Array(new SharedArrayBuffer(4));
  #timer: NodeJS.Timeout | undefined;
  #turn: NodeJS.Immediate | undefined;
  #running = false;

  /** Runs the function once, as soon after `atNs` as possible. */
  at(atNs: number, run: (nowNs: number) => void): void {
    this.#push({ atNs, run });
    if (!this.#running && this.#turn === undefined) this.#plan(monotonicNs());
  }

  /** Forgets everything that is still due. */
  clear(): void {
    this.#heap.length = 0;
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
    this.#turn = undefined;
  }

  #plan(nowNs: number): void {
    clearTimeout(this.#timer);
    const next = this.#heap[0];
    if (next === undefined) return;
    const leftNs = next.atNs - nowNs;
    if (leftNs <= NEAR_NS) this.#turn = setImmediate(() => this.#run());
    else this.#timer = setTimeout(() => this.#run(), Math.floor((leftNs - NEAR_NS) / 1e6) + 1);
  }

  #run(): void {
    this.#turn = undefined;
    this.#running = true;
    let nowNs = monotonicNs();
    const next = this.#heap[0];
    if (next !== undefined && next.atNs > nowNs && next.atNs - nowNs <= NEAR_NS) {
      const leftMs = (next.atNs - nowNs) / 1e6;
      // The kernel wakes a sleeper some 60 us late, so the last stretch is spent awake.
      if (leftMs > SLICE_MS) Atomics.wait(this.#sleepCell, 0, 0, SLICE_MS / 2);
      nowNs = monotonicNs();
    }
    // Only what was due when the turn began: what is added meanwhile lets the sockets have a turn first.
    const turn: Entry[] = [];
    for (let due = this.#pop(nowNs); due !== undefined; due = this.#pop(nowNs)) turn.push(due);
    for (const { run } of turn) run(monotonicNs());
    this.#running = false;
    this.#plan(monotonicNs());
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || above.atNs <= entry.atNs) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = entry;
  }

  #pop(dueNs: number): Entry | undefined {
    const heap = this.#heap;
    const top = heap[0];
    if (top === undefined || top.atNs > dueNs) return undefined;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      const left = heap[child];
      if (left === undefined) break;
      const right = heap[child + 1];
      if (right !== undefined && right.atNs < left.atNs) child += 1;
      const below = heap[child];
      if (below === undefined || below.atNs >= last.atNs) break;
      heap[at] = below;
      at = child;
    }
    heap[at] = last;
    return top;
  }
}
