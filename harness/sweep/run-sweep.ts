// A sweep from the first look at the server to the draft of its record: start or reach the server, see one generation come
// out right, measure each concurrency, stop the server. It prints nothing; whoever waits is told by events.
import { startBundled } from '../arms/bundled.ts';
import { identify, type ServerIdentity } from '../arms/identity.ts';
import { listenerOf } from '../arms/listener.ts';
import { dialectOf } from '../client/dialect.ts';
import { HarnessError } from '../errors.ts';
import type { DriveProgress } from '../load/drive.ts';
import { waitUntilReady } from '../load/ready.ts';
import type { RequestRow, SweepCell } from '../record/record.ts';
import { DEFAULT_MODEL, type SweepOptions } from '../scenario/sweep-options.ts';
import { type CellContext, type CellPlan, measureOneCell, promptsOf } from './cell.ts';

export interface SweepEvents {
  /** What is being waited for now, in a few words. */
  onStage(what: string): void;
  onCellProgress(plan: CellPlan, progress: DriveProgress): void;
  onCell(cell: SweepCell): void;
}

/** Where the numbers come from. */
export interface MeasuredServer {
  role: 'bundled' | 'url';
  identity: ServerIdentity;
  command: string[] | null;
  startSeconds: number | null;
}

export interface SweepOutcome {
  server: MeasuredServer;
  plans: CellPlan[];
  cells: SweepCell[];
  rows: RequestRow[];
  interrupted: boolean;
}

/** Requests that count, where nobody says: enough for a median, and for a few rounds of every slot. */
export function defaultRequests(concurrency: number): number {
  return Math.max(8, 2 * concurrency);
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
  signal: AbortSignal,
): Promise<SweepOutcome> {
  const startedNs = process.hrtime.bigint();
  const reached = await reachServer(options, events, signal);
  try {
    const context = contextOf(options, reached, signal);
    await untilRight(context, reached, events);
    const startSeconds =
      reached.role === 'bundled' ? Number(process.hrtime.bigint() - startedNs) / 1e9 : null;
    const measured = await measureCells(options, context, events);
    const { role, identity, command } = reached;
    return { server: { role, identity, command, startSeconds }, ...measured };
  } finally {
    events.onStage('stopping the server');
    await reached.stop();
  }
}

interface Reached {
  role: 'bundled' | 'url';
  baseUrl: string;
  pid: number | undefined;
  identity: ServerIdentity;
  command: string[] | null;
  /** Why the server can no longer answer, or undefined. */
  gone(): string | undefined;
  stop(): Promise<void>;
}

async function reachServer(
  options: SweepOptions,
  events: SweepEvents,
  signal: AbortSignal,
): Promise<Reached> {
  const { url, model } = options;
  if (url !== undefined) {
    events.onStage(`asking ${url} who it is`);
    const identity = await identify(url, model, signal);
    const pid = await listenerOf(url);
    const gone = () => undefined;
    const stop = async () => undefined;
    return { role: 'url', baseUrl: url, pid, identity, command: null, gone, stop };
  }
  const name = model ?? DEFAULT_MODEL;
  events.onStage(`starting the bundled server with ${name}`);
  const server = await startBundled({ model: name, flags: serverFlags(options), signal });
  try {
    const identity = await identify(server.baseUrl, undefined, signal);
    return { role: 'bundled', identity, ...server };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

function serverFlags(options: SweepOptions): string[] {
  const most = Math.max(...options.concurrency);
  const flags = {
    '--activations': options.activations,
    '--threads': options.threads,
    '--isa': options.isa,
    // Exactly what the sweep needs, so that neither memory nor admission is left to chance.
    '--max-num-seqs': most,
    '--max-model-len': options.inputTokens + options.outputTokens,
  };
  return Object.entries(flags).flatMap(([flag, value]) =>
    value === undefined ? [] : [flag, String(value)],
  );
}

function contextOf(options: SweepOptions, reached: Reached, signal: AbortSignal): CellContext {
  const { inputTokens, outputTokens, seed } = options;
  return {
    baseUrl: reached.baseUrl,
    pid: reached.pid,
    identity: reached.identity,
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

/** A server by URL may still be loading its model. */
const READY_TIMEOUT_MS = 120_000;
const READY_TOKENS = 8;

async function untilRight(
  context: CellContext,
  reached: Reached,
  events: SweepEvents,
): Promise<void> {
  const { baseUrl, identity, signal } = context;
  events.onStage('waiting for one right generation');
  try {
    await waitUntilReady({
      baseUrl,
      model: identity.model.id,
      endpoint: 'completions',
      dialect: dialectOf(identity.kind),
      signal,
      // Concurrency 0 is a domain of prompts of its own: no cell can find these in a cache.
      prompt: promptsOf(context, 0),
      outputTokens: Math.min(READY_TOKENS, context.outputTokens),
      timeoutMs: READY_TIMEOUT_MS,
      gone: reached.gone,
    });
  } catch (error) {
    if (!(error instanceof HarnessError) || error.code !== 'INTERRUPTED') throw error;
    throw new HarnessError('INTERRUPTED', 'Interrupted before the first measurement.', {
      hint: 'Nothing was measured, so no record was written.',
    });
  }
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
