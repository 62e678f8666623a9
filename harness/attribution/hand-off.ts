// Joins the stages of every step (from the server's stamps) with the scheduler's account of the thread that was
// responsible, so that each stage is compute or one of three kinds of waiting, closing to zero. Pure.
import { blockBootstrapMeans, percentileInterval, quantile } from './bootstrap.ts';
import type { Interval } from './intervals.ts';
import { covered, partition, STATES, type State, type Timeline } from './sched-states.ts';

export interface StageInterval {
  stage: string;
  tid: number;
  fromNs: number;
  toNs: number;
}

interface StateSummary {
  meanUs: number;
  interval: Interval;
  p50Us: number;
  p99Us: number;
}

export interface StageSummary {
  stage: string;
  steps: number;
  meanUs: number;
  states: Record<State, StateSummary>;
  /** Largest distance between an interval and the sum of its four states. */
  worstClosureUs: number;
  /** Intervals outside the trace, which are left out. */
  uncovered: number;
  /** Block draws of the mean waiting (woken + preempted + asleep), us, sorted: for verdicts. */
  latencyDraws: number[];
}

/** Blocks of steps: neighbouring steps share a batch and a busy host. */
const BLOCK_STEPS = 20;

function summarise(us: readonly number[]): StateSummary {
  return {
    meanUs: us.reduce((a, b) => a + b, 0) / us.length,
    interval: percentileInterval(blockBootstrapMeans(us, BLOCK_STEPS)),
    p50Us: quantile(us, 0.5),
    p99Us: quantile(us, 0.99),
  };
}

/** One summary a stage, in order of first appearance; stages without a covered interval are left out. */
export function stageStates(
  stages: readonly StageInterval[],
  timelines: ReadonlyMap<number, Timeline>,
): StageSummary[] {
  const byStage = new Map<string, StageInterval[]>();
  for (const stage of stages) {
    const list = byStage.get(stage.stage);
    if (list) list.push(stage);
    else byStage.set(stage.stage, [stage]);
  }
  const summaries: StageSummary[] = [];
  for (const [stage, intervals] of byStage) {
    const inside = intervals.filter((i) => {
      const timeline = timelines.get(i.tid);
      return i.toNs >= i.fromNs && timeline !== undefined && covered(timeline, i.fromNs, i.toNs);
    });
    if (inside.length === 0) continue;
    const parts = inside.flatMap((i) => {
      const timeline = timelines.get(i.tid);
      return timeline ? [partition(timeline, i.fromNs, i.toNs)] : [];
    });
    const of = (state: State) => summarise(parts.map((p) => p[state] / 1e3));
    const waiting = parts.map((p) => (p.woken + p.preempted + p.asleep) / 1e3);
    summaries.push({
      stage,
      steps: inside.length,
      meanUs: inside.reduce((sum, i) => sum + i.toNs - i.fromNs, 0) / inside.length / 1e3,
      states: {
        running: of(STATES[0]),
        woken: of(STATES[1]),
        preempted: of(STATES[2]),
        asleep: of(STATES[3]),
      },
      worstClosureUs: Math.max(...parts.map((p) => Math.abs(p.closureErrorNs))) / 1e3,
      uncovered: intervals.length - inside.length,
      latencyDraws: Array.from(blockBootstrapMeans(waiting, BLOCK_STEPS, 1, 400)),
    });
  }
  return summaries;
}
