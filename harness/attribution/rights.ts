// What this host allows: perf at all, kernel samples, scheduler tracepoints, hardware counters, kernel names. One
// sentence says what more rights would give; nothing here fails because a right is missing.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { z } from 'zod';
import { perfVersion } from './perf-process.ts';

const run = promisify(execFile);

export const rightsSchema = z.strictObject({
  perf: z.string().nullable().describe('version text, null when perf is not installed'),
  kernelSamples: z.boolean(),
  scheduler: z.boolean(),
  hardwareCounters: z.boolean(),
  kernelNames: z.boolean(),
  paranoid: z.number().nullable(),
  maxSampleRate: z.number().nullable(),
  missing: z.string().nullable().describe('what more rights would give, in one sentence'),
});
export type Rights = z.infer<typeof rightsSchema>;

function setting(name: string): number | null {
  try {
    return Number(readFileSync(`/proc/sys/kernel/${name}`, 'utf8'));
  } catch {
    return null;
  }
}

/** True when /proc/kallsyms shows addresses: with all zeros, kernel frames cannot be named. */
export function kallsymsVisible(text: string): boolean {
  return text.split('\n').some((line) => /^0*[1-9a-f][0-9a-f]* /.test(line));
}

function kernelNames(): boolean {
  try {
    return kallsymsVisible(readFileSync('/proc/kallsyms', 'utf8').slice(0, 100_000));
  } catch {
    return false;
  }
}

/** Counts one event over `true`: says whether perf may and can, without believing its exit code. */
async function counts(event: string, wide: boolean): Promise<boolean> {
  try {
    const args = ['stat', '-x', ',', '-e', event, ...(wide ? ['-a'] : []), '--', 'true'];
    const { stderr } = await run('perf', args, { timeout: 10_000 });
    return /^[\d.]+,/m.test(stderr);
  } catch {
    return false;
  }
}

/** Probes by small self-tests, since capabilities on paper are not always effective. */
export async function probeRights(): Promise<Rights> {
  const perf = await perfVersion();
  const [kernelSamples, scheduler, hardwareCounters] = perf
    ? [
        await counts('cpu-clock:k', false),
        await counts('sched:sched_switch', true),
        await counts('cycles', false),
      ]
    : [false, false, false];
  const rights = {
    perf: perf ?? null,
    kernelSamples,
    scheduler,
    hardwareCounters,
    kernelNames: kernelNames(),
    paranoid: setting('perf_event_paranoid'),
    maxSampleRate: setting('perf_event_max_sample_rate'),
  };
  return { ...rights, missing: missingSentence(rights) };
}

/** One sentence of what is absent and how to get it; null when nothing is. */
export function missingSentence(rights: Omit<Rights, 'missing'>): string | null {
  if (rights.perf === null)
    return 'perf is not installed (Debian: apt-get install linux-perf), so busy time, the waterfall and injection work, but functions and wake-ups are not shown.';
  if (!rights.kernelSamples)
    return `perf may sample user space only (perf_event_paranoid is ${rights.paranoid ?? 'unknown'}); as root, or with CAP_PERFMON, kernel functions and wake-ups are shown too.`;
  if (!rights.scheduler)
    return 'Scheduler tracepoints may not be read; as root, or with CAP_PERFMON and a readable /sys/kernel/tracing, wake-ups and the four states are shown too.';
  if (!rights.hardwareCounters)
    return 'This host has no hardware counters (a virtual machine often has none), so samples are of cpu-clock and cycles or cache misses are not shown.';
  return null;
}
