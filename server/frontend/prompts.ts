// From the prompt of a request to token ids that the engine can take: tokenised, truncated where that was asked for,
// never empty, never too long, every id below the vocabulary.
import { ServerError } from '../errors.ts';
import type { PromptInput } from '../protocol/completions.ts';
import { checkIds } from './sampling.ts';
import type { ServedModel } from './served-model.ts';

export interface Prompt {
  ids: Int32Array;
  /** The text as it was sent; undefined for token ids. */
  text: string | undefined;
}

export interface PromptOptions {
  addSpecialTokens: boolean;
  /** Keep at most this many tokens, the last ones; -1 is as many as fit, undefined refuses long prompts. */
  truncateTo: number | undefined;
  maxModelLength: number;
}

/** The prompts of a request in order; ServerError says which one is wrong and why. */
export async function readPrompts(
  input: PromptInput,
  model: ServedModel,
  options: PromptOptions,
): Promise<Prompt[]> {
  const prompts: Prompt[] = [];
  for (const prompt of separate(input)) prompts.push(await readPrompt(prompt, model, options));
  return prompts;
}

function separate(input: PromptInput): (string | number[])[] {
  if (typeof input === 'string') return [input];
  if (input.length === 0) throw emptyPrompt();
  return isTokenIds(input) ? [input] : input;
}

function isTokenIds(input: string[] | number[] | number[][]): input is number[] {
  return typeof input[0] === 'number';
}

/** One prompt, as text or as token ids. */
export async function readPrompt(
  prompt: string | readonly number[],
  model: ServedModel,
  options: PromptOptions,
): Promise<Prompt> {
  const text = typeof prompt === 'string' ? prompt : undefined;
  const ids = typeof prompt === 'string' ? await encode(prompt, model, options) : prompt;
  const kept = truncate(ids, options);
  if (kept.length === 0) throw emptyPrompt();
  if (kept.length >= options.maxModelLength) throw tooLong(`${kept.length} tokens`, options);
  checkIds(kept, model.vocabulary, 'prompt');
  return { ids: Int32Array.from(kept), text };
}

function truncate(
  ids: readonly number[] | Int32Array,
  options: PromptOptions,
): readonly number[] | Int32Array {
  if (options.truncateTo === undefined) return ids;
  const most = options.truncateTo < 0 ? options.maxModelLength - 1 : options.truncateTo;
  return most === 0 ? [] : ids.slice(-most);
}

async function encode(
  text: string,
  model: ServedModel,
  options: PromptOptions,
): Promise<readonly number[] | Int32Array> {
  if (text === '') throw emptyPrompt();
  const { addSpecialTokens, truncateTo, maxModelLength } = options;
  const mostTokens = truncateTo === undefined ? maxModelLength : undefined;
  const ids = await model.encoder.encode(text, { addSpecialTokens, mostTokens });
  if (!ids) throw tooLong(`${text.length} characters`, options);
  return ids;
}

function emptyPrompt(): ServerError {
  const message = 'Invalid prompt: it is empty; send at least one token.';
  return new ServerError('invalid_request', message, { param: 'prompt' });
}

function tooLong(length: string, { maxModelLength }: PromptOptions): ServerError {
  const message = `Invalid prompt: it has ${length}, but this model's context of ${maxModelLength} tokens leaves room for at most ${maxModelLength - 1}; shorten it.`;
  return new ServerError('context_length_exceeded', message, { param: 'prompt' });
}

/** The tokens that may be generated: what was asked, or what the context leaves. */
export function outputLimit(
  asked: number | undefined,
  promptTokens: number,
  maxModelLength: number,
  param: string,
): number {
  const room = maxModelLength - promptTokens;
  if (asked === undefined) return room;
  if (asked <= room) return asked;
  const message = `Invalid ${param}: ${asked} tokens after a prompt of ${promptTokens} exceed the context of ${maxModelLength}; ask for at most ${room}.`;
  throw new ServerError('context_length_exceeded', message, { param });
}
