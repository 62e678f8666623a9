// The positive control of the tests: builds and runs a program that knows what each of its threads did, and compares
// what attribution says with it. Needs g++, perf and the right to trace.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { stageStates } from '../hand-off.ts';
import { wilsonInterval } from '../intervals.ts';
import { readOnCpu, recordOnCpu } from '../on-cpu.ts';
import { snapshot, ticksPerSecond } from '../proc-tree.ts';
import { profileRoles, withUnsampled } from '../role-profile.ts';
import { readSched, recordSched } from '../sched-record.ts';
import { TimelineBuilder } from '../sched-states.ts';
import { busyBetween, busyByRole } from '../schedstat.ts';
import { stackClassifier } from '../symbol-classes.ts';

const truthSchema = z.strictObject({
  beginNs: z.number(),
  endNs: z.number(),
  sleepNs: z.number(),
  threads: z.array(
    z.strictObject({
      tid: z.number(),
      name: z.string(),
      cpuNs: z.number(),
      shares: z.record(z.string(), z.number()),
    }),
  ),
  steps: z.array(z.tuple([z.number(), z.number(), z.number(), z.number(), z.number(), z.number()])),
});
type Truth = z.infer<typeof truthSchema>;

const SOURCE = new URL('../../../../harness/attribution/fixtures/known_duty.cpp', import.meta.url)
  .pathname;

/** Compiles the program into a new folder; remove the folder when done. */
export function buildKnownDuty(): { program: string; folder: string; remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'known-duty-'));
  const program = join(folder, 'known_duty');
  execFileSync('g++', [
    '-std=c++20',
    '-O1',
    '-g',
    '-fno-omit-frame-pointer',
    '-pthread',
    SOURCE,
    '-o',
    program,
  ]);
  return { program, folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

class Program {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(program: string, seed: number, seconds: number) {
    this.#child = spawn(program, [String(seed), String(seconds)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.pid = this.#child.pid ?? 0;
    if (!this.#child.stdout) throw new Error('no output');
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('The program ended before its time.');
    return value;
  }

  go(): void {
    this.#child.stdin?.write('\n');
  }

  /** Its truth; it stays alive, so that its threads can still be read. */
  async truth(): Promise<Truth> {
    return truthSchema.parse(JSON.parse(await this.line()));
  }

  end(): void {
    this.#child.stdin?.end('\n');
  }
}

export interface Comparison {
  /** What was compared, such as "busy of engine core". */
  what: string;
  truth: number;
  low: number;
  high: number;
}

/** On-CPU phase over the whole run: exact busy and function shares against the truth. */
export async function compareOnCpu(
  program: string,
  folder: string,
  seed: number,
  seconds: number,
): Promise<Comparison[]> {
  const run = new Program(program, seed, seconds);
  let truth: Truth | undefined;
  try {
    await run.line();
    const capture = await recordOnCpu({
      pids: [run.pid],
      folder,
      frequency: 999,
      window: async () => {
        run.go();
        truth = await run.truth();
      },
    });
    if (!truth) throw new Error('no truth');
    const names = new Map(truth.threads.map((t) => [t.tid, t.name]));
    const roleOf = (tid: number) => names.get(tid) ?? 'main';
    const busy = busyByRole(busyBetween(capture.before, capture.after, ticksPerSecond()), roleOf);
    const { folded, counts } = await readOnCpu(capture, stackClassifier());
    if (counts.badLines > 0) throw new Error(`not understood: ${counts.firstBad.join('\n')}`);
    const profiles = profileRoles(folded, { roleOf, busy, msPerStep: new Map() });
    return truth.threads.flatMap((thread) => {
      const exact = busy.find((role) => role.role === thread.name)?.runNs ?? 0;
      // The program's clock starts a few instructions after its thread is woken and stops a few before it sleeps.
      const margin = 150_000 + exact * 0.001;
      const profile = profiles.find((p) => p.role === thread.name);
      const shares = profile?.functions ?? [];
      const inFunctions = Object.values(thread.shares).reduce((a, b) => a + b, 0);
      const sampled = shares.filter((f) => known(f.symbol, thread.shares));
      const total = sampled.reduce((sum, f) => sum + f.samples, 0);
      const functions = Object.entries(thread.shares).map(([name, ns]): Comparison => {
        const hits = sampled.find((f) => f.symbol.includes(name))?.samples ?? 0;
        const { low, high } = withUnsampled(wilsonInterval(hits, total), profile?.kappa);
        return { what: `share of ${name} in ${thread.name}`, truth: ns / inFunctions, low, high };
      });
      return [
        {
          what: `busy of ${thread.name}`,
          truth: thread.cpuNs,
          low: exact - margin,
          high: exact + margin,
        },
        ...functions,
      ];
    });
  } finally {
    run.end();
  }
}

const known = (symbol: string, shares: Record<string, number>) =>
  Object.keys(shares).some((name) => symbol.includes(name));

/** The tracer sees a switch a little before or after the thread's own clock does, twice a step. */
const SWITCH_MARGIN_US = 15;

/** Scheduler phase: waiting and running of the front end per step, against what its own clocks say. */
export async function compareSched(
  program: string,
  folder: string,
  seed: number,
  seconds: number,
): Promise<{
  comparisons: Comparison[];
  closureUs: number;
  inconsistent: number;
  bracket: { inside: number; total: number };
}> {
  const run = new Program(program, seed, seconds);
  try {
    await run.line();
    const { threads } = snapshot([run.pid]);
    let truth: Truth | undefined;
    const capture = await recordSched({
      pids: [run.pid],
      tids: threads.map((t) => t.tid),
      folder,
      window: async () => {
        run.go();
        truth = await run.truth();
        await sleep(20);
      },
    });
    if (!truth) throw new Error('no truth');
    const trace = await readSched(capture);
    const builder = new TimelineBuilder(
      threads.map((t) => t.tid),
      trace.source,
    );
    for (const event of trace.events) builder.add(event);
    const timelines = builder.timelines();
    const front = truth.threads.find((t) => t.name === 'HTTP front end')?.tid ?? 0;
    const steps = truth.steps
      .filter(([, , , received, done]) => received > 0 && done > received)
      .slice(2, -2);
    const [summary] = stageStates(
      steps.map(([, , , fromNs, toNs]) => ({ stage: 'front end', tid: front, fromNs, toNs })),
      timelines,
    );
    if (!summary) throw new Error('no step was traced');
    const mean = (of: (step: Truth['steps'][number]) => number) =>
      steps.reduce((sum, step) => sum + of(step), 0) / steps.length / 1e3;
    const ran = summary.states.running;
    const waited = summary.latencyDraws;
    return {
      comparisons: [
        {
          what: 'running of the front end per step',
          truth: mean((step) => step[5]),
          low: ran.interval.low - SWITCH_MARGIN_US,
          high: ran.interval.high + SWITCH_MARGIN_US,
        },
        {
          what: 'waiting of the front end per step',
          truth: mean((step) => step[4] - step[3] - step[5]),
          low: (waited[Math.floor(waited.length * 0.025)] ?? 0) - SWITCH_MARGIN_US,
          high: (waited[Math.ceil(waited.length * 0.975) - 1] ?? 0) + SWITCH_MARGIN_US,
        },
      ],
      closureUs: summary.worstClosureUs,
      inconsistent: [...timelines.values()].reduce((sum, t) => sum + t.inconsistent, 0),
      bracket: trace.bracket,
    };
  } finally {
    run.end();
  }
}
