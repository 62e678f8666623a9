// POST /v1/completions: the request and both replies as schemas.
import { z } from 'zod';
import { MAX_TOP_LOGPROBS, optional, samplingFields } from './fields.ts';
import { isWellFormed } from './well-formed.ts';

export type PromptInput = string | string[] | number[] | number[][];

/** Prompts in one request. */
export const MAX_PROMPTS = 1024;

function isPrompt(value: unknown): value is PromptInput {
  if (typeof value === 'string') return isWellFormed(value);
  if (!Array.isArray(value)) return false;
  if (value.every(isTokenId)) return true;
  if (value.length > MAX_PROMPTS) return false;
  return value.every(
    (entry) =>
      (typeof entry === 'string' && isWellFormed(entry)) ||
      (Array.isArray(entry) && entry.every(isTokenId)),
  );
}

function isTokenId(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

const PROMPT_FORMS =
  'must be a string, a list of strings, a list of token ids, or a list of lists of token ids ' +
  `(at most ${MAX_PROMPTS} prompts)`;
const tokenList = { type: 'array', items: { type: 'integer', minimum: 0 } };
const promptField = z.custom<PromptInput>(isPrompt, { error: PROMPT_FORMS }).meta({
  anyOf: [
    { type: 'string' },
    { type: 'array', items: { type: 'string' }, maxItems: MAX_PROMPTS },
    tokenList,
    { type: 'array', items: tokenList, maxItems: MAX_PROMPTS },
  ],
});

export const completionRequest = z.object({
  ...samplingFields,
  prompt: promptField,
  max_tokens: optional(z.int().min(0)),
  echo: optional(z.boolean()),
  logprobs: optional(z.int().min(-1).max(MAX_TOP_LOGPROBS)),
  suffix: optional(z.string()),
  prompt_embeds: optional(z.unknown()),
});
export type CompletionRequest = z.infer<typeof completionRequest>;

export const usageSchema = z.object({
  prompt_tokens: z.int().min(0),
  completion_tokens: z.int().min(0),
  total_tokens: z.int().min(0),
  prompt_tokens_details: z.object({ cached_tokens: z.int().min(0) }),
});
export type Usage = z.infer<typeof usageSchema>;

export const finishReason = z.enum(['stop', 'length', 'tool_calls']);
export type FinishReason = z.infer<typeof finishReason>;
export const stopReason = z.union([z.string(), z.int()]).nullable();

export const completionLogprobs = z.object({
  tokens: z.array(z.string()),
  token_logprobs: z.array(z.number().nullable()),
  top_logprobs: z.array(z.record(z.string(), z.number()).nullable()),
  text_offset: z.array(z.int().min(0)),
});
export type CompletionLogprobs = z.infer<typeof completionLogprobs>;

const choiceFields = {
  index: z.int().min(0),
  text: z.string(),
  logprobs: completionLogprobs.nullable(),
  stop_reason: stopReason,
  token_ids: z.array(z.int()).optional(),
  prompt_token_ids: z.array(z.int()).optional(),
  prompt_logprobs: z.array(z.unknown()).nullable().optional(),
};
const head = {
  id: z.string(),
  object: z.literal('text_completion'),
  created: z.int(),
  model: z.string(),
};

export const completionReply = z.object({
  ...head,
  choices: z.array(z.object({ ...choiceFields, finish_reason: finishReason })),
  usage: usageSchema,
});
export const completionChunk = z.object({
  ...head,
  choices: z.array(z.object({ ...choiceFields, finish_reason: finishReason.nullable() })),
  usage: usageSchema.nullable().optional(),
});
