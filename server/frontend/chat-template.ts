// Renders messages with the model's own chat template. The template comes with the model that the operator chose; one
// sent by a request is never run.
import { Template } from '@huggingface/jinja';
import { ServerError } from '../errors.ts';
import type { ChatMessage, ChatRequest } from '../protocol/chat.ts';
import type { ServedModel } from './served-model.ts';

export type TemplateInput = Pick<
  ChatRequest,
  | 'messages'
  | 'tools'
  | 'add_generation_prompt'
  | 'continue_final_message'
  | 'chat_template'
  | 'chat_template_kwargs'
  | 'documents'
> &
  Partial<Pick<ChatRequest, 'reasoning_effort' | 'tool_choice'>>;

const compiled = new WeakMap<ServedModel, Template>();

function templateOf(model: ServedModel): Template {
  let template = compiled.get(model);
  if (!template) {
    if (model.chatTemplate === undefined) {
      throw new ServerError(
        'unsupported',
        `${model.name} has no chat template; send the whole prompt to /v1/completions.`,
      );
    }
    template = new Template(model.chatTemplate);
    compiled.set(model, template);
  }
  return template;
}

function plainContent({ content }: ChatMessage): string {
  if (content === undefined) return '';
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('\n');
}

function parsedArguments(json: string | undefined): unknown {
  try {
    return JSON.parse(json ?? '{}');
  } catch {
    return json;
  }
}

/** The message as templates know it: plain text, and arguments of tool calls as objects. */
function templateMessage(message: ChatMessage): Record<string, unknown> {
  const { role, tool_calls: calls, reasoning, reasoning_content: older, ...rest } = message;
  const thoughts = reasoning ?? older;
  const shown: Record<string, unknown> = {
    role: role === 'developer' ? 'system' : role,
    content: plainContent(message),
  };
  if (rest.name !== undefined) shown['name'] = rest.name;
  if (rest.tool_call_id !== undefined) shown['tool_call_id'] = rest.tool_call_id;
  if (thoughts !== undefined)
    Object.assign(shown, { reasoning_content: thoughts, reasoning: thoughts });
  if (calls) {
    shown['tool_calls'] = calls.map(({ id, function: called }) => ({
      ...(id !== undefined && { id }),
      type: 'function',
      function: { name: called.name, arguments: parsedArguments(called.arguments) },
    }));
  }
  return shown;
}

function specialToken(model: ServedModel, id: number | undefined): string {
  return id === undefined ? '' : model.tokenizer.decode([id], { skipSpecialTokens: false });
}

/** The prompt of a chat as text; ServerError when the template refuses the messages. */
export function renderChat(input: TemplateInput, model: ServedModel): string {
  refuseTemplateFields(input);
  const template = templateOf(model);
  const messages = input.messages.map(templateMessage);
  const { bosId, eosIds } = model.tokenizer;
  const offered = input.tool_choice === 'none' ? undefined : input.tools;
  let text: string;
  try {
    text = template.render({
      ...input.chat_template_kwargs,
      ...(input.reasoning_effort && { reasoning_effort: input.reasoning_effort }),
      messages,
      ...(offered && { tools: offered }),
      ...(input.documents && { documents: input.documents }),
      add_generation_prompt: !input.continue_final_message && (input.add_generation_prompt ?? true),
      bos_token: specialToken(model, bosId),
      eos_token: specialToken(model, eosIds[0]),
    });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.slice(0, 300) : 'unknown';
    const message = `The model's chat template cannot render these messages: ${reason}`;
    throw new ServerError('invalid_request', message, { param: 'messages', cause });
  }
  return input.continue_final_message ? openFinalMessage(text, input.messages) : text;
}

function refuseTemplateFields(input: TemplateInput): void {
  if (input.chat_template !== undefined) {
    throw new ServerError(
      'unsupported',
      'chat_template is not supported: templates are programs, and only the one of the model is run.',
      { param: 'chat_template' },
    );
  }
  if (input.continue_final_message && input.add_generation_prompt) {
    throw new ServerError(
      'invalid_request',
      'Invalid continue_final_message: it excludes add_generation_prompt.',
      { param: 'continue_final_message' },
    );
  }
}

/** Cuts what the template wrote after the last message, so that the model goes on with that message. */
function openFinalMessage(text: string, messages: readonly ChatMessage[]): string {
  const last = messages.at(-1);
  const content = last ? plainContent(last).trim() : '';
  const at = text.lastIndexOf(content);
  return content === '' || at < 0 ? text : text.slice(0, at + content.length);
}
