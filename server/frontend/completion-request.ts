// What a /v1/completions body asks of the engine: prompts as token ids, bounds, sampling, stops. All checks that can
// refuse a request happen here, before anything is queued.
import { ServerError } from '../errors.ts';
import type { CompletionRequest } from '../protocol/completions.ts';
import type { SamplingFields } from '../protocol/fields.ts';
import type { GrammarTables } from '../scheduler/sequence.ts';
import { constraintOf } from './constraint.ts';
import type { EngineDescription } from './engine-client.ts';
import type { GenerationRequest } from './generation.ts';
import { outputLimit, type Prompt, readPrompts } from './prompts.ts';
import { checkIds, logitRulesOf, refuseUnsupported, samplingOf } from './sampling.ts';
import type { ServedModel } from './served-model.ts';

/** OpenAI's default for completions. */
const DEFAULT_MAX_TOKENS = 16;

export interface Target {
  model: ServedModel;
  engine: EngineDescription;
}

/** The generation that the body asks for; ServerError when it cannot be done as asked. */
export async function completionGeneration(
  body: CompletionRequest,
  target: Target,
): Promise<GenerationRequest> {
  checkModel(body.model, target.model);
  refuseUnsupported(body);
  refuseCompletionFields(body);
  const prompts = await readPrompts(body.prompt, target.model, {
    addSpecialTokens: body.add_special_tokens ?? true,
    truncateTo: body.truncate_prompt_tokens,
    maxModelLength: target.engine.maxModelLength,
  });
  const promptLogprobs = body.prompt_logprobs ?? (body.echo ? body.logprobs : undefined);
  return generationOf(body, target, {
    prompts,
    maxTokens: body.max_tokens ?? defaultMaxTokens(prompts, target.engine),
    maxTokensParam: 'max_tokens',
    logprobs: body.logprobs,
    promptLogprobs,
  });
}

function defaultMaxTokens(prompts: readonly Prompt[], engine: EngineDescription): number {
  const longest = prompts.reduce((most, { ids }) => Math.max(most, ids.length), 0);
  return Math.min(DEFAULT_MAX_TOKENS, engine.maxModelLength - longest);
}

/** Throws model_not_found unless the name is one of the model's; no name is fine. */
export function checkModel(name: string | undefined, model: ServedModel): void {
  if (name === undefined || name === '' || model.names.includes(name)) return;
  const shown = JSON.stringify(name.slice(0, 200));
  const message = `The model ${shown} is not served here; use ${JSON.stringify(model.name)}.`;
  throw new ServerError('model_not_found', message, { param: 'model' });
}

function refuseCompletionFields(body: CompletionRequest): void {
  if (body.suffix) {
    throw new ServerError(
      'unsupported',
      'suffix is not supported: only text after the prompt is generated.',
      {
        param: 'suffix',
      },
    );
  }
  if (body.prompt_embeds !== undefined) {
    throw new ServerError(
      'unsupported',
      'prompt_embeds is not supported: send text or token ids.',
      {
        param: 'prompt_embeds',
      },
    );
  }
  if (body.stream && body.prompt_logprobs !== undefined) {
    const message = 'Invalid prompt_logprobs: they are only sent in a reply that is not streamed.';
    throw new ServerError('invalid_request', message, { param: 'prompt_logprobs' });
  }
}

export interface GenerationBounds {
  prompts: readonly Prompt[];
  maxTokens: number | undefined;
  maxTokensParam: string;
  logprobs: number | undefined;
  promptLogprobs: number | undefined;
  /** Takes the place of what the body says. */
  grammar?: GrammarTables | undefined;
}

/** The part that both endpoints share: limits, sampling, stops, for every choice of every prompt. */
export function generationOf(
  body: SamplingFields,
  target: Target,
  bounds: GenerationBounds,
): GenerationRequest {
  const { model, engine } = target;
  const stopTokenIds = body.stop_token_ids ?? [];
  checkIds(stopTokenIds, model.vocabulary, 'stop_token_ids');
  checkPriority(body.priority, engine);
  const rules = logitRulesOf(body, model);
  const grammar = bounds.grammar ?? constraintOf(body);
  const minTokens = body.min_tokens ?? 0;
  for (const prompt of bounds.prompts) checkLengths(prompt, minTokens, bounds, engine);
  checkLogprobs(bounds, body.n ?? 1, target);
  return {
    prompts: bounds.prompts,
    choicesPerPrompt: body.n ?? 1,
    choice: {
      stops: body.stop === undefined ? [] : [body.stop].flat(),
      includeStop: body.include_stop_str_in_output ?? false,
      skipSpecialTokens: body.skip_special_tokens ?? true,
      minTokens,
      promptOnly: bounds.maxTokens === 0,
    },
    spec: (prompt, sample) => ({
      maxTokens: Math.max(1, limitFor(prompt, bounds, engine)),
      minTokens,
      ignoreEos: body.ignore_eos ?? false,
      stopTokenIds,
      priority: body.priority ?? 0,
      sampling: samplingOf(body, sample),
      ...(rules && { rules }),
      ...(grammar && { grammar }),
      ...(bounds.logprobs !== undefined && { logprobs: bounds.logprobs }),
      ...(bounds.promptLogprobs !== undefined && { promptLogprobs: bounds.promptLogprobs }),
      ...(body.cache_salt !== undefined && { cacheSalt: body.cache_salt }),
    }),
  };
}

function limitFor(prompt: Prompt, bounds: GenerationBounds, engine: EngineDescription): number {
  const { maxTokens, maxTokensParam } = bounds;
  return outputLimit(maxTokens, prompt.ids.length, engine.maxModelLength, maxTokensParam);
}

function checkLengths(
  prompt: Prompt,
  minTokens: number,
  bounds: GenerationBounds,
  engine: EngineDescription,
): void {
  const limit = limitFor(prompt, bounds, engine);
  if (minTokens <= limit) return;
  const message = `Invalid min_tokens: ${minTokens} is more than the ${limit} tokens that may be generated.`;
  throw new ServerError('invalid_request', message, { param: 'min_tokens' });
}

/** Entries of log-probabilities in one reply; each is some tens of bytes of JSON. */
const MOST_LOGPROBS = 2_000_000;

/** Refuses replies that would not fit in memory, such as the whole vocabulary for every token of a long prompt. */
function checkLogprobs(bounds: GenerationBounds, choices: number, { model, engine }: Target): void {
  const width = (top: number | undefined): number =>
    top === undefined ? 0 : top < 0 ? model.vocabulary : top + 1;
  let entries = 0;
  for (const prompt of bounds.prompts) {
    entries += choices * width(bounds.promptLogprobs) * prompt.ids.length;
    entries += choices * width(bounds.logprobs) * limitFor(prompt, bounds, engine);
  }
  if (entries <= MOST_LOGPROBS) return;
  const param = bounds.logprobs === undefined ? 'prompt_logprobs' : 'logprobs';
  const message = `Invalid ${param}: the reply would hold ${entries} log-probabilities; ask for at most ${MOST_LOGPROBS}.`;
  throw new ServerError('invalid_request', message, { param });
}

function checkPriority(priority: number | undefined, engine: EngineDescription): void {
  if (!priority || engine.schedulingPolicy === 'priority') return;
  const message = `Invalid priority: ${priority} has no effect because the server runs with --scheduling-policy fcfs.`;
  throw new ServerError('invalid_request', message, { param: 'priority' });
}
