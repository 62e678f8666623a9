// An arm: one server with one configuration, as a short word on the command line or as a YAML file. It says how a server is
// started and reached; starting it is the business of arms/.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import type { ServerKind } from '../client/dialect.ts';
import { HarnessError } from '../errors.ts';

const SERVER_KINDS = [
  'mxbench',
  'vllm',
  'sglang',
  'llama.cpp',
  'openai',
] as const satisfies readonly ServerKind[];
const text = z.string().min(1);
const label = z
  .string()
  .regex(/^[\w .:+-]{1,40}$/, 'must be 1 to 40 letters, digits, spaces or . : + - _');
const serverFlags = {
  label: label.optional().describe('how tables call it'),
  model: text.optional().describe('a folder, a GGUF file or synthetic:NAME'),
  flags: z.array(text).default([]).describe('further flags of bench serve'),
};

export const armSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('bundled'), ...serverFlags }),
  z.strictObject({
    kind: z.literal('git'),
    revision: text
      .regex(/^[\w][\w./~^@{}-]*$/, 'must be a revision of this project')
      .describe('commit, tag or branch of this project, built in a folder of its own'),
    ...serverFlags,
  }),
  z.strictObject({
    kind: z.literal('url'),
    label: serverFlags.label,
    url: z.url({ protocol: /^https?$/ }),
    model: text.optional().describe('the served name'),
  }),
  z.strictObject({
    kind: z.literal('command'),
    label: serverFlags.label,
    command: z.array(text).min(1).describe('program and arguments; {port} becomes a free port'),
    env: z.record(text, z.string()).default({}),
    model: text.optional().describe('the served name'),
    server: z
      .enum(SERVER_KINDS)
      .optional()
      .describe('which dialect it speaks, where it cannot be found by asking'),
    readySeconds: z
      .number()
      .min(1)
      .max(3600)
      .default(120)
      .describe('the longest that it may take to start'),
  }),
]);
export type Arm = z.infer<typeof armSchema>;

/**
 * The arm that a word on the command line means: http(s)://..., git:REVISION, a file that ends in .yaml or .yml, or else a
 * model of the bundled server. INVALID_FILE names the field of a file that is wrong.
 */
export function armOf(word: string): Arm {
  if (/^https?:\/\//.test(word)) return checked({ kind: 'url', url: word }, word);
  if (word.startsWith('git:')) return checked({ kind: 'git', revision: word.slice(4) }, word);
  if (/\.ya?ml$/.test(word)) return armFile(word);
  return { kind: 'bundled', model: word, flags: [] };
}

function armFile(path: string): Arm {
  let content: unknown;
  try {
    content = parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    const reason = (cause as Error).message.split('\n')[0];
    throw new HarnessError('INVALID_FILE', `The arm file ${path} cannot be read: ${reason}.`, {
      cause,
    });
  }
  const arm = checked(content, path);
  return { ...arm, label: arm.label ?? basename(path).replace(/\.ya?ml$/, '') };
}

function checked(content: unknown, name: string): Arm {
  const parsed = armSchema.safeParse(content);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue?.path.join('.') || 'the arm';
  throw new HarnessError('INVALID_FILE', `In ${name}, ${where} is wrong: ${issue?.message}.`);
}
