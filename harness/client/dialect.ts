// Which optional request fields a make of server understands. A field that a server does not know is not sent to it,
// so that a strict server does not refuse the request. It says nothing about how to start a server.

/** 'openai' is any other server that speaks the API and promises nothing more. */
export type ServerKind = 'mxbench' | 'vllm' | 'sglang' | 'llama.cpp' | 'openai';

export interface Dialect {
  kind: ServerKind;
  /** `ignore_eos`: go on past the end-of-sequence token, so that every answer has the length asked for. */
  ignoreEos: boolean;
  /** `min_tokens`: the same from the other side. */
  minTokens: boolean;
  /** `stream_options.continuous_usage_stats`: each event says how many tokens were produced so far. */
  continuousUsage: boolean;
  /** `return_token_ids`: each event carries its token ids. */
  tokenIds: boolean;
  /** `cache_prompt: false`: do not answer from the slot's prefix cache. */
  cachePrompt: boolean;
  /** `prompt` may be an array of token ids. */
  promptTokenIds: boolean;
}

const OPENAI: Dialect = {
  kind: 'openai',
  ignoreEos: false,
  minTokens: false,
  continuousUsage: false,
  tokenIds: false,
  cachePrompt: false,
  promptTokenIds: true,
};

const DIALECTS: Readonly<Record<ServerKind, Dialect>> = {
  openai: OPENAI,
  mxbench: { ...OPENAI, kind: 'mxbench', ignoreEos: true, minTokens: true, tokenIds: true },
  vllm: { ...OPENAI, kind: 'vllm', ignoreEos: true, minTokens: true, tokenIds: true },
  sglang: { ...OPENAI, kind: 'sglang', ignoreEos: true, minTokens: true },
  'llama.cpp': { ...OPENAI, kind: 'llama.cpp', ignoreEos: true, cachePrompt: true },
};

/** The fields that this make of server understands; the caller may switch single ones. */
export function dialectOf(kind: ServerKind): Dialect {
  return { ...DIALECTS[kind] };
}
