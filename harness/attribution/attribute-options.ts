// What `bench attribute` can be told, as one schema: its flags, their help, their checks and what is recorded; and the
// file of rules that tells roles and classes of a server that we do not know.
import { z } from 'zod';
import { wholeFlag } from '../scenario/flags.ts';
import { roleRulesSchema } from './roles.ts';
import { classRuleSchema } from './symbol-classes.ts';

const path = z.string().min(1, { error: 'must not be empty' });

export const attributeOptions = z.object({
  perf: z.boolean().default(false).meta({
    description: 'also sample functions and trace wake-ups; needs perf and the right to use it',
  }),
  concurrency: wholeFlag(1, 4096)
    .default(8)
    .meta({ value: 'N', description: 'requests held in flight' }),
  duration: wholeFlag(1, 600)
    .default(22)
    .meta({ value: 'SECONDS', description: 'of the sampling phase' }),
  frequency: wholeFlag(1, 20_000)
    .default(999)
    .meta({ value: 'HZ', description: 'samples a second of CPU time' }),
  freeSeconds: wholeFlag(3, 600).default(10).meta({
    value: 'SECONDS',
    description: 'of each phase without a profiler: the numbers of record',
  }),
  schedSeconds: wholeFlag(1, 120)
    .default(10)
    .meta({ value: 'SECONDS', description: 'of the scheduler phase' }),
  model: path.optional().meta({
    value: 'MODEL',
    description:
      'for the bundled server: a folder, a GGUF file or synthetic:NAME; with --url the served name',
  }),
  url: z
    .url({ protocol: /^https?$/, error: 'must be an address such as http://127.0.0.1:8000' })
    .optional()
    .meta({ value: 'URL', description: 'a server on this machine, instead of the bundled one' }),
  serverCommand: path.optional().meta({
    value: 'COMMAND',
    description: 'starts the server that --url names, and ends it afterwards',
  }),
  rules: path.optional().meta({
    value: 'FILE',
    description:
      'YAML with roles (a preset or rules) and classes, for servers that bench does not know',
  }),
  premise: path.optional().meta({ value: 'FILE', description: 'YAML of claims to judge' }),
  inject: path.optional().meta({
    value: 'SEAM:+US',
    description:
      'spin at engine or frontend of the bundled server, such as engine:+500, to see whether it is on the path of TPOT',
  }),
  against: path.optional().meta({
    value: 'FOLDER',
    description:
      'captures of a reference server at the same load: splits the gap, and draws a differential flame graph',
  }),
  inputTokens: wholeFlag(1, 1_000_000)
    .default(1024)
    .meta({ value: 'N', description: 'tokens of each prompt' }),
  outputTokens: wholeFlag(2, 1_000_000)
    .default(128)
    .meta({ value: 'N', description: 'tokens of each answer' }),
  seed: wholeFlag(0, 2 ** 31 - 1)
    .default(1)
    .meta({ value: 'N', description: 'prompts depend on it and on nothing else' }),
  threads: wholeFlag(1, 1024)
    .optional()
    .meta({ value: 'N', description: 'kernel threads of the bundled server' }),
  sameAs: path.optional().meta({
    value: 'REV:PATH',
    description: 'proves by git that these sources are those of another revision',
  }),
  records: path
    .default('records')
    .meta({ value: 'FOLDER', description: 'where the record is written' }),
  evidence: path
    .default('records/evidence')
    .meta({ value: 'FOLDER', description: 'where captures are kept, each in a folder of its own' }),
  keepMegabytes: wholeFlag(0, 100_000)
    .default(64)
    .meta({ value: 'MB', description: 'of evidence that are kept; the largest files go first' }),
  timeout: wholeFlag(1, 86_400)
    .default(600)
    .meta({ value: 'SECONDS', description: 'the longest that one request may take' }),
  json: z.boolean().default(false).meta({ description: 'print the record instead of the summary' }),
});
export type AttributeOptions = z.infer<typeof attributeOptions>;

export const rulesFileSchema = z.strictObject({
  roles: roleRulesSchema.optional(),
  classes: z.array(classRuleSchema).max(200).default([]),
});
export type RulesFile = z.infer<typeof rulesFileSchema>;
