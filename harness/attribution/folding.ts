// Adds samples up as they stream by: per thread and class, per call path, per leaf function. Counts and weights (period
// ns) stay apart; memory is bounded by the number of different paths, and what exceeds the bound is kept as one line.
import type { Frame, Sample } from './perf-script-parser.ts';
import type { StackEvidence } from './roles.ts';
import type { Classify, StackClass } from './symbol-classes.ts';

/** perf cuts stacks at this depth (kernel.perf_event_max_stack). */
const DEPTH_CAP = 127;
const MAX_PATHS = 300_000;
const MAX_FUNCTIONS = 4_096;
const MAX_ADDRESSES = 64;

/** How many samples, and the ns (sum of periods) that they stand for. */
export interface Weight {
  samples: number;
  ns: number;
}

export interface PathNode extends Weight {
  name: string;
  dso: string;
  children: Map<string, PathNode>;
}

export interface LeafFunction extends Weight {
  symbol: string;
  dso: string;
  /** Address to samples, for file:line; the rarest are dropped beyond a bound. */
  addresses: Map<string, number>;
}

export interface ThreadFold extends Weight {
  tid: number;
  classes: Map<StackClass, Weight>;
  /** Root first. */
  paths: PathNode;
  leaves: Map<string, LeafFunction>;
  evidence: StackEvidence & { functions: Map<string, number> };
  /** Second since the first sample, to ns by class: neighbouring samples are not independent. */
  seconds: Map<number, Map<StackClass, number>>;
}

interface Coverage {
  /** Samples with code made at run time (JavaScript, JIT kernels), and those where such a frame has no name. */
  jsSamples: number;
  jsUnresolved: number;
  kernelSamples: number;
  kernelUnresolved: number;
  leafUnresolved: number;
  truncated: number;
  interpreted: number;
}

export interface Folded extends Weight {
  events: Map<string, number>;
  threads: Map<number, ThreadFold>;
  coverage: Coverage;
  firstNs: number;
  lastNs: number;
  /** Largest gap between two samples of one thread is not idle time; this is the smallest and largest period seen. */
  minPeriod: number;
  maxPeriod: number;
  /** Samples whose path was not kept apart because of the bound. */
  beyondBound: number;
}

const node = (name: string, dso: string): PathNode => ({
  name,
  dso,
  samples: 0,
  ns: 0,
  children: new Map(),
});

/** How a frame is shown: the function, or the binary where there is no name (so that [vdso] is one entry). */
function frameName(frame: Frame): string {
  if (frame.dso === '[vdso]') return '[vdso]';
  if (frame.symbol !== '[unknown]') return frame.symbol;
  if (isPerfMap(frame.dso)) return '[unknown, made at run time]';
  const base = frame.dso.slice(frame.dso.lastIndexOf('/') + 1);
  return base === '[unknown]' ? '[unknown]' : `[unknown in ${base}]`;
}

export const isPerfMap = (dso: string): boolean => /\/perf-\d+\.map$/.test(dso);

export class Folder {
  readonly #classify: Classify;
  readonly #result: Folded;
  #paths = 0;

  constructor(classify: Classify) {
    this.#classify = classify;
    this.#result = {
      samples: 0,
      ns: 0,
      events: new Map(),
      threads: new Map(),
      coverage: {
        jsSamples: 0,
        jsUnresolved: 0,
        kernelSamples: 0,
        kernelUnresolved: 0,
        leafUnresolved: 0,
        truncated: 0,
        interpreted: 0,
      },
      firstNs: Infinity,
      lastNs: -Infinity,
      minPeriod: Infinity,
      maxPeriod: 0,
      beyondBound: 0,
    };
  }

  /** Adds one sample; tid 0 (idle) is ignored, since idle time is not work of anybody. */
  add(sample: Sample): void {
    if (sample.tid === 0) return;
    const all = this.#result;
    all.samples += 1;
    all.ns += sample.period;
    all.events.set(sample.event, (all.events.get(sample.event) ?? 0) + 1);
    all.firstNs = Math.min(all.firstNs, sample.timeNs);
    all.lastNs = Math.max(all.lastNs, sample.timeNs);
    all.minPeriod = Math.min(all.minPeriod, sample.period);
    all.maxPeriod = Math.max(all.maxPeriod, sample.period);
    this.#cover(sample.frames);
    const thread = this.#thread(sample.tid);
    thread.samples += 1;
    thread.ns += sample.period;
    const name = this.#classify(sample.frames);
    addTo(thread.classes, name, sample.period);
    const second = Math.floor((sample.timeNs - all.firstNs) / 1e9);
    const inSecond = thread.seconds.get(second) ?? new Map<StackClass, number>();
    inSecond.set(name, (inSecond.get(name) ?? 0) + sample.period);
    thread.seconds.set(second, inSecond);
    this.#leaf(thread, sample);
    this.#path(thread, sample);
  }

  result(): Folded {
    return this.#result;
  }

  #thread(tid: number): ThreadFold {
    const known = this.#result.threads.get(tid);
    if (known) return known;
    const made: ThreadFold = {
      tid,
      samples: 0,
      ns: 0,
      classes: new Map(),
      paths: node('', ''),
      leaves: new Map(),
      evidence: { samples: 0, functions: new Map() },
      seconds: new Map(),
    };
    this.#result.threads.set(tid, made);
    return made;
  }

  #cover(frames: readonly Frame[]): void {
    const cover = this.#result.coverage;
    const js = frames.filter((frame) => isPerfMap(frame.dso));
    if (js.length > 0) cover.jsSamples += 1;
    if (js.some((frame) => frame.symbol === '[unknown]')) cover.jsUnresolved += 1;
    if (frames.some((frame) => frame.symbol.startsWith('JS:~'))) cover.interpreted += 1;
    const leaf = frames[0];
    if (leaf?.dso === '[kernel.kallsyms]') {
      cover.kernelSamples += 1;
      if (leaf.symbol === '[unknown]') cover.kernelUnresolved += 1;
    } else if (!leaf || leaf.symbol === '[unknown]') cover.leafUnresolved += 1;
    if (frames.length >= DEPTH_CAP) cover.truncated += 1;
  }

  #leaf(thread: ThreadFold, sample: Sample): void {
    const leaf = sample.frames[0];
    if (!leaf) return;
    const name = frameName(leaf);
    const key = `${name}\t${leaf.dso}`;
    let made = thread.leaves.get(key);
    if (!made) {
      if (thread.leaves.size >= MAX_FUNCTIONS) return;
      made = { symbol: name, dso: leaf.dso, samples: 0, ns: 0, addresses: new Map() };
      thread.leaves.set(key, made);
    }
    made.samples += 1;
    made.ns += sample.period;
    if (made.addresses.has(leaf.ip) || made.addresses.size < MAX_ADDRESSES)
      made.addresses.set(leaf.ip, (made.addresses.get(leaf.ip) ?? 0) + 1);
  }

  #path(thread: ThreadFold, sample: Sample): void {
    const frames = sample.frames;
    const seen = new Set<string>();
    thread.evidence.samples += 1;
    let at = thread.paths;
    grow(at, sample.period);
    // A stack cut at the cap has lost its root: it hangs under one name instead of making new roots.
    if (frames.length >= DEPTH_CAP) at = this.#step(at, '[truncated]', '', sample.period);
    for (let i = frames.length - 1; i >= 0; i--) {
      const frame = frames[i];
      if (!frame) continue;
      const name = frameName(frame);
      if (!seen.has(name)) {
        seen.add(name);
        const functions = thread.evidence.functions;
        if (functions.has(name) || functions.size < MAX_FUNCTIONS)
          functions.set(name, (functions.get(name) ?? 0) + 1);
      }
      at = this.#step(at, name, frame.dso, sample.period);
      if (at.name === '[beyond bound]') {
        this.#result.beyondBound += 1;
        break;
      }
    }
  }

  #step(parent: PathNode, name: string, dso: string, ns: number): PathNode {
    let child = parent.children.get(name);
    if (!child) {
      const full = this.#paths >= MAX_PATHS;
      const shown = full ? '[beyond bound]' : name;
      child = parent.children.get(shown) ?? node(shown, full ? '' : dso);
      if (!parent.children.has(shown)) {
        parent.children.set(shown, child);
        this.#paths += 1;
      }
    }
    grow(child, ns);
    return child;
  }
}

function grow(weight: Weight, ns: number): void {
  weight.samples += 1;
  weight.ns += ns;
}

function addTo<K>(map: Map<K, Weight>, key: K, ns: number): void {
  const weight = map.get(key) ?? { samples: 0, ns: 0 };
  grow(weight, ns);
  map.set(key, weight);
}

/** Merges path trees into one under a given name; counts and ns are sums. */
export function mergePaths(name: string, trees: readonly PathNode[]): PathNode {
  const merged = node(name, trees[0]?.dso ?? '');
  const children = new Map<string, PathNode[]>();
  for (const tree of trees) {
    merged.samples += tree.samples;
    merged.ns += tree.ns;
    for (const [key, child] of tree.children) {
      const group = children.get(key);
      if (group) group.push(child);
      else children.set(key, [child]);
    }
  }
  for (const [key, group] of children) merged.children.set(key, mergePaths(key, group));
  return merged;
}

/** What ends in the node itself: its own weight less its children's. */
export function selfWeight(at: PathNode): Weight {
  let { samples, ns } = at;
  for (const child of at.children.values()) {
    samples -= child.samples;
    ns -= child.ns;
  }
  return { samples, ns };
}
