// How wrong is this harness? Drives the emitter through the same code as every measurement, and holds each stamp against
// the moment that the emitter wrote into the token. Returns data; it prints nothing.
import { dialectOf } from '../client/dialect.ts';
import { requestBody } from '../client/request-body.ts';
import type { RequestTimeline } from '../client/timeline.ts';
import { type DriveResult, drive } from '../load/drive.ts';
import { tokenPrompts } from '../load/prompts.ts';
import { type Distribution, describe } from '../metrics/distribution.ts';
import { measureCell } from '../metrics/measure.ts';
import { bareClientCpuNs } from './bare-client.ts';
import { parseStamps } from './emission.ts';
import { EMITTER_MODEL } from './emitter.ts';
import { type EmitterProcess, startEmitterProcess } from './emitter-process.ts';
import type { EmitterStats } from './options.ts';
import { benchmarkParser, type ParserCost } from './parser-benchmark.ts';

export interface CalibrateOptions {
  concurrencies: readonly number[];
  /** Default 50, 10 and 100: the schedule with which other tools publish their errors. */
  ttftMs?: number;
  itlMs?: number;
  outputTokens?: number;
  /** Default 3 requests a slot, after one for warm-up. */
  requestsPerSlot?: number;
  signal: AbortSignal;
  onProgress?: (progress: { done: number; total: number; what: string }) => void;
}

interface CalibrationCell {
  concurrency: number;
  requests: number;
  failed: number;
  events: number;
  /** What a report would say; the schedule's values are the truth, apart from the emitter's own lateness. */
  ttftMeanMs: number;
  itlMeanMs: number;
  /** Measured minus true TTFT, where true is from the request's last byte at the emitter to its first token's writing. */
  ttftErrorMs: Distribution | null;
  ttftMeanAbsoluteErrorMs: number;
  /** Measured minus true gap. */
  itlErrorMs: Distribution | null;
  itlMeanAbsoluteErrorMs: number;
  tpotMeanAbsoluteErrorMs: number;
  e2elMeanAbsoluteErrorMs: number;
  /** Client stamp minus the emitter's writing, every event. */
  stampLagMs: Distribution | null;
  /** The emitter's, which is not the client's error. */
  emitterLatenessMs: { p50: number; p99: number; max: number };
  eventLoopDelayP99Ms: number;
  achievedConcurrency: number;
}

interface ClientCost {
  concurrency: number;
  requests: number;
  /** Difference of a long and a short run, so that what a request costs beside its tokens cancels. */
  cpuMicrosecondsPerToken: number;
  /** The same of sockets that are woken for every token and throw it away: what any client on this runtime pays. */
  bareMicrosecondsPerToken: number;
  shortTokens: number;
  longTokens: number;
}

export interface Calibration {
  schedule: { ttftMs: number; itlMs: number; outputTokens: number };
  cells: CalibrationCell[];
  cost: ClientCost;
  /** The emitter as fast as it can, one event a write: what this client can take. */
  capacity: { concurrency: number; tokensPerSecond: number; clientCpuShareOfCore: number };
  parser: ParserCost;
}

const COST_CONCURRENCY = 8;
const SHORT_TOKENS = 16;
const COST_REQUESTS = 32;
const CAPACITY_TOKENS = 4000;

/** Runs the whole calibration. Rejects when an emitter does not start or the signal is raised. */
export async function calibrate(options: CalibrateOptions): Promise<Calibration> {
  const { concurrencies, ttftMs = 50, itlMs = 10, outputTokens = 100, signal } = options;
  const total = concurrencies.length + 2;
  const tell = (done: number, what: string) => options.onProgress?.({ done, total, what });
  const cells: CalibrationCell[] = [];
  for (const [done, concurrency] of concurrencies.entries()) {
    tell(done, `stamps at c${concurrency}`);
    const requests = concurrency * (options.requestsPerSlot ?? 3);
    cells.push(
      await withEmitter({ ttftMs, itlMs }, async (emitter) => {
        const result = await runOnce(emitter, { concurrency, requests, outputTokens, signal });
        return compare(result, await emitter.stats());
      }),
    );
  }
  tell(cells.length, 'CPU per token');
  const cost = await withEmitter({ ttftMs, itlMs }, (emitter) =>
    measureCost(emitter, outputTokens + SHORT_TOKENS, signal),
  );
  tell(cells.length + 1, 'capacity');
  const capacity = await withEmitter({ ttftMs: 0, itlMs: 0 }, (emitter) =>
    measureCapacity(emitter, signal),
  );
  const parser = benchmarkParser();
  return { schedule: { ttftMs, itlMs, outputTokens }, cells, cost, capacity, parser };
}

/** Holds every stamp of the measured requests against the emitter's own. */
export function compare(result: DriveResult, stats: EmitterStats): CalibrationCell {
  const originNs = Number(result.originNs);
  const errors: Errors = { ttft: [], itl: [], tpot: [], e2el: [], lag: [] };
  for (const timeline of result.timelines) {
    if (timeline.phase === 'measured' && timeline.failure === undefined) {
      appendErrors(timeline, originNs, errors);
    }
  }
  const cell = measureCell(result);
  const { p50, p99, max } = stats.latenessNs;
  return {
    concurrency: result.concurrency,
    requests: cell.requests,
    failed: cell.failed,
    events: errors.lag.length,
    ttftMeanMs: cell.ttftMs?.mean ?? 0,
    itlMeanMs: cell.itlMs?.mean ?? 0,
    ttftErrorMs: describe(errors.ttft),
    ttftMeanAbsoluteErrorMs: meanAbsolute(errors.ttft),
    itlErrorMs: describe(errors.itl),
    itlMeanAbsoluteErrorMs: meanAbsolute(errors.itl),
    tpotMeanAbsoluteErrorMs: meanAbsolute(errors.tpot),
    e2elMeanAbsoluteErrorMs: meanAbsolute(errors.e2el),
    stampLagMs: describe(errors.lag),
    emitterLatenessMs: { p50: p50 / 1e6, p99: p99 / 1e6, max: max / 1e6 },
    eventLoopDelayP99Ms: cell.eventLoopDelayP99Ms,
    achievedConcurrency: cell.achievedConcurrency,
  };
}

interface Errors {
  ttft: number[];
  itl: number[];
  tpot: number[];
  e2el: number[];
  lag: number[];
}

function appendErrors(timeline: RequestTimeline, originNs: number, errors: Errors): void {
  const stamps = parseStamps(timeline.text);
  const { contentNs, sentNs } = timeline;
  const received = stamps?.[0]?.receivedNs;
  if (stamps?.length !== contentNs.length || received === undefined) {
    throw new Error(`Request ${timeline.index} does not carry the emitter's stamps.`);
  }
  const seen = contentNs;
  const truth = stamps.map(({ emittedNs }) => emittedNs - originNs);
  const at = (list: readonly number[], index: number) => list.at(index) ?? 0;
  const receivedNs = received - originNs;
  errors.ttft.push((at(seen, 0) - sentNs - (at(truth, 0) - receivedNs)) / 1e6);
  errors.e2el.push((at(seen, -1) - sentNs - (at(truth, -1) - receivedNs)) / 1e6);
  if (seen.length > 1) {
    const spanError = at(seen, -1) - at(seen, 0) - (at(truth, -1) - at(truth, 0));
    errors.tpot.push(spanError / (seen.length - 1) / 1e6);
  }
  for (const [index, stampNs] of seen.entries()) {
    errors.lag.push((stampNs - at(truth, index)) / 1e6);
    if (index === 0) continue;
    const gapError = stampNs - at(seen, index - 1) - (at(truth, index) - at(truth, index - 1));
    errors.itl.push(gapError / 1e6);
  }
}

function meanAbsolute(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + Math.abs(value), 0) / Math.max(1, values.length);
}

async function withEmitter<T>(
  schedule: { ttftMs: number; itlMs: number },
  use: (emitter: EmitterProcess) => Promise<T>,
): Promise<T> {
  const emitter = await startEmitterProcess(schedule);
  try {
    return await use(emitter);
  } finally {
    await emitter.stop();
  }
}

interface RunPlan {
  concurrency: number;
  requests: number;
  outputTokens: number;
  signal: AbortSignal;
}

async function runOnce(emitter: EmitterProcess, plan: RunPlan): Promise<DriveResult> {
  const { concurrency } = plan;
  const draw = tokenPrompts({ size: 32_000, excludedIds: [] }, 128);
  const result = await drive({
    ...plan,
    baseUrl: emitter.baseUrl,
    model: EMITTER_MODEL,
    endpoint: 'completions',
    dialect: dialectOf('mxbench'),
    warmUpRequests: concurrency,
    prompt: (index) => draw({ seed: 1, pair: 0, concurrency, index }),
    requestTimeoutMs: 120_000,
  });
  if (result.interrupted) throw new Error('The calibration was interrupted.');
  return result;
}

async function measureCost(
  emitter: EmitterProcess,
  longTokens: number,
  signal: AbortSignal,
): Promise<ClientCost> {
  const requests = COST_REQUESTS;
  const ours = async (outputTokens: number) => {
    const plan = { concurrency: COST_CONCURRENCY, requests, outputTokens, signal };
    const result = await runOnce(emitter, plan);
    const tokens = result.timelines.reduce((sum, { contentNs }) => sum + contentNs.length, 0);
    return { tokens, cpuNs: result.clientCpuNs };
  };
  const bare = async (outputTokens: number) => {
    const body = requestBody({
      model: EMITTER_MODEL,
      endpoint: 'completions',
      dialect: dialectOf('mxbench'),
      outputTokens,
      exactOutput: true,
      prompt: { tokenIds: [1] },
    });
    const cpuNs = await bareClientCpuNs(emitter.baseUrl, body, COST_CONCURRENCY, requests);
    return { tokens: requests * outputTokens, cpuNs };
  };
  return {
    concurrency: COST_CONCURRENCY,
    requests,
    cpuMicrosecondsPerToken: await costPerToken(ours, longTokens),
    bareMicrosecondsPerToken: await costPerToken(bare, longTokens),
    shortTokens: SHORT_TOKENS,
    longTokens,
  };
}

/** The difference of a long and a short run, after one run that compiles the code. */
async function costPerToken(
  run: (outputTokens: number) => Promise<{ tokens: number; cpuNs: number }>,
  longTokens: number,
): Promise<number> {
  await run(longTokens);
  const short = await run(SHORT_TOKENS);
  const long = await run(longTokens);
  return (long.cpuNs - short.cpuNs) / 1000 / (long.tokens - short.tokens);
}

async function measureCapacity(emitter: EmitterProcess, signal: AbortSignal) {
  const concurrency = COST_CONCURRENCY;
  const plan = { concurrency, requests: 2 * concurrency, outputTokens: CAPACITY_TOKENS, signal };
  const { outputTokensPerSecond, clientCpuShareOfCore } = measureCell(await runOnce(emitter, plan));
  return { concurrency, tokensPerSecond: outputTokensPerSecond, clientCpuShareOfCore };
}
