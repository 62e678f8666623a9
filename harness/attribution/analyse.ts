// Puts one capture together: roles, exact cost, profile, waiting, waterfall, gap, gates and verdicts. Pure: everything that
// has to be read was read before.

import type { RequestTimeline } from '../client/timeline.ts';
import { type RoleCost, roleCosts, type StepCount } from './analyse-busy.ts';
import { analyseWaiting, type Waiting } from './analyse-waiting.ts';
import type { Analysis, CaptureInput, PhaseSummary } from './capture.ts';
import { factsOf, hostSummary } from './capture-facts.ts';
import { judge } from './decision.ts';
import { type Gap, type GapRun, gapAgainst } from './gap.ts';
import { checkGates } from './gates.ts';
import { burstStarts, clip, streamPace, tokensIn, tpotOf } from './load-window.ts';
import type { OnCpuProfile } from './on-cpu.ts';
import { stepsBetween } from './peer-metrics.ts';
import type { PhaseCapture, PhaseCaptures } from './phases.ts';
import { evidenceFor, type Measured } from './premise-evidence.ts';
import { profileRoles } from './role-profile.ts';
import { assignRoles, type StackEvidence, type ThreadIdentity, UNMAPPED } from './roles.ts';
import { busyBetween, busyByRole } from './schedstat.ts';
import { missingSteps, type Waterfall, waterfall } from './waterfall.ts';

type Counter = StepCount & { from: PhaseSummary['stepsFrom'] };

/** Steps by the engine's own records, else by the counter in its metrics, else by the bursts of the streams. */
function stepCounter({ steps, counter, timelines, originNs }: CaptureInput): Counter {
  const tokens = (a: number, b: number) => tokensIn(timelines, originNs, a, b);
  const own = steps && steps.length > 0 ? steps.map((step) => step.postedNs) : undefined;
  if (!own && counter && counter.length > 1)
    return { between: (a, b) => stepsBetween(counter, a, b), tokens, from: 'server metrics' };
  const ends = own ?? burstStarts(timelines).map((ns) => ns + originNs);
  return {
    between: (a, b) => ends.reduce((n, ns) => n + (ns > a && ns <= b ? 1 : 0), 0),
    tokens,
    from: own ? 'engine counter' : 'streams',
  };
}

function summarise(phase: PhaseCapture, input: CaptureInput, count: Counter): PhaseSummary {
  const { fromNs, toNs, snapshots } = phase;
  const [first, last] = [snapshots[0], snapshots.at(-1)];
  const window =
    first && last && first !== last ? busyBetween(first, last, input.ticksPerSecond) : undefined;
  const runNs = window?.threads.reduce((sum, thread) => sum + thread.runNs, 0) ?? 0;
  return {
    name: phase.name,
    seconds: (toNs - fromNs) / 1e9,
    steps: count.between(fromNs, toNs),
    stepsFrom: count.from,
    tokens: count.tokens(fromNs, toNs),
    tpot: tpotOf(phase.name, clip(input.timelines, input.originNs, fromNs, toNs)),
    serverCores: runNs / (toNs - fromNs),
    clientCores: phase.ownCpuNs / (toNs - fromNs),
  };
}

/** All threads ever seen in the capture, with their process's command line. */
function threadIdentities(captures: PhaseCaptures): ThreadIdentity[] {
  const found = new Map<number, ThreadIdentity>();
  for (const { snapshots } of captures.phases)
    for (const { processes, threads } of snapshots) {
      const lines = new Map(processes.map((p) => [p.pid, p.commandLine]));
      for (const { pid, tid, comm } of threads)
        found.set(tid, { pid, tid, comm, commandLine: lines.get(pid) ?? '' });
    }
  return [...found.values()];
}

function stackEvidence(profile: OnCpuProfile | undefined): Map<number, StackEvidence> {
  const threads = profile?.folded.threads.values() ?? [];
  return new Map([...threads].map((thread) => [thread.tid, thread.evidence]));
}

function profiled(
  input: CaptureInput,
  roles: ReadonlyMap<number, string>,
  busy: readonly RoleCost[],
) {
  const { onCpu } = input.captures;
  if (!input.profile || !onCpu) return [];
  const roleOf = (tid: number) => roles.get(tid) ?? UNMAPPED;
  return profileRoles(input.profile.folded, {
    roleOf,
    busy: busyByRole(busyBetween(onCpu.before, onCpu.after, input.ticksPerSecond), roleOf),
    msPerStep: new Map(busy.map((role) => [role.role, role.msPerStep])),
  });
}

/** The thread of a role that ran most: the one that its stages are measured on. */
function busiest(
  role: string,
  roles: ReadonlyMap<number, string>,
  captures: PhaseCaptures,
): number | undefined {
  const last = captures.phases.at(-1)?.snapshots.at(-1)?.threads ?? [];
  return last.filter((t) => roles.get(t.tid) === role).sort((a, b) => b.runNs - a.runNs)[0]?.tid;
}

function waitingOf(input: CaptureInput, roles: ReadonlyMap<number, string>): Waiting | undefined {
  const phase = input.captures.phases.find((one) => one.name === 'scheduler');
  if (!input.trace || !phase) return undefined;
  return analyseWaiting({
    events: input.trace.events,
    source: input.trace.source,
    steps: (input.steps ?? []).filter((s) => s.beginNs >= phase.fromNs && s.postedNs <= phase.toNs),
    roles,
    apparatus: new Set(input.captures.apparatus),
    engineTid: busiest('engine-core', roles, input.captures),
    frontendTid: busiest('frontend', roles, input.captures),
  });
}

/** The waterfall of the free phases; steps missing within a phase are holes, those between phases are not. */
function waterfallOf(
  input: CaptureInput,
  free: readonly PhaseCapture[],
  clipped: readonly RequestTimeline[],
): { waterfall?: Waterfall } {
  const parts = free.map((p) =>
    (input.steps ?? []).filter((step) => step.postedNs >= p.fromNs && step.postedNs <= p.toNs),
  );
  const steps = parts.flat();
  if (steps.length < 2) return {};
  const missing = parts.reduce((sum, part) => sum + missingSteps(part), 0);
  return { waterfall: { ...waterfall(steps, clipped, input.originNs), missing } };
}

/** This capture's decode-only steps as one run, and the gap where a reference was given. */
function gapOf(
  { reference }: CaptureInput,
  fall: Waterfall | undefined,
): { decodeRun?: GapRun; gap?: Gap } {
  if (!fall || fall.decodeOnly.steps === 0) return {};
  const { periodMs, spanMs } = fall.decodeOnly;
  const decodeRun = { periodMs, spanMs };
  if (!reference) return { decodeRun };
  const ours = { name: reference.ours, method: reference.side.method, steps: 'decode' as const };
  const runs = [...reference.earlier, decodeRun];
  return { decodeRun, gap: gapAgainst({ ...ours, runs }, reference.side) };
}

/** Analyses one capture. Verdicts are VOID when a gate failed, whatever the figures say. */
export function analyse(input: CaptureInput): Analysis {
  const { captures } = input;
  const count = stepCounter(input);
  const phases = captures.phases.map((phase) => summarise(phase, input, count));
  const free = captures.phases.filter((phase) => phase.name.startsWith('free'));
  const threads = threadIdentities(captures);
  const roles = assignRoles(threads, input.rules, input.declared, stackEvidence(input.profile));
  const roleOf = (tid: number) => roles.get(tid) ?? UNMAPPED;
  const costs = roleCosts(
    free.map((phase) => phase.snapshots),
    input.ticksPerSecond,
    roleOf,
    count,
  );
  const stepMs = costs.steps > 0 ? costs.windowNs / costs.steps / 1e6 : 0;
  // Requests are cut a few steps inside the window, so that the steps of their tokens lie within it.
  const margin = 5e6 * stepMs;
  const clipped = free.flatMap((p) =>
    clip(input.timelines, input.originNs, p.fromNs + margin, p.toNs - margin),
  );
  const serverCores =
    costs.windowNs > 0 ? costs.roles.reduce((sum, r) => sum + r.runNs, 0) / costs.windowNs : 0;
  const waiting = waitingOf(input, roles);
  const fall = waterfallOf(input, free, clipped);
  const draft = {
    phases,
    stepMs,
    roles,
    busy: costs.roles,
    diedNs: costs.diedNs,
    profiles: profiled(input, roles, costs.roles),
    ...(waiting ? { waiting } : {}),
    ...fall,
    ...gapOf(input, fall.waterfall),
    streams: streamPace(clipped),
    host: hostSummary(free, serverCores, input.ticksPerSecond),
  };
  const gates = checkGates(factsOf(input, draft));
  const tracedSteps = phases.find((phase) => phase.name === 'scheduler')?.steps;
  const measured: Measured = {
    stepMs: draft.stepMs,
    steps: costs.steps,
    roles: costs.roles,
    profiles: draft.profiles,
    ...(waiting ? { waiting } : {}),
    ...(tracedSteps === undefined ? {} : { tracedSteps }),
    ...(draft.gap ? { gap: draft.gap } : {}),
    ...(input.slopes ? { slopes: input.slopes } : {}),
  };
  const judgements = judge(input.premises, (premise) => evidenceFor(premise, measured), gates);
  return { ...draft, gates, judgements };
}
