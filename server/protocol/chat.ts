// POST /v1/chat/completions: the request and both replies as schemas.
import { z } from 'zod';
import { finishReason, stopReason, usageSchema } from './completions.ts';
import { MAX_TOP_LOGPROBS, optional, samplingFields, text } from './fields.ts';

const MAX_MESSAGES = 4096;
const MAX_TOOLS = 256;

const textPart = z.object({ type: z.literal('text'), text });
const content = z.union([text, z.array(textPart)], {
  error: 'must be text or a list of parts of type "text"; this server takes no other kind',
});

const toolCall = z.object({
  id: optional(z.string()),
  type: optional(z.literal('function')),
  function: z.object({ name: z.string(), arguments: optional(z.string()) }),
});

export const chatMessage = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: optional(content),
  name: optional(z.string()),
  tool_calls: optional(z.array(toolCall)),
  tool_call_id: optional(z.string()),
  reasoning: optional(text),
  reasoning_content: optional(text),
});
export type ChatMessage = z.infer<typeof chatMessage>;

export const tool = z.object({
  type: z.literal('function'),
  function: z.object({
    name: z.string().min(1).max(256),
    description: optional(z.string()),
    parameters: optional(z.record(z.string(), z.unknown())),
    strict: optional(z.boolean()),
  }),
});
export type Tool = z.infer<typeof tool>;

const toolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) }),
]);

/** What a chat template sees; /tokenize takes it too. */
export const templateFields = {
  messages: z.array(chatMessage).min(1).max(MAX_MESSAGES),
  tools: optional(z.array(tool).min(1).max(MAX_TOOLS)),
  add_generation_prompt: optional(z.boolean()),
  continue_final_message: optional(z.boolean()),
  chat_template: optional(z.unknown()),
  chat_template_kwargs: optional(z.record(z.string(), z.unknown())),
  documents: optional(z.array(z.record(z.string(), z.unknown()))),
};

export const chatRequest = z.object({
  ...samplingFields,
  ...templateFields,
  max_tokens: optional(z.int().min(1)),
  max_completion_tokens: optional(z.int().min(1)),
  logprobs: optional(z.boolean()),
  top_logprobs: optional(z.int().min(-1).max(MAX_TOP_LOGPROBS)),
  tool_choice: optional(toolChoice),
  parallel_tool_calls: optional(z.boolean()),
  reasoning_effort: optional(z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])),
  include_reasoning: optional(z.boolean()),
  echo: optional(z.boolean()),
});
export type ChatRequest = z.infer<typeof chatRequest>;

const topLogprob = z.object({ token: z.string(), logprob: z.number(), bytes: z.array(z.int()) });
export const chatLogprobs = z.object({
  content: z.array(topLogprob.extend({ top_logprobs: z.array(topLogprob) })),
});
export type ChatLogprobs = z.infer<typeof chatLogprobs>;

const replyCall = z.object({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
});
const head = { id: z.string(), created: z.int(), model: z.string() };
const ids = { token_ids: z.array(z.int()).optional() };

export const chatReply = z.object({
  ...head,
  object: z.literal('chat.completion'),
  choices: z.array(
    z.object({
      index: z.int().min(0),
      message: z.object({
        role: z.literal('assistant'),
        content: z.string().nullable(),
        reasoning: z.string().nullable(),
        reasoning_content: z.string().nullable(),
        refusal: z.null(),
        tool_calls: z.array(replyCall),
      }),
      logprobs: chatLogprobs.nullable(),
      finish_reason: finishReason,
      stop_reason: stopReason,
      ...ids,
    }),
  ),
  usage: usageSchema,
  prompt_token_ids: z.array(z.int()).optional(),
});

export const chatChunk = z.object({
  ...head,
  object: z.literal('chat.completion.chunk'),
  choices: z.array(
    z.object({
      index: z.int().min(0),
      delta: z.object({
        role: z.literal('assistant').optional(),
        content: z.string().optional(),
        reasoning: z.string().optional(),
        reasoning_content: z.string().optional(),
        tool_calls: z.array(replyCall.extend({ index: z.int().min(0) })).optional(),
      }),
      logprobs: chatLogprobs.nullable(),
      finish_reason: finishReason.nullable(),
      stop_reason: stopReason,
      ...ids,
    }),
  ),
  usage: usageSchema.nullable().optional(),
  prompt_token_ids: z.array(z.int()).optional(),
});
