// What one capture measured about a premise's subject. Pure. A subject is a role, a class within a role, the hand-off, or
// the residual of a gap; whatever was not measured stays absent, so that nothing is judged by its absence.
import type { RoleCost } from './analyse-busy.ts';
import type { Waiting } from './analyse-waiting.ts';
import type { PremiseEvidence } from './decision.ts';
import type { Gap } from './gap.ts';
import type { StageSummary } from './hand-off.ts';
import type { Slope } from './injection.ts';
import type { Premise } from './premise.ts';
import { countQuantity, type Quantity } from './quantity.ts';
import type { RoleProfile } from './role-profile.ts';

export interface Measured {
  stepMs: number;
  steps: number;
  roles: readonly RoleCost[];
  profiles: readonly RoleProfile[];
  waiting?: Waiting;
  /** Steps in the scheduler window. */
  tracedSteps?: number;
  gap?: Gap;
  /** Slope at the seam of a role. */
  slopes?: ReadonlyMap<string, Slope>;
}

const WAY = ['hand-off', 'front-end compute', 'write'];

/** Waiting in the given stages per step, ms: sums of sorted draws, which is wide rather than narrow. */
function waitingIn(
  stages: readonly StageSummary[],
  names: readonly string[],
): Quantity | undefined {
  const used = stages.filter((stage) => names.includes(stage.stage));
  const [first] = used;
  if (!first) return undefined;
  const sorted = first.latencyDraws.map(
    (_, i) => used.reduce((sum, stage) => sum + (stage.latencyDraws[i] ?? 0), 0) / 1e3,
  );
  const mean = used.reduce((sum, { states }) => {
    return sum + states.woken.meanUs + states.preempted.meanUs + states.asleep.meanUs;
  }, 0);
  return {
    estimate: mean / 1e3,
    unit: 'ms/step',
    method: 'scheduler events within the stages of a step',
    error: { kind: 'draws', sorted },
    steps: Math.min(...used.map((stage) => stage.steps)),
  };
}

function classCost(measured: Measured, role: string, name: string): Quantity | undefined {
  const profile = measured.profiles.find((one) => one.role === role);
  const cost = measured.roles.find((one) => one.role === role)?.msPerStep;
  if (!profile || cost === undefined || profile.samples === 0) return undefined;
  const hits = profile.classes.find((one) => one.class === name)?.samples ?? 0;
  // Slices too short for the sampler hide time: the upper bound is widened by what it missed.
  const factor = profile.kappa === undefined ? 1 : Math.max(1, 1 / profile.kappa);
  return countQuantity(hits, cost / profile.samples, 'ms/step', 'cpu-clock samples x schedstat', {
    upperFactor: factor,
    steps: measured.steps,
  });
}

function engineSleep(measured: Measured, role: string): Quantity | undefined {
  const { waiting, tracedSteps } = measured;
  if (!waiting || !tracedSteps) return undefined;
  const sum = waiting.engineSleep.find((one) => one.waker === role) ?? { count: 0, sleptNs: 0 };
  // With none seen, the largest sleep of any kind stands for the one that could have been missed.
  const each =
    sum.count > 0
      ? sum.sleptNs / sum.count
      : Math.max(0, ...waiting.engineSleep.map((one) => one.sleptNs / one.count));
  return countQuantity(sum.count, each / tracedSteps / 1e6, 'ms/step', 'engine sleep by waker', {
    steps: tracedSteps,
  });
}

function handOffCost(waiting: Waiting | undefined): Quantity | undefined {
  const running = waiting?.stages.find((stage) => stage.stage === 'hand-off');
  if (!running) return undefined;
  const { meanUs, interval } = running.states.running;
  return {
    estimate: meanUs / 1e3,
    unit: 'ms/step',
    method: 'scheduler events within the hand-off',
    error: { kind: 'bounds', low: interval.low / 1e3, high: interval.high / 1e3 },
    steps: running.steps,
  };
}

function residualShare(gap: Gap | undefined): Quantity | undefined {
  if (!gap?.residualShare) return undefined;
  return {
    estimate: gap.residualShare.estimate,
    unit: 'share',
    method: gap.method,
    error: { kind: 'draws', sorted: gap.residualShare.sorted },
    runs: Math.min(...gap.runs),
  };
}

/** The evidence on one premise; absent quantities were not measured. */
export function evidenceFor(premise: Premise, measured: Measured): PremiseEvidence {
  const [role = '', name] = premise.subject.split('/');
  const { waiting } = measured;
  const cost =
    role === 'hand-off'
      ? handOffCost(waiting)
      : name === undefined
        ? measured.roles.find((one) => one.role === role)?.cost
        : classCost(measured, role, name);
  const stages = role === 'hand-off' ? ['hand-off'] : role === 'frontend' ? WAY : [];
  const latency = waiting && waitingIn(waiting.stages, stages);
  const gapShare = role === 'residual' ? residualShare(measured.gap) : undefined;
  const slope = measured.slopes?.get(role);
  const sleep = engineSleep(measured, role);
  return {
    stepMs: measured.stepMs,
    sources: sourcesOf(name !== undefined, waiting !== undefined),
    ...(cost ? { cost } : {}),
    ...(latency ? { latency } : {}),
    ...(gapShare ? { gapShare } : {}),
    ...(measured.gap ? { gapSeMs: measured.gap.total.se } : {}),
    ...(slope ? { slope: slopeQuantity(slope) } : {}),
    ...(sleep && role === 'frontend' ? { engineSleep: sleep } : {}),
  };
}

function slopeQuantity(slope: Slope): Quantity {
  return {
    estimate: slope.slope,
    unit: 'ms TPOT per ms',
    method: 'injected delay',
    error: { kind: 'normal', se: slope.se, df: Math.max(1, slope.runs - 2) },
    runs: slope.runs,
  };
}

function sourcesOf(samples: boolean, sched: boolean): string[] {
  return [
    '/proc/PID/task/TID/schedstat over the free phases',
    ...(samples ? ['on-cpu.data by thread and class'] : []),
    ...(sched ? ['sched.data and switches.data by stage'] : []),
  ];
}
