// Prompts from a JSONL data set: ShareGPT conversations, chat messages or plain prompts, one a line. Pure: it takes the
// text, not a path. Lines end at LF only: U+2028 inside a string is text (Node's readline would split there).
import { z } from 'zod';
import { HarnessError } from '../errors.ts';

export interface DatasetPrompt {
  text: string;
  /** The length of the answer in the data set, in characters, where it holds one. */
  answerCharacters?: number;
}

const turn = z.object({ from: z.string(), value: z.string() });
const message = z.object({ role: z.string(), content: z.string() });
const lineSchema = z.union([
  z.object({ conversations: z.array(turn) }),
  z.object({ messages: z.array(message) }),
  z.object({ prompt: z.string(), completion: z.string().optional() }),
]);

/**
 * The first question of every line, in order; lines without one are left out. Rejects with INVALID_FILE, naming the line,
 * on a line that is none of the three forms, and on a data set that holds no question at all.
 */
export function datasetPrompts(jsonl: string): DatasetPrompt[] {
  const prompts: DatasetPrompt[] = [];
  for (const [index, line] of jsonl.split('\n').entries()) {
    if (line.trim() === '') continue;
    const prompt = firstQuestion(parseLine(line, index + 1));
    if (prompt !== undefined && prompt.text.trim() !== '') prompts.push(prompt);
  }
  if (prompts.length === 0) {
    throw new HarnessError('INVALID_FILE', 'The data set holds no line with a question.');
  }
  return prompts;
}

function parseLine(line: string, number: number): z.infer<typeof lineSchema> {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    throw new HarnessError(
      'INVALID_FILE',
      `Line ${number} of the data set is not JSON: ${cut(line)}`,
    );
  }
  const parsed = lineSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new HarnessError(
    'INVALID_FILE',
    `Line ${number} of the data set has none of "conversations", "messages" and "prompt": ${cut(line)}`,
  );
}

function firstQuestion(line: z.infer<typeof lineSchema>): DatasetPrompt | undefined {
  if ('prompt' in line) return withAnswer(line.prompt, line.completion);
  const turns =
    'messages' in line
      ? line.messages.map(({ role, content }) => ({ who: role, text: content }))
      : line.conversations.map(({ from, value }) => ({ who: from, text: value }));
  const at = turns.findIndex(({ who }) => who === 'user' || who === 'human');
  const question = turns[at];
  return question === undefined ? undefined : withAnswer(question.text, turns[at + 1]?.text);
}

function withAnswer(text: string, answer: string | undefined): DatasetPrompt {
  return answer === undefined ? { text } : { text, answerCharacters: answer.length };
}

function cut(line: string): string {
  return line.length > 80 ? `${line.slice(0, 80)}...` : line;
}
