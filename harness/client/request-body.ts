// The JSON bodies of completion and chat requests, with the optional fields that the server's dialect knows. Pure.
import type { Dialect } from './dialect.ts';
import type { Endpoint } from './openai-stream.ts';

export interface BodyOptions {
  model: string;
  endpoint: Endpoint;
  dialect: Dialect;
  outputTokens: number;
  /** True: ask the server to go on to exactly that length. */
  exactOutput: boolean;
  prompt: { tokenIds: readonly number[] } | { text: string };
}

/** The request path of an endpoint, to be appended to the base URL. */
export function pathOf(endpoint: Endpoint): string {
  return endpoint === 'chat' ? '/v1/chat/completions' : '/v1/completions';
}

/** Greedy, streamed, with usage. Throws a RangeError when a chat is asked for with token ids: no server takes that. */
export function requestBody(options: BodyOptions): Buffer {
  const { model, endpoint, dialect, outputTokens, exactOutput, prompt } = options;
  const body: Record<string, unknown> = { model };
  if (endpoint === 'completions') {
    body['prompt'] = 'text' in prompt ? prompt.text : prompt.tokenIds;
  } else if ('text' in prompt) {
    body['messages'] = [{ role: 'user', content: prompt.text }];
  } else {
    throw new RangeError('A chat request takes text, not token ids; use the completions endpoint.');
  }
  body['max_tokens'] = outputTokens;
  body['temperature'] = 0;
  body['stream'] = true;
  body['stream_options'] = dialect.continuousUsage
    ? { include_usage: true, continuous_usage_stats: true }
    : { include_usage: true };
  if (exactOutput && dialect.ignoreEos) body['ignore_eos'] = true;
  if (exactOutput && dialect.minTokens) body['min_tokens'] = outputTokens;
  if (dialect.tokenIds) body['return_token_ids'] = true;
  if (dialect.cachePrompt) body['cache_prompt'] = false;
  return Buffer.from(JSON.stringify(body));
}
