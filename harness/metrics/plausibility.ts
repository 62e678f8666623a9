// Bounds that true numbers keep. A cell that breaks one is not corrected: it says so, and a person or a gate decides. Pure.
import type { RequestTimeline } from '../client/timeline.ts';
import type { Distribution } from './distribution.ts';

const IMPLAUSIBLE_CODES = [
  'faster_than_possible', // the throughput exceeds what the ITL and the concurrency allow
  'more_events_than_tokens', // a stream held more content events than the tokens that usage reports
  'burst_delivery', // most gaps are near zero: tokens were produced one by one and delivered in bursts
  'concurrency_not_held', // the window was not spent at the concurrency that its name says
  'client_saturated', // the client was so busy that it measured itself
] as const;

export interface Implausibility {
  code: (typeof IMPLAUSIBLE_CODES)[number];
  /** One sentence with the values. */
  message: string;
}

/** What of a cell is looked at. */
export interface CellFacts {
  loop: 'closed' | 'open';
  concurrency: number;
  requests: number;
  peakInFlight: number;
  shareAtConcurrency: number;
  outputTokensPerSecond: number;
  tpotMs: Distribution | null;
  itlMs: Distribution | null;
  clientCpuShareOfCore: number;
  eventLoopDelayP99Ms: number;
}

/** No server sends the content events of one stream in earnest less than this far apart. */
const BURST_GAP_MS = 0.02;
const MIN_SHARE_AT_CONCURRENCY = 0.9;
const MAX_CLIENT_CPU_SHARE = 0.7;
const MIN_LOOP_DELAY_BOUND_MS = 2;

/** What of this cell cannot be true, or cannot be trusted. */
export function implausibilities(
  cell: CellFacts,
  succeeded: readonly RequestTimeline[],
): Implausibility[] {
  const found: Implausibility[] = [];
  const add = (code: Implausibility['code'], message: string) => found.push({ code, message });

  const tpot = cell.tpotMs?.mean;
  const ceiling = tpot ? (cell.peakInFlight * 1000) / tpot : undefined;
  if (ceiling !== undefined && cell.outputTokensPerSecond > 1.05 * ceiling) {
    add(
      'faster_than_possible',
      `${cell.outputTokensPerSecond.toFixed(1)} output tokens/s, but ${cell.peakInFlight} in flight at a mean TPOT of ` +
        `${(tpot ?? 0).toFixed(3)} ms cannot give more than ${ceiling.toFixed(1)}.`,
    );
  }
  const odd = succeeded.find((t) => t.contentNs.length > (t.outputTokens ?? 0));
  if (odd !== undefined) {
    add(
      'more_events_than_tokens',
      `Request ${odd.index} holds ${odd.contentNs.length} content events, but usage reports ${odd.outputTokens} tokens.`,
    );
  }
  if (cell.itlMs !== null && cell.itlMs.n > 10 && cell.itlMs.p50 < BURST_GAP_MS) {
    add(
      'burst_delivery',
      `The median gap between content events is ${cell.itlMs.p50.toFixed(4)} ms: tokens arrive in bursts.`,
    );
  }
  if (
    cell.loop === 'closed' &&
    cell.requests > 0 &&
    cell.shareAtConcurrency < MIN_SHARE_AT_CONCURRENCY
  ) {
    add(
      'concurrency_not_held',
      `${(cell.shareAtConcurrency * 100).toFixed(1)} % of the window had exactly ${cell.concurrency} requests in flight.`,
    );
  }
  const delayBound = Math.max(MIN_LOOP_DELAY_BOUND_MS, 0.1 * (cell.itlMs?.p50 ?? 0));
  if (cell.clientCpuShareOfCore > MAX_CLIENT_CPU_SHARE || cell.eventLoopDelayP99Ms > delayBound) {
    add(
      'client_saturated',
      `The client used ${(cell.clientCpuShareOfCore * 100).toFixed(0)} % of a core, and its event loop was late by ` +
        `${cell.eventLoopDelayP99Ms.toFixed(2)} ms (p99; the bound is ${delayBound.toFixed(2)} ms).`,
    );
  }
  return found;
}
