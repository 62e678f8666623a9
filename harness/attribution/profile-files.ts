// The same call trees in the file formats of two public viewers: speedscope and the Firefox Profiler. Pure. Both get
// weights in time, one profile or thread a role; the order along the time axis is by path, since trees keep no times.
import { type PathNode, selfWeight } from './folding.ts';
import type { RoleProfile } from './role-profile.ts';

class Index<T> {
  readonly list: T[] = [];
  readonly #known = new Map<string, number>();
  of(key: string, make: () => T): number {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    this.list.push(make());
    this.#known.set(key, this.list.length - 1);
    return this.list.length - 1;
  }
}

/** Calls `visit` for every path that has time of its own: the nodes from root to leaf, and its ns and samples. */
function eachStack(
  root: PathNode,
  visit: (path: readonly PathNode[], ns: number, samples: number) => void,
): void {
  const path: PathNode[] = [];
  const walk = (node: PathNode) => {
    path.push(node);
    const { ns, samples } = selfWeight(node);
    if (ns > 0) visit(path, ns, samples);
    for (const child of node.children.values()) walk(child);
    path.pop();
  };
  walk(root);
}

/** A speedscope file: one sampled profile a role, weights in nanoseconds of CPU. */
export function speedscope(name: string, profiles: readonly RoleProfile[]): unknown {
  const frames = new Index<{ name: string; file?: string }>();
  return {
    $schema: 'https://www.speedscope.app/file-format-schema.json',
    name,
    exporter: 'mxbench',
    profiles: profiles.map((profile) => {
      const samples: number[][] = [];
      const weights: number[] = [];
      eachStack(profile.paths, (path, ns) => {
        samples.push(
          path.map((node) =>
            frames.of(`${node.name}\t${node.dso}`, () =>
              node.dso === '' ? { name: node.name } : { name: node.name, file: node.dso },
            ),
          ),
        );
        weights.push(ns);
      });
      const endValue = weights.reduce((a, b) => a + b, 0);
      return {
        type: 'sampled',
        name: profile.role,
        unit: 'nanoseconds',
        startValue: 0,
        endValue,
        samples,
        weights,
      };
    }),
    shared: { frames: frames.list },
  };
}

interface StackRow {
  prefix: number | null;
  frame: number;
}

interface NativeFunction {
  name: number;
  file: number | null;
}

/** The tables of frames and functions; one frame a function, since trees keep no addresses. */
function frameTables(functions: readonly NativeFunction[]) {
  const n = functions.length;
  const fill = <T>(value: T) => new Array<T>(n).fill(value);
  return {
    frameTable: {
      length: n,
      address: fill(-1),
      category: fill(0),
      column: fill(null),
      func: functions.map((_, i) => i),
      implementation: fill(null),
      inlineDepth: fill(0),
      innerWindowID: fill(0),
      line: fill(null),
      nativeSymbol: fill(null),
      subcategory: fill(0),
    },
    funcTable: {
      length: n,
      columnNumber: fill(null),
      fileName: functions.map((f) => f.file),
      isJS: fill(false),
      lineNumber: fill(null),
      name: functions.map((f) => f.name),
      relevantForJS: fill(false),
      resource: fill(-1),
    },
  };
}

/** What the format asks of a thread and a role does not have. */
const NOTHING = {
  processType: 'default',
  processName: 'server',
  isMainThread: false,
  pid: '0',
  registerTime: 0,
  unregisterTime: null,
  processStartupTime: 0,
  processShutdownTime: null,
  pausedRanges: [],
  showMarkersInTimeline: false,
  markers: { length: 0, category: [], data: [], endTime: [], name: [], phase: [], startTime: [] },
  nativeSymbols: { length: 0, address: [], functionSize: [], libIndex: [], name: [] },
  resourceTable: { length: 0, host: [], lib: [], name: [], type: [] },
};

function firefoxThread(profile: RoleProfile, tid: number): unknown {
  const strings = new Index<string>();
  const text = (value: string) => strings.of(value, () => value);
  const functions = new Index<NativeFunction>();
  const stacks = new Index<StackRow>();
  const samples = { stack: [] as number[], time: [] as number[], weight: [] as number[] };
  let time = 0;
  eachStack(profile.paths, (path, ns) => {
    let stack: number | null = null;
    for (const node of path) {
      const made = functions.of(`${node.name}\t${node.dso}`, () => ({
        name: text(node.name),
        file: node.dso === '' ? null : text(node.dso),
      }));
      const prefix: number | null = stack;
      stack = stacks.of(`${prefix}:${made}`, () => ({ prefix, frame: made }));
    }
    samples.stack.push(stack ?? 0);
    samples.time.push(time);
    samples.weight.push(ns / 1e6);
    time += ns / 1e6;
  });
  const zeros = stacks.list.map(() => 0);
  return {
    ...NOTHING,
    name: profile.role,
    tid,
    ...frameTables(functions.list),
    stackTable: {
      length: stacks.list.length,
      category: zeros,
      frame: stacks.list.map((row) => row.frame),
      prefix: stacks.list.map((row) => row.prefix),
      subcategory: zeros,
    },
    samples: { length: samples.stack.length, ...samples, weightType: 'tracing-ms' },
    stringArray: strings.list,
  };
}

/** A Firefox Profiler file (processed format): one thread a role, weights in ms of CPU. */
export function firefoxProfile(
  name: string,
  intervalMs: number,
  profiles: readonly RoleProfile[],
): unknown {
  return {
    meta: {
      categories: [{ color: 'grey', name: 'Other', subcategories: ['Other'] }],
      interval: intervalMs,
      markerSchema: [],
      preprocessedProfileVersion: 49,
      processType: 0,
      product: name,
      stackwalk: 1,
      startTime: 0,
      symbolicated: true,
      version: 24,
    },
    libs: [],
    pages: [],
    threads: profiles.map((profile, i) => firefoxThread(profile, i + 1)),
  };
}
