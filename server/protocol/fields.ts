// Request fields that completions and chat share, with their bounds. Unknown fields are dropped without complaint and
// null means absent, because common clients send both.
import { z } from 'zod';
import { isWellFormed } from './well-formed.ts';

/** An optional field for which null means absent. */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? undefined);
}

/** Text without lone surrogates. */
export const text = z.string().refine(isWellFormed, {
  error: 'must be valid Unicode text (it holds half of a surrogate pair)',
});

export const MAX_STOP_STRINGS = 64;
export const MAX_TOP_LOGPROBS = 20;
export const MAX_CHOICES = 128;

const tokenIds = z.array(z.int().min(0)).max(65_536);
const stopString = text.refine((stop) => stop.length > 0 && stop.length <= 4096, {
  error: 'must hold 1 to 4096 characters',
});

export const stopField = z.union([stopString, z.array(stopString).max(MAX_STOP_STRINGS)], {
  error: `must be a non-empty string or a list of at most ${MAX_STOP_STRINGS} such strings`,
});

export const streamOptions = z.object({
  include_usage: optional(z.boolean()),
  continuous_usage_stats: optional(z.boolean()),
});

export const jsonSchemaFormat = z.object({ schema: z.record(z.string(), z.unknown()) });
export const responseFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({ type: z.literal('json_schema'), json_schema: jsonSchemaFormat }),
]);

export const structuredOutputs = z.object({
  regex: optional(z.string().max(65_536)),
  choice: optional(z.array(text.min(1)).min(1).max(4096)),
  json: optional(z.unknown()),
  grammar: optional(z.unknown()),
});

const cacheSalt = z
  .string()
  .min(1)
  .max(128)
  .refine((salt) => !/[@/\\\0]/.test(salt), { error: 'must not hold any of @ / \\ and NUL' });

/** Fields with the same meaning in both generation endpoints. */
export const samplingFields = {
  model: optional(z.string()),
  stream: optional(z.boolean()),
  stream_options: optional(streamOptions),
  n: optional(z.int().min(1).max(MAX_CHOICES)),
  best_of: optional(z.int().min(0).max(20)),
  seed: optional(
    z.number().refine((seed) => Number.isInteger(seed) && Math.abs(seed) <= 2 ** 63, {
      error: 'must be a whole number of at most 64 bits',
    }),
  ),
  temperature: optional(z.number().min(0)),
  top_p: optional(z.number().gt(0).max(1)),
  top_k: optional(z.int().min(-1)),
  min_p: optional(z.number().min(0).max(1)),
  repetition_penalty: optional(z.number().gt(0).max(1e6)),
  frequency_penalty: optional(z.number().min(-2).max(2)),
  presence_penalty: optional(z.number().min(-2).max(2)),
  logit_bias: optional(z.record(z.string(), z.number().min(-100).max(100))),
  allowed_token_ids: optional(tokenIds.min(1)),
  bad_words: optional(z.array(text.min(1)).max(1024)),
  stop: optional(stopField),
  stop_token_ids: optional(tokenIds.max(1024)),
  include_stop_str_in_output: optional(z.boolean()),
  ignore_eos: optional(z.boolean()),
  min_tokens: optional(z.int().min(0)),
  skip_special_tokens: optional(z.boolean()),
  spaces_between_special_tokens: optional(z.boolean()),
  add_special_tokens: optional(z.boolean()),
  truncate_prompt_tokens: optional(z.int().min(-1)),
  prompt_logprobs: optional(z.int().min(-1).max(MAX_TOP_LOGPROBS)),
  return_token_ids: optional(z.boolean()),
  return_tokens_as_token_ids: optional(z.boolean()),
  priority: optional(z.int()),
  cache_salt: optional(cacheSalt),
  response_format: optional(responseFormat),
  structured_outputs: optional(structuredOutputs),
  use_beam_search: optional(z.boolean()),
};

const samplingSchema = z.object(samplingFields);
export type SamplingFields = z.infer<typeof samplingSchema>;
