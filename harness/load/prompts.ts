// Prompts from a seed, and nothing else: the same seed gives the same prompts on every machine. Pure.

/** What one request asks. Token ids are sent as they are; text goes through the server's tokenizer. */
export type Prompt =
  | { tokenIds: readonly number[] }
  | { text: string /** Where known: what usage.prompt_tokens must be. */; promptTokens?: number };
