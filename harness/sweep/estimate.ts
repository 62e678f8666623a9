// How long the rest of a sweep takes, from what has passed. Pure.
import type { DriveProgress } from '../load/drive.ts';
import type { CellPlan } from './cell.ts';

export interface SweepProgress {
  /** Requests of warm-up and measurement, over all cells. */
  done: number;
  total: number;
  remainingSeconds?: number;
}

/** Whole-sweep progress while `current` runs. Later cells are taken to need as long a request as this one does. */
export function sweepProgress(
  plans: readonly CellPlan[],
  current: CellPlan,
  progress: DriveProgress,
): SweepProgress {
  const size = (plan: CellPlan) => plan.requests + plan.warmUpRequests;
  const at = plans.indexOf(current);
  const sum = (list: readonly CellPlan[]) => list.reduce((total, plan) => total + size(plan), 0);
  const total = sum(plans);
  const { remainingMs, elapsedMs } = progress;
  const cellTotalMs = remainingMs === undefined ? undefined : elapsedMs + remainingMs;
  const share = cellTotalMs ? elapsedMs / cellTotalMs : 0;
  const done = sum(plans.slice(0, at)) + share * size(current);
  if (cellTotalMs === undefined || remainingMs === undefined) return { done, total };
  const later = sum(plans.slice(at + 1)) * (cellTotalMs / size(current));
  return { done, total, remainingSeconds: (remainingMs + later) / 1000 };
}
