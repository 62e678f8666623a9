// One cell of a sweep: warm-up and measured requests at one concurrency while the server is watched, then its judgement.

import type { ServerIdentity } from '../arms/identity.ts';
import { watchServer } from '../arms/server-watch.ts';
import { dialectOf } from '../client/dialect.ts';
import type { FailureCode } from '../client/timeline.ts';
import { type DriveOptions, type DriveProgress, type DriveResult, drive } from '../load/drive.ts';
import { hashPrompts, tokenPrompts } from '../load/prompts.ts';
import { measureCell } from '../metrics/measure.ts';
import type { RequestRow, SweepCell } from '../record/record-parts.ts';
import { judgeCell } from './judge-cell.ts';
import { rowsOf } from './rows.ts';

export interface CellPlan {
  concurrency: number;
  requests: number;
  warmUpRequests: number;
  /** Both arms of a pair get the prompts of its number; 0 where there are no pairs. */
  pair?: number;
}

/** What all cells of a sweep share. */
export interface CellContext {
  baseUrl: string;
  /** Absent when the server does not run on this machine. */
  pid: number | undefined;
  /** Our other servers on this machine: what they use of the CPU is not foreign. */
  idlePids: readonly number[];
  identity: ServerIdentity;
  inputTokens: number;
  outputTokens: number;
  seed: number;
  requestTimeoutMs: number;
  /** Share from 0 to 1. */
  foreignCpuLimit: number;
  signal: AbortSignal;
  onProgress: (progress: DriveProgress) => void;
  /** The time of day, for the record. */
  now: () => Date;
}

export interface CellOutcome {
  cell: SweepCell;
  rows: RequestRow[];
  /** The server could not be reached: later cells cannot be measured either. */
  unreachable: boolean;
}

/** Measures the cell. What a server does wrong ends in the cell's void codes; it rejects only on faults of our own. */
export async function measureOneCell(context: CellContext, plan: CellPlan): Promise<CellOutcome> {
  const options = driveOptions(context, plan);
  const startedUtc = context.now().toISOString();
  const promptsSha256 = hashPrompts(
    Array.from({ length: plan.warmUpRequests + plan.requests }, (_, index) =>
      options.prompt(index),
    ),
  );
  const begun = {
    concurrency: plan.concurrency,
    warmUpRequests: plan.warmUpRequests,
    startedUtc,
    promptsSha256,
  };
  const watch = watchServer(context.pid, context.idlePids);
  let result: DriveResult;
  try {
    result = await drive(options);
  } catch (error) {
    await watch.stop();
    return unreachableCell(begun, error);
  }
  const { memory, memoryAbsent, cpu } = await watch.stop();
  const metrics = measureCell(result);
  const judged = judgeCell({
    metrics,
    failureMessages: firstMessages(result),
    foreignCpuShare: context.pid === undefined ? null : cpu.foreignCpuShare,
    foreignCpuLimit: context.foreignCpuLimit,
  });
  return {
    cell: {
      ...begun,
      metrics,
      memory,
      ...(memoryAbsent === undefined ? {} : { memoryAbsent }),
      cpu,
      interrupted: result.interrupted,
      ...judged,
    },
    rows: rowsOf(plan.concurrency, result.timelines),
    unreachable: false,
  };
}

function driveOptions(context: CellContext, plan: CellPlan): DriveOptions {
  const { baseUrl, identity, outputTokens, requestTimeoutMs, signal, onProgress } = context;
  const { concurrency, requests, warmUpRequests } = plan;
  return {
    ...{ concurrency, requests, warmUpRequests },
    baseUrl,
    model: identity.model.id,
    endpoint: 'completions',
    dialect: dialectOf(identity.kind),
    outputTokens,
    prompt: promptsOf(context, { concurrency: plan.concurrency, pair: plan.pair ?? 0 }),
    requestTimeoutMs,
    signal,
    onProgress,
  };
}

/** Prompts of a pair at a concurrency; each has a domain of its own. */
export function promptsOf(
  { identity, inputTokens, seed }: Pick<CellContext, 'identity' | 'inputTokens' | 'seed'>,
  domain: { concurrency: number; pair: number },
): DriveOptions['prompt'] {
  const draw = tokenPrompts(plainVocabulary(identity.model.vocabulary), inputTokens);
  return (index) => draw({ seed, ...domain, index });
}

/** Servers that do not tell their vocabulary have at least this many tokens in every family that we know. */
const UNKNOWN_VOCABULARY = 32_000;
/** Families keep their special tokens among the first ids or the last ones. */
const LEADING_IDS = 300;
const TRAILING_SHARE = 0.05;

/** The ids without those where special tokens lie; a tiny vocabulary is used whole. */
export function plainVocabulary(vocabulary: number | null) {
  const size = vocabulary ?? UNKNOWN_VOCABULARY;
  if (size < 8 * LEADING_IDS) return { size, excludedIds: [] };
  const kept = Math.floor(size * (1 - TRAILING_SHARE));
  return { size: kept, excludedIds: Array.from({ length: LEADING_IDS }, (_, id) => id) };
}

function firstMessages(result: DriveResult): Partial<Record<FailureCode, string>> {
  const first: Partial<Record<FailureCode, string>> = {};
  for (const { phase, failure } of result.timelines) {
    if (phase === 'measured' && failure !== undefined) first[failure.code] ??= failure.message;
  }
  return first;
}

type Begun = Pick<SweepCell, 'concurrency' | 'warmUpRequests' | 'startedUtc' | 'promptsSha256'>;

function unreachableCell(begun: Begun, error: unknown): CellOutcome {
  const code = (error as NodeJS.ErrnoException).code;
  // Our own mistakes are not the server's: they go on to whoever reports bugs.
  if (code === undefined || !/^(E[A-Z]+|UND_ERR_[A-Z_]+)$/.test(code)) throw error;
  const message = `The server could not be reached: ${(error as Error).message || code}.`;
  return {
    cell: {
      ...begun,
      metrics: null,
      memory: null,
      memoryAbsent: 'The cell did not begin.',
      cpu: null,
      interrupted: false,
      voids: [{ code: 'requests_failed', message }],
      warnings: [],
    },
    rows: [],
    unreachable: true,
  };
}
