// From scheduler events and step records to waiting: the four states of every stage of a token's way, the hops between
// roles, and who ends the engine's sleep. Pure.
import type { StepRecord } from '../../server/protocol/step-trace.ts';
import { type StageInterval, type StageSummary, stageStates } from './hand-off.ts';
import type { SchedEvent } from './sched-parser.ts';
import { type SwitchSource, TimelineBuilder } from './sched-states.ts';
import { type HopSummary, type SleepEnd, WakeCollector } from './wakes.ts';

export interface Waiting {
  source: SwitchSource;
  stages: StageSummary[];
  hops: HopSummary[];
  engineSleep: SleepEnd[];
  foreignShare: number;
  apparatusShare: number;
  unseenWakes: number;
  inconsistent: number;
  /** Largest closure error of any stage, us; undefined without stages. */
  closureUs: number | undefined;
}

/** The stages of each step that one thread is responsible for. */
function stagesOf(
  steps: readonly StepRecord[],
  engineTid: number | undefined,
  frontendTid: number | undefined,
): StageInterval[] {
  const stages: StageInterval[] = [];
  const push = (stage: string, tid: number | undefined, fromNs?: number, toNs?: number) => {
    // A receiver can be faster than the sender's own stamp: then the stage took no time, and it counts as such.
    if (tid !== undefined && fromNs !== undefined && toNs !== undefined)
      stages.push({ stage, tid, fromNs, toNs: Math.max(fromNs, toNs) });
  };
  for (const step of steps) {
    push('schedule', engineTid, step.beginNs, step.scheduledNs);
    push('forward', engineTid, step.scheduledNs, step.forwardNs);
    push('sample', engineTid, step.forwardNs, step.sampledNs);
    push('post', engineTid, step.sampledNs, step.postedNs);
    push('hand-off', frontendTid, step.postedNs, step.receivedNs);
    push('front-end compute', frontendTid, step.receivedNs, step.detokenisedNs);
    push('write', frontendTid, step.detokenisedNs, step.writtenNs);
  }
  return stages;
}

export interface WaitingInput {
  events: readonly SchedEvent[];
  source: SwitchSource;
  steps: readonly StepRecord[];
  roles: ReadonlyMap<number, string>;
  apparatus: ReadonlySet<number>;
  engineTid: number | undefined;
  frontendTid: number | undefined;
}

/** Everything about waiting in one pass over the events, which must be in time order. */
export function analyseWaiting(input: WaitingInput): Waiting {
  const { roles, source } = input;
  const builder = new TimelineBuilder(roles.keys(), source);
  const wakes = new WakeCollector({
    roleOf: (tid) => roles.get(tid),
    ours: (tid) => roles.has(tid),
    apparatus: (tid) => input.apparatus.has(tid),
    source,
  });
  for (const event of input.events) {
    builder.add(event);
    wakes.add(event);
  }
  const timelines = builder.timelines();
  const stages = stageStates(stagesOf(input.steps, input.engineTid, input.frontendTid), timelines);
  const sum = (of: (t: { unseenWakes: number; inconsistent: number }) => number) =>
    [...timelines.values()].reduce((total, timeline) => total + of(timeline), 0);
  return {
    source,
    stages,
    hops: wakes.hops(),
    engineSleep: wakes.sleepEnds('engine-core'),
    foreignShare: wakes.foreignShare(),
    apparatusShare: wakes.apparatusShare(),
    unseenWakes: sum((t) => t.unseenWakes),
    inconsistent: sum((t) => t.inconsistent),
    closureUs: stages.length > 0 ? Math.max(...stages.map((s) => s.worstClosureUs)) : undefined,
  };
}
