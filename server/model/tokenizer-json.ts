// A tokenizer from a tokenizer.json (with tokenizer_config.json beside it), for model files whose own tokenizer is missing
// or cut by a rule that GGUF names and we do not know. Byte-level BPE only.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { ModelError } from './errors.ts';
import { shown } from './shown-name.ts';
import { CONTROL, NORMAL, UNUSED, USER_DEFINED } from './token-types.ts';
import { makeTokenizer, type Tokenizer, type Vocabulary } from './tokenizer.ts';

const MOST_TOKENS = 1 << 22;

const addedTokenSchema = z.looseObject({
  id: z.int().nonnegative().max(MOST_TOKENS),
  content: z.string().min(1),
  special: z.boolean().default(false),
  single_word: z.boolean().default(false),
  lstrip: z.boolean().default(false),
  rstrip: z.boolean().default(false),
});

const merge = z.union([z.string(), z.tuple([z.string(), z.string()])]);

const tokenizerSchema = z.looseObject({
  added_tokens: z.array(addedTokenSchema).default([]),
  normalizer: z.looseObject({ type: z.string() }).nullish(),
  pre_tokenizer: z.looseObject({ type: z.string() }).nullish(),
  model: z.looseObject({
    type: z.literal('BPE').default('BPE'),
    vocab: z.record(z.string(), z.int().nonnegative().max(MOST_TOKENS)),
    merges: z.array(merge),
    ignore_merges: z.boolean().default(false),
    byte_fallback: z.literal(false).default(false),
  }),
});

const named = z.union([z.string(), z.looseObject({ content: z.string() })]).nullish();
const configSchema = z.looseObject({
  bos_token: named,
  eos_token: named,
  add_bos_token: z.boolean().nullish(),
});

type TokenizerJson = z.infer<typeof tokenizerSchema>;

/** Reads `path`; ModelError says what is missing or not supported. */
export function tokenizerFromJson(path: string): Tokenizer {
  const json = readJson(path, tokenizerSchema);
  if (!JSON.stringify(json.pre_tokenizer ?? null).includes('"ByteLevel"')) {
    throw new ModelError('unsupported', `${path} is not a byte-level tokenizer.`);
  }
  const config = readConfig(join(dirname(path), 'tokenizer_config.json'));
  const vocabulary = vocabularyOf(json, path);
  const idOf = (token: z.infer<typeof named>): number | undefined => {
    const text = typeof token === 'string' ? token : token?.content;
    const id = text === undefined ? -1 : vocabulary.tokens.lastIndexOf(text);
    return id < 0 ? undefined : id;
  };
  const bosId = idOf(config.bos_token);
  const eosId = idOf(config.eos_token);
  const rule = {
    pre_tokenizer: json.pre_tokenizer ?? {},
    normalizer: json.normalizer ?? null,
    ignoreMerges: json.model.ignore_merges,
    addBos: false,
  };
  return makeTokenizer(vocabulary, rule, {
    ...(bosId !== undefined && { bosId }),
    eosIds: eosId === undefined ? [] : [eosId],
    addBos: config.add_bos_token ?? beginsWithToken(json, config.bos_token),
  });
}

function vocabularyOf(json: TokenizerJson, path: string): Vocabulary {
  const tokens: string[] = [];
  const types: number[] = [];
  for (const [text, id] of Object.entries(json.model.vocab)) {
    tokens[id] = text;
    types[id] = NORMAL;
  }
  for (const added of json.added_tokens) {
    if (added.single_word || added.lstrip || added.rstrip) {
      throw new ModelError(
        'unsupported',
        `${path}: the added token "${shown(added.content)}" takes spaces with it, which is not supported.`,
      );
    }
    tokens[added.id] = added.content;
    types[added.id] = added.special ? CONTROL : USER_DEFINED;
  }
  // Ids that no token has decode to nothing.
  for (let id = 0; id < tokens.length; id++) {
    if (tokens[id] !== undefined) continue;
    tokens[id] = '';
    types[id] = UNUSED;
  }
  const merges = json.model.merges.map((pair) =>
    typeof pair === 'string' ? pair : pair.join(' '),
  );
  return { tokens, types, merges };
}

/** Whether the template of a text alone begins with the BOS token. */
function beginsWithToken(json: TokenizerJson, bos: z.infer<typeof named>): boolean {
  const text = typeof bos === 'string' ? bos : bos?.content;
  if (text === undefined) return false;
  const template = JSON.stringify(json['post_processor'] ?? null);
  return template.includes(`"single":[{"SpecialToken":{"id":${JSON.stringify(text)}`);
}

function readConfig(path: string): z.infer<typeof configSchema> {
  try {
    return readJson(path, configSchema);
  } catch (error) {
    if (error instanceof ModelError && error.code === 'not_found') return {};
    throw error;
  }
}

function readJson<T>(path: string, schema: z.ZodType<T>): T {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const kind = code === 'ENOENT' ? 'not_found' : 'unreadable';
    throw new ModelError(kind, `${path} cannot be read (${code}).`, { cause });
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    const at = cause instanceof z.ZodError ? ` at "${cause.issues[0]?.path.join('.')}"` : '';
    throw new ModelError('unsupported', `${path} is not a byte-level BPE tokenizer's file${at}.`, {
      cause,
    });
  }
}
