// Every setting of the server: one schema gives the flags, their checks, their defaults, the help and what is recorded.
// Only this file and main.ts read the command line and the environment.
import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { SEAMS } from './engine/injection.ts';
import { ACTIVATIONS, ISAS, KV_FORMATS } from './engine/native-names.ts';
import { ServerError } from './errors.ts';
import { POLICIES } from './scheduler/request-queue.ts';

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
  K: 2 ** 10,
  M: 2 ** 20,
  G: 2 ** 30,
};

/** Bytes of "2GiB", "512MB" or a plain number; undefined when it is none of them. */
export function parseBytes(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim());
  const unit = UNITS[match?.[2]?.toUpperCase() ?? ''];
  if (!match || unit === undefined) return undefined;
  return Math.floor(Number(match[1]) * unit);
}

const whole = z.coerce
  .number({ error: 'must be a whole number' })
  .int({ error: 'must be a whole number' });
const count = whole.min(1, { error: 'must be at least 1' });
const milliseconds = whole.min(0, { error: 'must be at least 0' });
const bytes = z.string().transform((value, context) => {
  const parsed = parseBytes(value);
  if (parsed !== undefined && parsed > 0) return parsed;
  context.addIssue({ code: 'custom', message: 'must be a size such as 512MiB or 2GiB' });
  return z.NEVER;
});
const injection = z.string().transform((value, context) => {
  const [seam, delay] = value.split(':');
  const known = SEAMS.find((each) => each === seam);
  const delayUs = Number(/^\+?(\d{1,7})$/.exec(delay ?? '')?.[1]);
  if (known && delayUs > 0) return { seam: known, delayUs };
  context.addIssue({
    code: 'custom',
    message: 'must be engine:+MICROSECONDS or frontend:+MICROSECONDS',
  });
  return z.NEVER;
});
const oneOf = <const Names extends readonly [string, ...string[]]>(names: Names) =>
  z.enum(names, { error: `must be one of ${names.join(', ')}` });

/** The flags of `serve`. Field names are the flags in camel case. */
export const serveFlags = z.object({
  model: z.string().min(1).describe('a folder, a GGUF file, or synthetic:NAME'),
  host: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe('address to listen on; only this machine by default'),
  port: whole
    .min(0)
    .max(65_535, { error: 'must be at most 65535' })
    .default(8000)
    .describe('0 takes a free port'),
  threads: count
    .max(1024, { error: 'must be at most 1024' })
    .default(() => availableParallelism())
    .describe('kernel threads; the cores of this machine by default'),
  activations: oneOf(ACTIVATIONS).default('int8').describe('int8 per 32 is fastest; f32 is exact'),
  isa: oneOf(['auto', ...ISAS])
    .default('auto')
    .describe('instruction set; auto takes the best'),
  maxNumSeqs: count
    .max(1024, { error: 'must be at most 1024' })
    .default(32)
    .describe('sequences in one step; more wait'),
  maxModelLen: whole
    .min(2, { error: 'must be at least 2' })
    .optional()
    .describe(
      "longest sequence in tokens; the model's own context by default, if the KV memory holds it",
    ),
  maxNumBatchedTokens: whole
    .min(16, { error: 'must be at least 16' })
    .max(65_536, { error: 'must be at most 65536' })
    .default(512)
    .describe('tokens in one step; longer prompts are split so that others are not delayed'),
  kvMemory: bytes
    .optional()
    .describe(
      'memory for keys and values; by default enough for all sequences, at most a quarter of free memory',
    ),
  kvFormat: oneOf(KV_FORMATS)
    .optional()
    .describe('f32 with --activations f32, else bf16, by default'),
  servedModelName: z
    .string()
    .min(1)
    .optional()
    .describe('names that requests may use, separated by commas; the first one is shown'),
  enablePrefixCaching: z
    .boolean()
    .default(false)
    .describe(
      'reuse the keys and values of equal prompt beginnings; off so that prompts are measured cold',
    ),
  schedulingPolicy: oneOf(POLICIES).default('fcfs').describe('who is served first'),
  apiKey: z
    .string()
    .min(1)
    .optional()
    .describe('keys that requests must bring, separated by commas; MXBENCH_API_KEY is read too'),
  debugEndpoints: z
    .boolean()
    .default(false)
    .describe('serve /debug/steps, /debug/threads, /reset_prefix_cache'),
  maxQueuedRequests: milliseconds
    .default(1024)
    .describe('sequences that may wait before 503 is answered'),
  requestTimeout: milliseconds.default(0).describe('longest time for a reply in ms; 0 is no limit'),
  shutdownTimeout: milliseconds
    .default(30_000)
    .describe('how long SIGTERM lets requests finish, in ms'),
  bodyLimit: bytes
    .optional()
    .describe('largest request body; sized by the context length by default'),
  unreadLimit: bytes
    .default(8 * 2 ** 20)
    .describe('what a slow reader may leave unread before it is dropped'),
  inject: injection
    .optional()
    .describe(
      'spin so many microseconds a step at a seam, such as engine:+500, to prove attribution',
    ),
  exitWithParent: z
    .boolean()
    .default(false)
    .describe('exit when standard input closes, with whoever started it'),
  logLevel: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('warn')
    .describe('what is logged, as JSON lines on standard error'),
});
export type ServeFlags = z.infer<typeof serveFlags>;

export interface FlagHelp {
  /** camelCase key of the flag. */
  key: string;
  /** Such as "--max-num-seqs". */
  flag: string;
  description: string;
  /** Takes no value. */
  isSwitch: boolean;
}

/** The flag of a key: maxNumSeqs becomes --max-num-seqs. */
export function flagOf(key: string): string {
  return `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** All flags in order, for a command line parser and its help. */
export function flagHelp(): FlagHelp[] {
  return Object.entries(serveFlags.shape).map(([key, schema]) => ({
    key,
    flag: flagOf(key),
    description: describeFlag(schema),
    isSwitch: schema instanceof z.ZodDefault && schema.unwrap() instanceof z.ZodBoolean,
  }));
}

function describeFlag(schema: z.ZodType): string {
  const description = schema.meta()?.description ?? '';
  const value = schema instanceof z.ZodDefault ? schema.def.defaultValue : undefined;
  return value === undefined || value === false ? description : `${description} (default ${value})`;
}

/** Checked flags; ServerError usage names the flag, the value and what it must be. */
export function parseFlags(given: Readonly<Record<string, unknown>>): ServeFlags {
  const parsed = serveFlags.safeParse(given);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const key = String(issue?.path[0] ?? '');
  const value = given[key];
  if (value === undefined) {
    throw new ServerError(
      'usage',
      `${flagOf(key)} is missing; name a model such as synthetic:qwen3-0.6b.`,
    );
  }
  throw new ServerError(
    'usage',
    `${flagOf(key)} ${String(value)}: it ${issue?.message ?? 'is not valid'}.`,
  );
}

/** The configuration without secrets, for the record. */
export function shownConfig(
  flags: ServeFlags,
  resolved: Record<string, unknown>,
): Record<string, unknown> {
  const { apiKey, ...shown } = flags;
  return { ...shown, ...resolved, apiKey: apiKey === undefined ? 'none' : 'set' };
}
