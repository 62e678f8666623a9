// Timelines as rows of a record's per-request data: enough to compute every number again, without the texts. Pure.
import { createHash } from 'node:crypto';
import type { RequestTimeline } from '../client/timeline.ts';
import type { RequestRow } from '../record/record-parts.ts';

/** One row a request, in the order of issue. Stamps of content events are differences after the first. */
export function rowsOf(concurrency: number, timelines: readonly RequestTimeline[]): RequestRow[] {
  return timelines.map((timeline) => ({
    concurrency,
    index: timeline.index,
    slot: timeline.slot,
    phase: timeline.phase,
    intendedNs: timeline.intendedNs,
    sentNs: timeline.sentNs,
    headersNs: timeline.headersNs ?? null,
    firstEventNs: timeline.firstEventNs ?? null,
    contentNs: timeline.contentNs.map((stampNs, at, all) => stampNs - (all[at - 1] ?? 0)),
    contentTokens: timeline.contentTokens ?? null,
    doneNs: timeline.doneNs ?? null,
    closedNs: timeline.closedNs ?? null,
    promptTokens: timeline.promptTokens ?? null,
    outputTokens: timeline.outputTokens ?? null,
    cachedTokens: timeline.cachedTokens ?? null,
    finishReason: timeline.finishReason ?? null,
    tokensSha256: answerHash(timeline),
    ...(timeline.text === '' ? {} : { textSha256: sha256(timeline.text) }),
    reconnects: timeline.reconnects,
    failure: timeline.failure ?? null,
  }));
}

/** Equal exactly when the answers are equal: over the token ids, or the text where there are none. */
function answerHash({ tokenIds, text }: RequestTimeline): string | null {
  if (tokenIds === undefined && text === '') return null;
  const answer = tokenIds === undefined ? text : tokenIds.join(',');
  return sha256(answer);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
