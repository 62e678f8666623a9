// POST /tokenize and /detokenize in vLLM's form.
import { z } from 'zod';
import { templateFields } from './chat.ts';
import { optional, text } from './fields.ts';

/** Either a prompt or the messages of a chat. */
export const tokenizeRequest = z.object({
  model: optional(z.string()),
  prompt: optional(text),
  ...templateFields,
  messages: optional(templateFields.messages),
  add_special_tokens: optional(z.boolean()),
  return_token_strs: optional(z.boolean()),
});

export type TokenizeRequest = z.infer<typeof tokenizeRequest>;

export const tokenizeReply = z.object({
  count: z.int().min(0),
  max_model_len: z.int().min(1),
  tokens: z.array(z.int().min(0)),
  token_strs: z.array(z.string()).nullable(),
});

export const detokenizeRequest = z.object({
  model: optional(z.string()),
  tokens: z.array(z.int().min(0)),
});

export const detokenizeReply = z.object({ prompt: z.string() });
