// The JavaScript function map that V8 writes for perf (--perf-basic-prof): finds it, copies it beside the samples before
// the server stops (it is deleted or unreadable afterwards), and reads it as perf should: the last entry of an address wins.
import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { innerPid } from './proc-tree.ts';

interface MapEntry {
  start: number;
  size: number;
  name: string;
}

export interface PerfMap {
  /** Ascending by start; of entries that overlap, the one written last. */
  entries: MapEntry[];
  lines: number;
  badLines: number;
}

/** Parses a perf map: "start size name" in hexadecimal, with or without 0x; zero good lines of many is a warning. */
export function parsePerfMap(text: string): PerfMap {
  const latest = new Map<number, MapEntry>();
  let lines = 0;
  let badLines = 0;
  for (const line of text.split('\n')) {
    if (line === '') continue;
    lines += 1;
    const match = /^(?:0x)?([0-9a-f]+)\s+(?:0x)?([0-9a-f]+)\s+(.+)$/i.exec(line);
    if (!match) {
      badLines += 1;
      continue;
    }
    const start = Number.parseInt(match[1] ?? '', 16);
    latest.set(start, { start, size: Number.parseInt(match[2] ?? '', 16), name: match[3] ?? '' });
  }
  const entries = [...latest.values()].sort((a, b) => a.start - b.start);
  return { entries, lines, badLines };
}

/** The name at an address, or undefined where the map has none. */
export function lookUp(map: PerfMap, address: number): string | undefined {
  let low = 0;
  let high = map.entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((map.entries[middle]?.start ?? 0) <= address) low = middle + 1;
    else high = middle;
  }
  const entry = map.entries[low - 1];
  return entry && address < entry.start + entry.size ? entry.name : undefined;
}

/** Where the map of a process is seen from here: a container's own pid and its own /tmp. */
function perfMapPath(pid: number): string | undefined {
  const inner = innerPid(pid);
  const places = [`/proc/${pid}/root/tmp/perf-${inner}.map`, `/tmp/perf-${pid}.map`];
  return places.find((path) => existsSync(path));
}

/** Copies the maps of these processes into the folder; returns the copies. */
export function copyPerfMaps(pids: readonly number[], folder: string): string[] {
  return pids.flatMap((pid) => {
    const from = perfMapPath(pid);
    if (from === undefined) return [];
    const file = join(folder, `perf-${pid}.map`);
    copyFileSync(from, file);
    return [file];
  });
}

/** Line of the definition in a V8 map name, such as "JS:*fn file:///p/a.js:14:21": not the hot line. */
export function jsDefinition(symbol: string):
  | {
      name: string;
      tier: 'interpreted' | 'baseline' | 'optimised' | 'other';
      file: string;
      line: number;
    }
  | undefined {
  const match = /^JS:([~^*+]?)(\S*) (.*):(\d+):(\d+)$/.exec(symbol);
  if (!match) return undefined;
  const tiers = { '~': 'interpreted', '^': 'baseline', '*': 'optimised' } as const;
  const tier = tiers[(match[1] ?? '') as keyof typeof tiers] ?? 'other';
  return {
    name: match[2] || '(anonymous)',
    tier,
    file: (match[3] ?? '').replace(/^file:\/\//, ''),
    line: Number(match[4]),
  };
}
