// Which process is meant, beyond its pid: pids are given again, a pid together with its start time is not.
import { readFileSync } from 'node:fs';

/** When the process began, in clock ticks since boot; undefined when there is none, or it is a zombie. */
export function startTicksOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may hold anything, so fields are counted from its end.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : Number(fields[19]);
  } catch {
    return undefined;
  }
}

/** Whether that very process still runs. */
export function isAlive(pid: number, startTicks: number): boolean {
  return startTicksOf(pid) === startTicks;
}
