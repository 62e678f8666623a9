// Turns the fields of a request into what the engine takes, checking everything that needs the model to be known: ids
// below the vocabulary, lengths, policies. What passes here cannot hurt the engine.
import { randomBytes } from 'node:crypto';
import { ServerError } from '../errors.ts';
import type { SamplingFields } from '../protocol/fields.ts';
import type { LogitRules, SamplingSpec } from '../scheduler/sequence.ts';
import type { ServedModel } from './served-model.ts';

/** Below this a temperature only amplifies rounding; it is taken as greedy, as vLLM does. */
const GREEDY_BELOW = 1e-5;

/** 64 bits that make the draws of choice `index` of a request. */
export function seedOf(
  seed: number | undefined,
  index: number,
): Pick<SamplingSpec, 'seedLow' | 'seedHigh'> {
  const bits = seed === undefined ? randomBytes(8).readBigUInt64LE() : BigInt(seed) + BigInt(index);
  const unsigned = BigInt.asUintN(64, bits);
  return { seedLow: Number(unsigned & 0xffffffffn), seedHigh: Number(unsigned >> 32n) };
}

/** The sampling of choice `index`. */
export function samplingOf(fields: SamplingFields, index: number): SamplingSpec {
  const temperature = fields.temperature ?? 1;
  return {
    temperature: temperature < GREEDY_BELOW ? 0 : temperature,
    topK: Math.min(Math.max(fields.top_k ?? 0, 0), 0x7fffffff),
    topP: fields.top_p ?? 1,
    minP: fields.min_p ?? 0,
    ...seedOf(fields.seed, index),
  };
}

/** Throws invalid_request unless every id exists in the model. */
export function checkIds(ids: Iterable<number>, vocabulary: number, param: string): void {
  for (const id of ids) {
    if (id < vocabulary) continue;
    const message = `Invalid ${param}: token id ${id} is not below the vocabulary size ${vocabulary}.`;
    throw new ServerError('invalid_request', message, { param });
  }
}

function biasOf(bias: Record<string, number>, vocabulary: number): [number, number][] {
  return Object.entries(bias).map(([key, value]) => {
    const id = Number(key);
    if (/^\d{1,10}$/.test(key) && id < vocabulary) return [id, value];
    const message = `Invalid logit_bias: ${JSON.stringify(key.slice(0, 40))} is not a token id below ${vocabulary}.`;
    throw new ServerError('invalid_request', message, { param: 'logit_bias' });
  });
}

/** The changes to logits that the request asks for; undefined when it asks for none. */
export function logitRulesOf(fields: SamplingFields, model: ServedModel): LogitRules | undefined {
  const bias = biasOf(fields.logit_bias ?? {}, model.vocabulary);
  const allowed = fields.allowed_token_ids ?? [];
  checkIds(allowed, model.vocabulary, 'allowed_token_ids');
  const badWords = (fields.bad_words ?? []).flatMap((word) => wordForms(word, model));
  const rules: LogitRules = {
    repetitionPenalty: fields.repetition_penalty ?? 1,
    frequencyPenalty: fields.frequency_penalty ?? 0,
    presencePenalty: fields.presence_penalty ?? 0,
    biasIds: Int32Array.from(bias, ([id]) => id),
    biasValues: Float32Array.from(bias, ([, value]) => value),
    allowedIds: Int32Array.from(new Set(allowed)),
    badWords,
  };
  const penalised =
    rules.repetitionPenalty !== 1 || rules.frequencyPenalty !== 0 || rules.presencePenalty !== 0;
  const changed = bias.length > 0 || allowed.length > 0 || badWords.length > 0;
  return penalised || changed ? rules : undefined;
}

/** A word at the start of a text and after a space is different tokens; both are forbidden. */
function wordForms(word: string, { tokenizer }: ServedModel): Int32Array[] {
  const forms = new Set([word, ` ${word.trimStart()}`]);
  return [...forms]
    .map((form) => Int32Array.from(tokenizer.encode(form, { addSpecialTokens: false })))
    .filter(({ length }) => length > 0);
}

/** Refuses what no part of the server implements; silence would change the meaning of the request. */
export function refuseUnsupported(fields: SamplingFields): void {
  const refuse = (param: string, why: string): never => {
    throw new ServerError('unsupported', `${param} is not supported: ${why}.`, { param });
  };
  if (fields.use_beam_search) refuse('use_beam_search', 'only sampling and greedy search are');
  if ((fields.best_of ?? 1) > (fields.n ?? 1)) {
    refuse('best_of', 'every choice that is generated is returned, so it may not exceed n');
  }
  if (fields.stream_options && !fields.stream) {
    const message = 'Invalid stream_options: they are only allowed together with "stream": true.';
    throw new ServerError('invalid_request', message, { param: 'stream_options' });
  }
}
