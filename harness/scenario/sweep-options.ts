// What `bench sweep` can be told, as one schema: its flags, their help, their checks and what is recorded.
import { z } from 'zod';
import { wholeFlag, wholeListFlag } from './flags.ts';

/** Ends in about two minutes on two cores with the default lengths. */
export const DEFAULT_MODEL = 'synthetic:small-qwen3';
export const MOST_CONCURRENCY = 4096;

const activations = ['f32', 'bf16', 'int8'] as const;
const path = z.string().min(1, { error: 'must not be empty' });

export const sweepOptions = z.object({
  concurrency: wholeListFlag(1, MOST_CONCURRENCY)
    .prefault('1,2,4,8')
    .meta({ value: 'LIST', description: 'requests in flight, one cell each (default 1,2,4,8)' }),
  model: path.optional().meta({
    value: 'MODEL',
    description: `a folder, a GGUF file or synthetic:NAME (default ${DEFAULT_MODEL}); with --url the served name`,
  }),
  url: z
    .url({ protocol: /^https?$/, error: 'must be an address such as http://127.0.0.1:8000' })
    .optional()
    .meta({ value: 'URL', description: 'measure this running server instead of the bundled one' }),
  arm: path.optional().meta({
    value: 'ARM',
    description: 'measure this arm instead: git:REVISION or an arm file (.yaml)',
  }),
  inputTokens: wholeFlag(1, 1_000_000)
    .default(1024)
    .meta({ value: 'N', description: 'tokens of each prompt' }),
  outputTokens: wholeFlag(1, 1_000_000)
    .default(128)
    .meta({ value: 'N', description: 'tokens of each answer' }),
  requests: wholeFlag(1, 1_000_000).optional().meta({
    value: 'N',
    description: 'measured requests a cell (default 24, or three times the concurrency if more)',
  }),
  seed: wholeFlag(0, 2 ** 31 - 1)
    .default(1)
    .meta({ value: 'N', description: 'prompts depend on it and on nothing else' }),
  records: path
    .default('records')
    .meta({ value: 'FOLDER', description: 'where the record is written' }),
  benchmarks: path.optional().meta({
    value: 'FILE',
    description: 'page made from all records (default BENCHMARKS.md beside the folder)',
  }),
  label: z
    .string()
    .regex(/^[\w .:+-]{1,40}$/, { error: 'must be 1 to 40 letters, digits, spaces or . : + - _' })
    .optional()
    .meta({ value: 'NAME', description: 'how tables call this server' }),
  activations: z
    .enum(activations, { error: `must be one of ${activations.join(', ')}` })
    .optional()
    .meta({ value: 'MODE', description: 'of the bundled server: int8 is fastest, f32 is exact' }),
  threads: wholeFlag(1, 1024)
    .optional()
    .meta({ value: 'N', description: 'kernel threads of the bundled server' }),
  isa: z
    .string()
    .regex(/^[a-z0-9]{1,16}$/, { error: 'must be the name of an instruction set' })
    .optional()
    .meta({ value: 'NAME', description: 'instruction set of the bundled server' }),
  timeout: wholeFlag(1, 86_400)
    .default(600)
    .meta({ value: 'SECONDS', description: 'the longest that one request may take' }),
  foreignCpuLimit: wholeFlag(0, 100).default(25).meta({
    value: 'PERCENT',
    description: 'a cell is VOID when other programs use more of the CPU',
  }),
  reference: path.optional().meta({
    value: 'ARM',
    description:
      'compare with this arm in mirrored pairs: a URL, git:REVISION, an arm file (.yaml), or a model of the bundled server',
  }),
  aa: z
    .boolean()
    .default(false)
    .meta({ description: 'compare the server with itself: shows the noise of this machine' }),
  looks: wholeListFlag(2, 1000).prefault('8,16,24').meta({
    value: 'LIST',
    description: 'pairs at which a verdict may be given (default 8,16,24)',
  }),
  margin: wholeFlag(0, 90)
    .default(5)
    .meta({ value: 'PERCENT', description: 'loss below parity that a comparison accepts' }),
  json: z.boolean().default(false).meta({ description: 'print the record instead of the table' }),
});
export type SweepOptions = z.infer<typeof sweepOptions>;
