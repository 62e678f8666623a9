// What a /v1/chat/completions body asks of the engine: the rendered prompt, bounds, sampling, stops, and how the reply
// is to be split into reasoning, content and tool calls.
import { ServerError } from '../errors.ts';
import type { ChatRequest } from '../protocol/chat.ts';
import type { GrammarTables } from '../scheduler/sequence.ts';
import { ChatParser, type OutputParser } from './chat-parser.ts';
import { renderChat } from './chat-template.ts';
import { checkModel, generationOf, type Target } from './completion-request.ts';
import { toolCallConstraint } from './constraint.ts';
import type { GenerationRequest } from './generation.ts';
import { HarmonyParser } from './harmony-parser.ts';
import { readPrompt } from './prompts.ts';
import { refuseUnsupported } from './sampling.ts';
import type { ServedModel } from './served-model.ts';

export interface ChatGeneration {
  generation: GenerationRequest;
  /** A fresh parser for one choice. */
  makeParser(): OutputParser;
}

/** The generation that the body asks for; ServerError when it cannot be done as asked. */
export async function chatGeneration(body: ChatRequest, target: Target): Promise<ChatGeneration> {
  const { model, engine } = target;
  checkModel(body.model, model);
  refuseUnsupported(body);
  refuseChatFields(body);
  const text = renderChat(body, model);
  const prompt = await readPrompt(text, model, {
    // The template has already written what begins a text.
    addSpecialTokens: body.add_special_tokens ?? false,
    truncateTo: body.truncate_prompt_tokens,
    maxModelLength: engine.maxModelLength,
  });
  const param = body.max_completion_tokens === undefined ? 'max_tokens' : 'max_completion_tokens';
  const generation = generationOf(body, target, {
    prompts: [prompt],
    maxTokens: body.max_completion_tokens ?? body.max_tokens,
    maxTokensParam: param,
    logprobs: body.logprobs ? (body.top_logprobs ?? 0) : undefined,
    promptLogprobs: body.prompt_logprobs,
    grammar: forcedCall(body, model),
  });
  if (isHarmony(model)) {
    // The marks between its messages are special tokens, and the parser needs to see them.
    const choice = { ...generation.choice, skipSpecialTokens: false };
    return { generation: { ...generation, choice }, makeParser: () => new HarmonyParser() };
  }
  const thinks = model.chatTemplate?.includes('</think>') ?? false;
  const opened = thinks && text.trimEnd().endsWith('<think>');
  const tools = body.tools !== undefined && body.tool_choice !== 'none';
  return { generation, makeParser: () => new ChatParser({ thinks, opened, tools }) };
}

/** gpt-oss models write messages in channels. */
function isHarmony({ chatTemplate }: ServedModel): boolean {
  return chatTemplate?.includes('<|channel|>') ?? false;
}

/** The grammar of the call that tool_choice demands. */
function forcedCall(
  { tools, tool_choice: choice }: ChatRequest,
  model: ServedModel,
): GrammarTables | undefined {
  if (!tools || choice === undefined || choice === 'auto' || choice === 'none') return undefined;
  if (isHarmony(model)) {
    const message =
      'tool_choice is supported as "auto" and "none" for this model: a call cannot be forced.';
    throw new ServerError('unsupported', message, { param: 'tool_choice' });
  }
  if (choice === 'required') return toolCallConstraint(tools);
  return toolCallConstraint(tools.filter((tool) => tool.function.name === choice.function.name));
}

function refuseChatFields(body: ChatRequest): void {
  const invalid = (param: string, why: string): never => {
    throw new ServerError('invalid_request', `Invalid ${param}: ${why}.`, { param });
  };
  if (body.top_logprobs !== undefined && body.top_logprobs !== 0 && !body.logprobs) {
    invalid('top_logprobs', 'they need "logprobs": true');
  }
  const choice = body.tool_choice;
  if (choice !== undefined && choice !== 'none' && !body.tools) {
    invalid('tool_choice', 'it needs a list of tools');
  }
  if (typeof choice === 'object') {
    const named = body.tools?.some((tool) => tool.function.name === choice.function.name);
    if (!named)
      invalid(
        'tool_choice',
        `there is no tool named ${JSON.stringify(choice.function.name.slice(0, 100))}`,
      );
  }
  if (body.stream && body.prompt_logprobs !== undefined) {
    invalid('prompt_logprobs', 'they are only sent in a reply that is not streamed');
  }
}
