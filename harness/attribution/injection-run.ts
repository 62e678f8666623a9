// Measures whether a seam is on the path of TPOT: starts the bundled server with no, one and two times a known delay
// spun at the seam, interleaved and three times each, and fits the slope. It is the positive control of attribution too.
import { HarnessError } from '../errors.ts';
import { seededRandom, shuffled } from '../stats/random.ts';
import type { AttributeOptions } from './attribute-options.ts';
import { type InjectionRun, injectionSlope, type Slope } from './injection.ts';
import { clip, tpotOf } from './load-window.ts';
import { runPhases } from './phases.ts';
import { SteadyLoad } from './steady-load.ts';
import { reachTarget } from './target.ts';

export interface Injection {
  seam: 'engine' | 'frontend';
  delayUs: number;
}

/** The role whose work a seam stands for. */
export const SEAM_ROLES = { engine: 'engine-core', frontend: 'frontend' } as const;

/** Parses "engine:+500" (microseconds); USAGE says the form. */
export function parseInjection(text: string): Injection {
  const match = /^(engine|frontend):\+?(\d{1,7})(?:us)?$/.exec(text);
  const delayUs = Number(match?.[2]);
  if (!match || delayUs < 1)
    throw new HarnessError(
      'USAGE',
      `--inject ${text}: it must be SEAM:+MICROSECONDS with SEAM engine or frontend, such as engine:+500`,
    );
  return { seam: match[1] as Injection['seam'], delayUs };
}

const REPEATS = 3;

/** Delays of all runs in an order drawn from the seed: each block holds every delay once. */
function injectionOrder(delayUs: number, seed: number): number[] {
  const random = seededRandom(seed, 'injection');
  return Array.from({ length: REPEATS }, () => shuffled([0, delayUs, 2 * delayUs], random)).flat();
}

export interface InjectionResult {
  injection: Injection;
  runs: InjectionRun[];
  slope: Slope;
}

/** Runs all delays; every run starts and ends a server of its own. */
export async function measureInjection(
  injection: Injection,
  options: AttributeOptions,
  onRun: (done: number, total: number) => void,
  signal: AbortSignal,
): Promise<InjectionResult> {
  const order = injectionOrder(injection.delayUs, options.seed);
  const runs: InjectionRun[] = [];
  for (const [i, delayUs] of order.entries()) {
    onRun(i, order.length);
    const flags = delayUs === 0 ? [] : ['--inject', `${injection.seam}:+${delayUs}`];
    runs.push({ delayMs: delayUs / 1e3, tpotMs: await freeTpot(options, flags, signal) });
  }
  const slope = injectionSlope(runs);
  if (!slope) throw new HarnessError('SERVER_WRONG', 'The injection runs give no slope');
  return { injection, runs, slope };
}

/** Mean TPOT of one free phase of a fresh server, ms. */
async function freeTpot(
  options: AttributeOptions,
  flags: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  const target = await reachTarget({ ...options, perf: false }, signal, flags);
  try {
    const load = await SteadyLoad.start({
      baseUrl: target.baseUrl,
      identity: target.identity,
      concurrency: options.concurrency,
      inputTokens: options.inputTokens,
      outputTokens: options.outputTokens,
      seed: options.seed,
      requestTimeoutMs: options.timeout * 1_000,
      seconds: options.freeSeconds,
      signal,
    });
    const { phases } = await runPhases({
      rootPid: target.pid,
      folder: '',
      freeSeconds: options.freeSeconds,
      onCpuSeconds: 0,
      schedSeconds: 0,
      frequency: options.frequency,
      sample: false,
      trace: false,
      once: true,
      signal,
      onPhase: () => undefined,
    });
    const { timelines, originNs } = await load.stop();
    const window = phases[0];
    const tpot = tpotOf(
      'free',
      clip(timelines, Number(originNs), window?.fromNs ?? 0, window?.toNs ?? 0),
    );
    if (!Number.isFinite(tpot.mean))
      throw new HarnessError('SERVER_WRONG', 'No request had enough tokens in the free phase', {
        hint: 'Lengthen it with --free-seconds.',
      });
    return tpot.mean;
  } finally {
    await target.stop();
  }
}
