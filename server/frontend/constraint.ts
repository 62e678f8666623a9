// The grammar that a request sets for its output: response_format, structured_outputs, or a forced tool call. Compiled
// here, before anything is queued, so that a bad grammar is an answer and never a fault of the engine.
import { ServerError } from '../errors.ts';
import type { Tool } from '../protocol/chat.ts';
import type { SamplingFields } from '../protocol/fields.ts';
import type { GrammarTables } from '../scheduler/sequence.ts';
import { compileGrammar } from './grammar/compile-grammar.ts';
import { GrammarError } from './grammar/grammar-error.ts';
import {
  either,
  type Grammar,
  type GrammarNode,
  literal,
  rule,
  sequence,
} from './grammar/grammar-node.ts';
import { regexGrammar } from './grammar/regex-grammar.ts';
import { anyObjectGrammar, schemaGrammar } from './grammar/schema-grammar.ts';

interface Source {
  param: string;
  make(): Grammar;
}

function sourcesOf({
  response_format: format,
  structured_outputs: outputs,
}: SamplingFields): Source[] {
  const sources: Source[] = [];
  const add = (param: string, make: () => Grammar): void => {
    sources.push({ param, make });
  };
  if (format?.type === 'json_object') add('response_format', anyObjectGrammar);
  if (format?.type === 'json_schema') {
    add('response_format', () => schemaGrammar(format.json_schema.schema));
  }
  if (!outputs) return sources;
  const { regex, choice, json, grammar } = outputs;
  if (regex !== undefined)
    add('structured_outputs.regex', () => new Map([['root', regexGrammar(regex)]]));
  if (choice) {
    add('structured_outputs.choice', () => new Map([['root', either(...choice.map(literal))]]));
  }
  if (json !== undefined) add('structured_outputs.json', () => schemaGrammar(parsedSchema(json)));
  if (grammar !== undefined) {
    const message = 'structured_outputs.grammar is not supported: use json, regex or choice.';
    throw new ServerError('unsupported', message, { param: 'structured_outputs' });
  }
  return sources;
}

/** vLLM also takes the schema as a string. */
function parsedSchema(json: unknown): unknown {
  if (typeof json !== 'string') return json;
  try {
    return JSON.parse(json);
  } catch {
    throw new GrammarError('the schema is not valid JSON');
  }
}

/** The compiled grammar, or undefined when the request sets none; ServerError says what is wrong with it. */
export function constraintOf(fields: SamplingFields): GrammarTables | undefined {
  const sources = sourcesOf(fields);
  const [source, second] = sources;
  if (second) {
    const message = `Invalid ${second.param}: only one of json, regex, choice and response_format may be set.`;
    throw new ServerError('invalid_request', message, { param: second.param });
  }
  return source && compile(source);
}

function compile({ param, make }: Source): GrammarTables {
  try {
    return compileGrammar(make());
  } catch (error) {
    if (!(error instanceof GrammarError)) throw error;
    throw new ServerError('invalid_request', `Invalid ${param}: ${error.message}.`, { param });
  }
}

/** A grammar of exactly one call of one of the tools, in the form that the chat parser reads. */
export function toolCallConstraint(tools: readonly Tool[]): GrammarTables {
  return compile({ param: 'tools', make: () => toolCallGrammar(tools) });
}

function toolCallGrammar(tools: readonly Tool[]): Grammar {
  const grammar: Grammar = new Map();
  const calls = tools.map(({ function: { name, parameters } }, index) => {
    const own =
      parameters && Object.keys(parameters).length > 0
        ? schemaGrammar(parameters)
        : anyObjectGrammar();
    // Rules of different tools must not meet.
    for (const [key, node] of own) grammar.set(`${index}/${key}`, prefixed(node, `${index}/`));
    const head = `{"name": ${JSON.stringify(name)}, "arguments": `;
    return sequence(literal(head), rule(`${index}/root`), literal('}'));
  });
  const body = sequence(literal('<tool_call>\n'), either(...calls), literal('\n</tool_call>'));
  return grammar.set('root', body);
}

function prefixed(node: GrammarNode, prefix: string): GrammarNode {
  switch (node.kind) {
    case 'byte':
      return node;
    case 'rule':
      return rule(prefix + node.name);
    case 'sequence':
      return { ...node, parts: node.parts.map((part) => prefixed(part, prefix)) };
    case 'either':
      return { ...node, options: node.options.map((option) => prefixed(option, prefix)) };
    case 'repeat':
      return { ...node, part: prefixed(node.part, prefix) };
  }
}
