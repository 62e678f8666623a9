// Which thread of this process does what, read from /proc by the names that the threads gave themselves.
import { readdirSync, readFileSync } from 'node:fs';
import type { ThreadMap } from '../protocol/step-trace.ts';

type Role = ThreadMap['threads'][number]['role'];

function roleOf(tid: number, name: string): Role {
  if (tid === process.pid) return 'frontend';
  if (name === 'engine-core') return 'engine-core';
  return name.startsWith('kernel') ? 'kernel' : 'runtime';
}

/** All threads of this process; one that ends meanwhile is left out. Empty where there is no /proc. */
export function readThreadMap(): ThreadMap {
  const threads: ThreadMap['threads'] = [];
  for (const entry of listTasks()) {
    const tid = Number(entry);
    try {
      const name = readFileSync(`/proc/self/task/${entry}/comm`, 'utf8').trim();
      threads.push({ tid, name, role: roleOf(tid, name) });
    } catch {
      // The thread ended between the two reads.
    }
  }
  return { pid: process.pid, threads };
}

function listTasks(): string[] {
  try {
    return readdirSync('/proc/self/task');
  } catch {
    return [];
  }
}
