// The facts of one capture that the gates judge: losses, coverage, clocks, host noise, perturbation. Pure.
import type { Analysis, CaptureInput, HostSummary } from './capture.ts';
import type { CaptureFacts } from './gates.ts';
import type { PhaseCapture } from './phases.ts';
import type { HostLoad } from './proc-tree.ts';
import { UNMAPPED } from './roles.ts';
import { busyBetween } from './schedstat.ts';

/** What the whole host did in these phases, besides the server and the measuring process. */
export function hostSummary(
  free: readonly PhaseCapture[],
  serverCores: number,
  ticksPerSecond: number,
): HostSummary {
  let [psiUs, seconds, busy, steal, own] = [0, 0, 0, 0, 0];
  for (const { hostBefore: a, hostAfter: b, ownCpuNs } of free) {
    psiUs += (b.psiSomeUs ?? 0) - (a.psiSomeUs ?? 0);
    seconds += (b.atNs - a.atNs) / 1e9;
    busy += b.busyTicks - a.busyTicks;
    steal += b.stealTicks - a.stealTicks;
    own += ownCpuNs;
  }
  const first: HostLoad | undefined = free[0]?.hostBefore;
  const cores = (ticks: number) => (seconds > 0 ? ticks / ticksPerSecond / seconds : 0);
  const ownCores = seconds > 0 ? own / 1e9 / seconds : 0;
  return {
    psiSome: seconds > 0 ? psiUs / 1e6 / seconds : 0,
    hasPsi: first?.psiSomeUs !== undefined,
    strangers: Math.max(0, cores(busy) - serverCores - ownCores),
    steal: cores(steal),
    cpus: first?.cpus ?? 1,
  };
}

/** The facts that the gates ask for; what was not recorded is left out. */
export function factsOf(
  input: CaptureInput,
  analysis: Omit<Analysis, 'gates' | 'judgements'>,
): CaptureFacts {
  const { profile, trace, captures } = input;
  const total = analysis.busy.reduce((sum, role) => sum + role.runNs, 0);
  const unmapped = analysis.busy.find((role) => role.role === UNMAPPED)?.runNs ?? 0;
  const byName = (name: string) => analysis.phases.find((phase) => phase.name === name)?.tpot;
  const [free, freeAgain] = [byName('free'), byName('free again')];
  const { onCpu } = captures;
  const exactNs = onCpu
    ? busyBetween(onCpu.before, onCpu.after, input.ticksPerSecond).threads.reduce(
        (sum, t) => sum + t.runNs,
        0,
      )
    : 0;
  const usable = free && freeAgain && Number.isFinite(free.se) && Number.isFinite(freeAgain.se);
  const others = analysis.phases
    .map((phase) => phase.tpot)
    .filter((mean) => !mean.name.startsWith('free'));
  return {
    ...(profile && onCpu
      ? {
          samples: {
            kept: profile.folded.samples,
            lost: profile.lost + onCpu.result.lostChunks,
            expected: (exactNs / 1e9) * onCpu.frequency,
          },
          exactNs,
          ...kappaMax(input),
          events: profile.events.filter((event) => !event.name.startsWith('dummy')),
          kernelNames: input.kernelNames,
          javaScript: {
            samples: profile.folded.coverage.jsSamples,
            unresolved: profile.folded.coverage.jsUnresolved,
          },
        }
      : {}),
    ...(trace && analysis.waiting
      ? {
          lostSchedEvents: trace.lost + analysis.waiting.inconsistent,
          schedSystemWide: trace.systemWide,
          foreignWakeShare: analysis.waiting.foreignShare,
          bracket: {
            inside: trace.bracket.inside,
            total: trace.bracket.total,
          },
          ...(analysis.waiting.closureUs === undefined
            ? {}
            : { closureErrorUs: analysis.waiting.closureUs }),
        }
      : {}),
    unmappedCpuShare: total > 0 ? unmapped / total : 1,
    ...(analysis.host.hasPsi ? { host: analysis.host } : {}),
    ...(usable ? { tpot: { free, freeAgain, profiled: others } } : {}),
    steps: analysis.phases
      .filter((p) => p.name.startsWith('free'))
      .reduce((sum, p) => sum + p.steps, 0),
    ...(input.positiveControl ? { positiveControl: input.positiveControl } : {}),
  };
}

/** An idle thread that a profiler shows as busy has more samples than CPU time. */
function kappaMax({ profile, captures: { onCpu }, ticksPerSecond }: CaptureInput): {
  kappaMax?: number;
} {
  if (!profile || !onCpu) return {};
  const exact = new Map(
    busyBetween(onCpu.before, onCpu.after, ticksPerSecond).threads.map((t) => [t.tid, t.runNs]),
  );
  const ratios = [...profile.folded.threads.values()].flatMap(({ tid, samples, ns }) => {
    const ran = exact.get(tid);
    return samples >= 100 && ran !== undefined && ran > 0 ? [ns / ran] : [];
  });
  return ratios.length > 0 ? { kappaMax: Math.max(...ratios) } : {};
}
