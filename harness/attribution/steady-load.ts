// Keeps a server at a steady concurrency for as long as the phases take: a short look at its pace first, so that enough
// requests are prepared, then one closed loop that is ended from outside. It judges nothing.
import type { ServerIdentity } from '../arms/identity.ts';
import { dialectOf } from '../client/dialect.ts';
import { HarnessError } from '../errors.ts';
import { type DriveOptions, type DriveResult, drive } from '../load/drive.ts';
import { tokenPrompts } from '../load/prompts.ts';
import { plainVocabulary } from '../sweep/cell.ts';

export interface LoadPlan {
  baseUrl: string;
  identity: ServerIdentity;
  concurrency: number;
  inputTokens: number;
  outputTokens: number;
  seed: number;
  requestTimeoutMs: number;
  /** How long the phases will take. */
  seconds: number;
  signal: AbortSignal;
}

/** Room for phases that take longer than planned, such as perf's start on a busy host. */
const MARGIN = 1.5;
const EXTRA_SECONDS = 20;
/** Bodies are made before the first request leaves: they may not fill the memory. */
const MAX_PREPARED_TOKENS = 40_000_000;

function driveOptions(
  plan: LoadPlan,
  pair: number,
): Omit<DriveOptions, 'warmUpRequests' | 'requests'> {
  const { identity, inputTokens, seed, concurrency } = plan;
  const draw = tokenPrompts(plainVocabulary(identity.model.vocabulary), inputTokens);
  return {
    baseUrl: plan.baseUrl,
    concurrency,
    model: identity.model.id,
    endpoint: 'completions',
    dialect: dialectOf(identity.kind),
    outputTokens: plan.outputTokens,
    prompt: (index) => draw({ seed, pair, concurrency, index }),
    requestTimeoutMs: plan.requestTimeoutMs,
    signal: plan.signal,
  };
}

/** Requests a second at this concurrency, by a first round; SERVER_WRONG when a request of it fails. */
async function pace(plan: LoadPlan): Promise<number> {
  const result = await drive({
    ...driveOptions(plan, 1),
    warmUpRequests: 0,
    requests: plan.concurrency,
  });
  if (plan.signal.aborted)
    throw new HarnessError('INTERRUPTED', 'Interrupted before the first phase.');
  const bad = result.timelines.find((t) => t.phase === 'measured' && t.failure !== undefined);
  if (bad?.failure)
    throw new HarnessError(
      'SERVER_WRONG',
      `A request of the first round failed. ${bad.failure.code}: ${bad.failure.message}`,
    );
  return plan.concurrency / Math.max(1e-3, (result.windowEndNs - result.windowStartNs) / 1e9);
}

export class SteadyLoad {
  readonly #end: AbortController;
  readonly #result: Promise<DriveResult>;
  #ended = false;

  private constructor(end: AbortController, result: Promise<DriveResult>) {
    this.#end = end;
    this.#result = result.finally(() => {
      this.#ended = true;
    });
    // Whoever stops the load sees the reason; until then a failure must not end the process.
    this.#result.catch(() => undefined);
  }

  /** Resolves when every slot has had its warm-up request and the load is steady. */
  static async start(plan: LoadPlan): Promise<SteadyLoad> {
    const rate = await pace(plan);
    const wanted = Math.ceil(rate * (plan.seconds * MARGIN + EXTRA_SECONDS)) + 4 * plan.concurrency;
    const most = Math.max(4 * plan.concurrency, Math.floor(MAX_PREPARED_TOKENS / plan.inputTokens));
    const end = new AbortController();
    const forward = () => end.abort();
    plan.signal.addEventListener('abort', forward, { once: true });
    let steady: () => void = () => undefined;
    const reached = new Promise<void>((resolve) => {
      steady = resolve;
    });
    const result = drive({
      ...driveOptions(plan, 2),
      signal: end.signal,
      warmUpRequests: plan.concurrency,
      requests: Math.min(wanted, most),
      onProgress: ({ finished }) => {
        if (finished >= plan.concurrency) steady();
      },
    });
    const load = new SteadyLoad(end, result);
    await Promise.race([reached, result]);
    return load;
  }

  /** The load ran out of requests, or broke, before it was stopped. */
  get ended(): boolean {
    return this.#ended;
  }

  async stop(): Promise<DriveResult> {
    const early = this.#ended;
    this.#end.abort();
    const result = await this.#result;
    if (early)
      throw new HarnessError(
        'SERVER_WRONG',
        `The load ended after ${result.timelines.length} requests, before the phases did`,
        { hint: 'Use more output tokens, or shorter phases.' },
      );
    return result;
  }
}
