// A sweep from the first look at the server to the draft of its record: start or reach the server, see one generation come
// out right, measure each concurrency, stop the server. It prints nothing; whoever waits is told by events.
import { type ArmDemand, type RunningArm, startArm } from '../arms/start-arm.ts';
import type { DriveProgress } from '../load/drive.ts';
import type { RequestRow, SweepCell } from '../record/record-parts.ts';
import { type Arm, armOf } from '../scenario/arm.ts';
import { DEFAULT_MODEL, type SweepOptions } from '../scenario/sweep-options.ts';
import { type CellContext, type CellPlan, measureOneCell, promptsOf } from './cell.ts';

export interface SweepEvents {
  /** What is being waited for now, in a few words. */
  onStage(what: string): void;
  onCellProgress(plan: CellPlan, progress: DriveProgress): void;
  onCell(cell: SweepCell): void;
}

export interface SweepOutcome {
  server: RunningArm;
  plans: CellPlan[];
  cells: SweepCell[];
  rows: RequestRow[];
  interrupted: boolean;
}

/** The fewest requests from which a median may be compared (metrics: p50). */
const LEAST_REQUESTS = 24;

/** Requests that count, where nobody says: enough for a median, and for three rounds of every slot. */
export function defaultRequests(concurrency: number): number {
  return Math.max(LEAST_REQUESTS, 3 * concurrency);
}

/** The cells in the order in which they are measured. */
export function planCells(options: SweepOptions): CellPlan[] {
  return options.concurrency.map((concurrency) => ({
    concurrency,
    requests: options.requests ?? defaultRequests(concurrency),
    warmUpRequests: concurrency,
  }));
}

/**
 * Runs the sweep. A raised signal ends it early with what was measured. Rejects with SERVER_NOT_READY or SERVER_WRONG when
 * there is nothing to measure; the server that it started is gone in every case.
 */
export async function runSweep(
  options: SweepOptions,
  events: SweepEvents,
  place: SweepPlace,
): Promise<SweepOutcome> {
  const server = await startArm(sweepArm(options), demandOf(options, events, place));
  try {
    const context = contextOf(options, server, place.signal);
    return { server, ...(await measureCells(options, context, events)) };
  } finally {
    events.onStage('stopping the server');
    await server.stop();
  }
}

/** Where a sweep runs. */
export interface SweepPlace {
  cacheFolder: string;
  signal: AbortSignal;
}

/** The arm that the flags of a sweep describe. */
export function sweepArm({ arm, url, model, label, ...options }: SweepOptions): Arm {
  const named = label === undefined ? {} : { label };
  if (arm !== undefined) return completed({ ...armOf(arm), ...named }, model);
  if (url !== undefined) {
    return { kind: 'url', url, ...named, ...(model === undefined ? {} : { model }) };
  }
  const given = {
    '--activations': options.activations,
    '--threads': options.threads,
    '--isa': options.isa,
  };
  const flags = Object.entries(given).flatMap(([flag, value]) =>
    value === undefined ? [] : [flag, String(value)],
  );
  return { kind: 'bundled', model: model ?? DEFAULT_MODEL, flags, ...named };
}

/** Another revision or configuration of ours is measured on the same model unless it names one. */
export function completed(arm: Arm, model: string | undefined): Arm {
  const lacks = (arm.kind === 'git' || arm.kind === 'bundled') && arm.model === undefined;
  return lacks ? { ...arm, model: model ?? DEFAULT_MODEL } : arm;
}

/** What the work of a sweep asks of a server. */
export function demandOf(
  options: SweepOptions,
  { onStage }: Pick<SweepEvents, 'onStage'>,
  place: SweepPlace,
): ArmDemand {
  const { inputTokens, outputTokens, seed } = options;
  return {
    ...place,
    onStage,
    outputTokens,
    concurrency: Math.max(...options.concurrency),
    sequenceTokens: inputTokens + outputTokens,
    // Concurrency 0 is a domain of prompts of its own: no cell can find these in a cache.
    readyPrompt: (identity) =>
      promptsOf({ identity, inputTokens, seed }, { concurrency: 0, pair: 0 }),
  };
}

/** What all cells on this server share. */
export function contextOf(
  options: SweepOptions,
  server: RunningArm,
  signal: AbortSignal,
): CellContext {
  const { inputTokens, outputTokens, seed } = options;
  return {
    baseUrl: server.baseUrl,
    pid: server.pid,
    idlePids: [],
    identity: server.identity,
    inputTokens,
    outputTokens,
    seed,
    requestTimeoutMs: options.timeout * 1000,
    foreignCpuLimit: options.foreignCpuLimit / 100,
    signal,
    onProgress: () => undefined,
    now: () => new Date(),
  };
}

async function measureCells(options: SweepOptions, context: CellContext, events: SweepEvents) {
  const plans = planCells(options);
  const cells: SweepCell[] = [];
  const rows: RequestRow[] = [];
  for (const plan of plans) {
    if (context.signal.aborted) break;
    events.onStage(`c${plan.concurrency}`);
    const onProgress = (progress: DriveProgress) => events.onCellProgress(plan, progress);
    const outcome = await measureOneCell({ ...context, onProgress }, plan);
    cells.push(outcome.cell);
    rows.push(...outcome.rows);
    events.onCell(outcome.cell);
    if (outcome.unreachable) break;
  }
  return { plans, cells, rows, interrupted: context.signal.aborted };
}
