// Is this request a success? Asked once, after the run, of what the stream left behind. Pure.
import type { RequestFailure, RequestTimeline } from './timeline.ts';

export interface Expectation {
  /** What usage.prompt_tokens must be; absent where the server's tokenizer decides. */
  promptTokens?: number;
  /** The length asked for. */
  outputTokens: number;
  /** True: exactly that many tokens and finish_reason "length". False: a natural stop is a success too. */
  exactOutput: boolean;
  /** True: cached_tokens above 0 is a failure. */
  requireColdCache: boolean;
}

/** The first rule that the timeline breaks, or undefined for a success. What the transport already found comes first. */
export function judge(
  timeline: RequestTimeline,
  expectation: Expectation,
): RequestFailure | undefined {
  return (
    timeline.failure ?? judgeStream(timeline, expectation) ?? judgeCounts(timeline, expectation)
  );
}

function judgeStream(t: RequestTimeline, expectation: Expectation): RequestFailure | undefined {
  if (t.doneNs === undefined) {
    return { code: 'truncated', message: 'The response ended without [DONE].' };
  }
  if (t.contentNs.length === 0) {
    return { code: 'no_content', message: 'The stream holds no event with content.' };
  }
  if (t.finishReason === undefined) {
    return { code: 'no_finish_reason', message: 'The stream ended without a finish_reason.' };
  }
  const natural = t.finishReason === 'stop' || t.finishReason === 'tool_calls';
  if (t.finishReason !== 'length' && (expectation.exactOutput || !natural)) {
    const wanted = expectation.exactOutput ? '"length"' : '"length" or "stop"';
    return {
      code: 'wrong_finish_reason',
      message: `finish_reason is ${JSON.stringify(t.finishReason)}, not ${wanted}; does the server honour ignore_eos?`,
    };
  }
  return undefined;
}

function judgeCounts(t: RequestTimeline, expectation: Expectation): RequestFailure | undefined {
  const { promptTokens, outputTokens, exactOutput, requireColdCache } = expectation;
  if (t.outputTokens === undefined || t.promptTokens === undefined) {
    return { code: 'no_usage', message: 'The stream carried no usage, so its tokens are unknown.' };
  }
  if (promptTokens !== undefined && t.promptTokens !== promptTokens) {
    return {
      code: 'prompt_length',
      message: `usage.prompt_tokens is ${t.promptTokens}; ${promptTokens} were sent.`,
    };
  }
  if (exactOutput ? t.outputTokens !== outputTokens : t.outputTokens > outputTokens) {
    return {
      code: 'output_length',
      message: `usage.completion_tokens is ${t.outputTokens}; ${outputTokens} were asked for.`,
    };
  }
  const counted = t.tokenIds?.length ?? t.contentTokens?.reduce((sum, n) => sum + n, 0);
  if (counted !== undefined && counted !== t.outputTokens) {
    return {
      code: 'token_count',
      message: `The events carry ${counted} tokens; usage says ${t.outputTokens}.`,
    };
  }
  if (requireColdCache && t.cachedTokens !== undefined && t.cachedTokens > 0) {
    return {
      code: 'cached_tokens',
      message: `${t.cachedTokens} prompt tokens came from the server's prefix cache.`,
    };
  }
  return undefined;
}
