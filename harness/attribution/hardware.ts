// Hardware counters by role where the host has them: cycles, instructions, cache misses, with the share of time that each
// was really counted. Where it has none (most virtual machines), says so and leaves the rest to CPU time.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);

const COUNTERS = ['cycles', 'instructions', 'cache-references', 'cache-misses'] as const;
type Counter = (typeof COUNTERS)[number];

const lineSchema = z.object({
  thread: z.string(),
  'counter-value': z.string(),
  event: z.string(),
  'pcnt-running': z.number(),
});

export interface CounterReading {
  tid: number;
  event: string;
  value: number;
  /** Percent of the time that the counter ran; below 100 the value is scaled up from a part. */
  runningPercent: number;
}

/** Parses `perf stat --per-thread -j`; what was not counted or is not supported is left out. */
export function parseCounters(text: string): CounterReading[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return [];
    const parsed = lineSchema.safeParse(json(line));
    if (!parsed.success) return [];
    const { thread, event, 'counter-value': counted, 'pcnt-running': runningPercent } = parsed.data;
    const value = Number(counted);
    // A thread's name may hold hyphens: the tid is behind the last one.
    const tid = Number(thread.slice(thread.lastIndexOf('-') + 1));
    if (!Number.isFinite(value) || !Number.isInteger(tid)) return [];
    return [{ tid, event: event.replace(/:[a-z]+$/i, ''), value, runningPercent }];
  });
}

function json(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

export const roleCountersSchema = z.strictObject({
  role: z.string(),
  cycles: z.number(),
  instructionsPerCycle: z.number().nullable(),
  cacheMissShare: z.number().nullable(),
  runningPercent: z.number().describe('smallest share of the time that a counter ran'),
});
export type RoleCounters = z.infer<typeof roleCountersSchema>;

/** Below this the scaled values can turn a finding round, so they are not shown. */
const MIN_RUNNING_PERCENT = 90;

/** Sums by role; ratios whose counters ran for under 90 % of the time are null. */
export function countersByRole(
  readings: readonly CounterReading[],
  roleOf: (tid: number) => string,
): RoleCounters[] {
  const roles = new Map<string, Map<string, number> & { running?: number }>();
  for (const { tid, event, value, runningPercent } of readings) {
    const role = roleOf(tid);
    const sums: Map<string, number> & { running?: number } =
      roles.get(role) ?? new Map<string, number>();
    sums.set(event, (sums.get(event) ?? 0) + value);
    if (value > 0) sums.running = Math.min(sums.running ?? 100, runningPercent);
    roles.set(role, sums);
  }
  return [...roles]
    .map(([role, sums]) => {
      const runningPercent = sums.running ?? 0;
      const ratio = (a: Counter, b: Counter) => {
        const [x, y] = [sums.get(a), sums.get(b)];
        return x !== undefined && y !== undefined && y > 0 && runningPercent >= MIN_RUNNING_PERCENT
          ? x / y
          : null;
      };
      return {
        role,
        cycles: sums.get('cycles') ?? 0,
        instructionsPerCycle: ratio('instructions', 'cycles'),
        cacheMissShare: ratio('cache-misses', 'cache-references'),
        runningPercent,
      };
    })
    .sort((a, b) => b.cycles - a.cycles);
}

/** Counts for `seconds` over these processes; undefined where perf cannot, which is no error. */
export async function countHardware(
  pids: readonly number[],
  seconds: number,
  events: readonly string[] = COUNTERS,
): Promise<CounterReading[] | undefined> {
  try {
    const args = ['stat', '--per-thread', '-j', '-e', events.join(','), '-p', pids.join(',')];
    const { stderr } = await run('perf', [...args, '--', 'sleep', String(seconds)], {
      maxBuffer: 2 ** 24,
    });
    const readings = parseCounters(stderr);
    return readings.length > 0 ? readings : undefined;
  } catch {
    return undefined;
  }
}
