// May this cell be quoted? Turns what went wrong into void codes, and what a reader should know into warnings. Pure; it
// never looks at whether the numbers are good or bad.
import type { FailureCode } from '../client/timeline.ts';
import type { CellMetrics } from '../metrics/measure.ts';
import type { VoidCode } from '../parity/void-codes.ts';

export interface Notice<Code extends string = string> {
  code: Code;
  message: string;
}

export interface CellFacts {
  metrics: CellMetrics;
  /** First failure message of each code. */
  failureMessages: Partial<Record<FailureCode, string>>;
  /** 0 to 1; null when it is not known. */
  foreignCpuShare: number | null;
  foreignCpuLimit: number;
}

export interface CellJudgement {
  voids: Notice<VoidCode>[];
  warnings: Notice[];
}

const LENGTH_FAILURES: readonly FailureCode[] = [
  'prompt_length',
  'output_length',
  'token_count',
  'wrong_finish_reason',
];
/** Above this a dedicated machine would be void; on a shared one it is said beside the numbers. */
const QUIET_FOREIGN_SHARE = 0.05;
/** Below so many requests a median moves with every single one. */
const FEW_REQUESTS = 5;

const IMPLAUSIBLE_VOIDS: Readonly<Partial<Record<string, VoidCode>>> = {
  faster_than_possible: 'value_unusable',
  more_events_than_tokens: 'value_unusable',
  concurrency_not_held: 'concurrency_not_reached',
  client_saturated: 'client_saturated',
};

/** Void codes and warnings of a cell; an interrupted cell is judged on what ended by itself. */
export function judgeCell(facts: CellFacts): CellJudgement {
  const voids = [...failureVoids(facts)];
  const warnings: Notice[] = [];
  const { metrics, foreignCpuShare, foreignCpuLimit } = facts;
  for (const { code, message } of metrics.implausible) {
    if (code === 'client_saturated' && !isClientInTheNumbers(metrics)) {
      warnings.push({ code: 'client_late', message });
      continue;
    }
    const voided = IMPLAUSIBLE_VOIDS[code];
    // An interrupted loop runs empty, which is no fault of the server.
    if (metrics.interrupted && voided === 'concurrency_not_reached') continue;
    if (voided === undefined) warnings.push({ code, message });
    else voids.push({ code: voided, message });
  }
  if (foreignCpuShare !== null && foreignCpuShare > QUIET_FOREIGN_SHARE) {
    const percent = (foreignCpuShare * 100).toFixed(1);
    const message = `Other programs used ${percent} % of this machine's CPU.`;
    if (foreignCpuShare > foreignCpuLimit) voids.push({ code: 'contended', message });
    else warnings.push({ code: 'not_quiet', message });
  }
  if (metrics.succeeded > 0 && metrics.succeeded < FEW_REQUESTS) {
    warnings.push({ code: 'few_requests', message: `Only ${metrics.succeeded} requests count.` });
  }
  if ((metrics.tokensPerEvent ?? 1) > 1.01) {
    const tokens = (metrics.tokensPerEvent ?? 1).toFixed(2);
    warnings.push({
      code: 'several_tokens_an_event',
      message: `Events carry ${tokens} tokens on average, so the ITL is not that of a token.`,
    });
  }
  return { voids, warnings };
}

type ClientFacts = Pick<
  CellMetrics,
  | 'eventLoopDelayP99Ms'
  | 'clientCpuShareOfCore'
  | 'succeeded'
  | 'outputTokens'
  | 'ttftMs'
  | 'tpotMs'
>;

/** A busier client delays its own reads at any moment, not only when it must wait for a core. */
const MOST_CLIENT_CPU = 0.7;
/** Share of a quoted figure that lateness may reach. */
const MATERIAL_SHARE = 0.1;

/**
 * Where client and server share cores, the client's reads wait for the server's threads. That voids a cell when it reaches a
 * tenth of a figure that is quoted: TTFT takes a late read whole, TPOT divided by the gaps of a request.
 */
export function isClientInTheNumbers(metrics: ClientFacts): boolean {
  const lateMs = metrics.eventLoopDelayP99Ms;
  const tokens = metrics.succeeded > 0 ? metrics.outputTokens / metrics.succeeded : 0;
  const gaps = Math.max(1, tokens - 1);
  const ttftMs = metrics.ttftMs?.p50 ?? 0;
  const tpotMs = metrics.tpotMs?.mean;
  return (
    metrics.clientCpuShareOfCore > MOST_CLIENT_CPU ||
    lateMs > MATERIAL_SHARE * ttftMs ||
    (tpotMs !== undefined && lateMs / gaps > MATERIAL_SHARE * tpotMs)
  );
}

function* failureVoids({ metrics, failureMessages }: CellFacts): Generator<Notice<VoidCode>> {
  const grouped = new Map<VoidCode, FailureCode[]>();
  for (const code of Object.keys(metrics.failuresByCode) as FailureCode[]) {
    if (metrics.interrupted && code === 'aborted') continue;
    const voided = voidOfFailure(code);
    grouped.set(voided, [...(grouped.get(voided) ?? []), code]);
  }
  for (const [code, failures] of grouped) {
    const count = failures.reduce(
      (sum, failure) => sum + (metrics.failuresByCode[failure] ?? 0),
      0,
    );
    const first = failures.map((failure) => failureMessages[failure]).find((message) => message);
    yield {
      code,
      message:
        `${count} of ${metrics.requests} requests: ${failures.join(', ')}. ${first ?? ''}`.trim(),
    };
  }
}

function voidOfFailure(code: FailureCode): VoidCode {
  if (LENGTH_FAILURES.includes(code)) return 'length_mismatch';
  return code === 'cached_tokens' ? 'cache_mismatch' : 'requests_failed';
}
