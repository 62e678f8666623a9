// Text to token ids and back for byte-level BPE vocabularies, built from a GGUF file's metadata. Encoding is the library's
// work; decoding is by bytes, so that streams and whole texts cannot differ.
import { Tokenizer as BpeTokenizer } from '@huggingface/tokenizers';
import { bytesOfTokenText } from './byte-alphabet.ts';
import { ModelError } from './errors.ts';
import type { Metadata } from './metadata.ts';
import { type PreTokenizer, preTokenizerOf } from './pre-tokenizers.ts';
import { shown } from './shown-name.ts';
import { CONTROL, NORMAL, USER_DEFINED } from './token-types.ts';

export interface Tokenizer {
  readonly vocabularySize: number;
  /**
   * Token ids of `text`. addSpecialTokens (default true) puts BOS first where the model wants it; parseSpecial
   * (default true) reads special tokens' names in the text as those tokens. Tokens that only stand for a fixed
   * text (GGUF's "user defined") are found either way.
   */
  encode(text: string, options?: { addSpecialTokens?: boolean; parseSpecial?: boolean }): number[];
  /** The text of `ids`; bytes that are not UTF-8 become U+FFFD, ids that do not exist nothing. */
  decode(ids: Iterable<number>, options?: { skipSpecialTokens?: boolean }): string;
  /** The bytes that a token adds to the text; none for an id that does not exist. */
  tokenBytes(id: number): Uint8Array;
  isSpecial(id: number): boolean;
  readonly bosId?: number;
  /** Ids that end a text. */
  readonly eosIds: readonly number[];
  readonly addBos: boolean;
}

const NOTHING = new Uint8Array();

/** The vocabulary as the file has it. */
export interface Vocabulary {
  tokens: string[];
  /** Pairs with a space between, the first merged first. */
  merges: string[];
  /** Of each token, as token-types.ts has them. */
  types: number[];
}

interface SpecialIds {
  bosId?: number;
  eosIds: number[];
  addBos: boolean;
}

/** A tokenizer of this vocabulary that cuts text by `rule`. */
export function makeTokenizer(
  vocabulary: Vocabulary,
  rule: PreTokenizer,
  special: SpecialIds,
): Tokenizer {
  return new ByteLevelTokenizer(vocabulary, rule, special);
}

/** Builds the tokenizer that the metadata describes; ModelError names what is missing or not supported. */
export function tokenizerFrom(metadata: Metadata): Tokenizer {
  const kind = metadata.string('tokenizer.ggml.model');
  if (kind !== 'gpt2') {
    throw new ModelError(
      'unsupported',
      `the tokenizer is of kind "${shown(kind)}"; only byte-level BPE ("gpt2") is supported.`,
    );
  }
  const vocabulary = readVocabulary(metadata);
  const rule = preTokenizerOf(metadata.optionalString('tokenizer.ggml.pre') ?? 'default');
  const size = vocabulary.tokens.length;
  const bosId = optionalId(metadata, 'bos', size);
  return makeTokenizer(vocabulary, rule, {
    ...(bosId !== undefined && { bosId }),
    eosIds: ['eos', 'eot', 'eom'].flatMap((name) => optionalId(metadata, name, size) ?? []),
    addBos: metadata.optionalBoolean('tokenizer.ggml.add_bos_token') ?? rule.addBos,
  });
}

function readVocabulary(metadata: Metadata): Vocabulary {
  const tokens = metadata.strings('tokenizer.ggml.tokens');
  const types = metadata.has('tokenizer.ggml.token_type')
    ? metadata.numbers('tokenizer.ggml.token_type')
    : tokens.map(() => NORMAL);
  if (types.length !== tokens.length) {
    throw new ModelError(
      'corrupt',
      `tokenizer.ggml.token_type has ${types.length} entries for ${tokens.length} tokens.`,
    );
  }
  const merges = metadata.strings('tokenizer.ggml.merges');
  const broken = merges.find((merge) => merge.split(' ').length !== 2);
  if (broken !== undefined) {
    throw new ModelError('corrupt', `the merge rule "${shown(broken)}" is not a pair.`);
  }
  return { tokens, merges, types };
}

function optionalId(metadata: Metadata, name: string, size: number): number | undefined {
  const key = `tokenizer.ggml.${name}_token_id`;
  const id = metadata.optionalNumber(key);
  if (id === undefined || (Number.isInteger(id) && id >= 0 && id < size)) return id;
  throw new ModelError('corrupt', `${key} is ${id}; the vocabulary has ${size} tokens.`);
}

class ByteLevelTokenizer implements Tokenizer {
  readonly vocabularySize: number;
  readonly bosId?: number;
  readonly eosIds: readonly number[];
  readonly addBos: boolean;
  readonly #bytes: Uint8Array[];
  readonly #special: ReadonlySet<number>;
  readonly #vocabulary: Vocabulary;
  readonly #rule: PreTokenizer;
  #parsing: BpeTokenizer | undefined;
  #plain: BpeTokenizer | undefined;

  constructor(vocabulary: Vocabulary, rule: PreTokenizer, special: SpecialIds) {
    const isRaw = (id: number) => isAdded(vocabulary.types[id]);
    const utf8 = new TextEncoder();
    this.vocabularySize = vocabulary.tokens.length;
    this.#bytes = vocabulary.tokens.map((text, id) =>
      isRaw(id) ? utf8.encode(text) : bytesOfTokenText(text),
    );
    this.#special = new Set(vocabulary.types.flatMap((type, id) => (type === CONTROL ? [id] : [])));
    this.#vocabulary = vocabulary;
    this.#rule = rule;
    this.eosIds = [...new Set(special.eosIds)];
    this.addBos = special.addBos && special.bosId !== undefined;
    if (special.bosId !== undefined) this.bosId = special.bosId;
  }

  encode(
    text: string,
    options: { addSpecialTokens?: boolean; parseSpecial?: boolean } = {},
  ): number[] {
    const { ids } = this.#bpe(options.parseSpecial ?? true).encode(text, {
      add_special_tokens: false,
    });
    const withBos = (options.addSpecialTokens ?? true) && this.addBos && this.bosId !== undefined;
    return withBos ? [this.bosId, ...ids] : ids;
  }

  decode(ids: Iterable<number>, options: { skipSpecialTokens?: boolean } = {}): string {
    const parts: Uint8Array[] = [];
    for (const id of ids) {
      if (!(options.skipSpecialTokens && this.isSpecial(id))) parts.push(this.tokenBytes(id));
    }
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(parts));
  }

  tokenBytes(id: number): Uint8Array {
    return this.#bytes[id] ?? NOTHING;
  }

  isSpecial(id: number): boolean {
    return this.#special.has(id);
  }

  /** Made when first needed: many uses of a tokenizer only decode. */
  #bpe(parseSpecial: boolean): BpeTokenizer {
    if (parseSpecial) {
      this.#parsing ??= makeBpe(this.#vocabulary, this.#rule, true);
      return this.#parsing;
    }
    this.#plain ??= makeBpe(this.#vocabulary, this.#rule, false);
    return this.#plain;
  }
}

function isAdded(type: number | undefined): boolean {
  return type === CONTROL || type === USER_DEFINED;
}

function makeBpe(vocabulary: Vocabulary, rule: PreTokenizer, parseSpecial: boolean): BpeTokenizer {
  const { tokens, types, merges } = vocabulary;
  const addedTokens = tokens.flatMap((content, id) =>
    types[id] === USER_DEFINED || (parseSpecial && types[id] === CONTROL)
      ? [{ id, content, special: types[id] === CONTROL, normalized: false }]
      : [],
  );
  const json = {
    version: '1.0',
    added_tokens: addedTokens,
    normalizer: rule.normalizer,
    pre_tokenizer: rule.pre_tokenizer,
    post_processor: null,
    decoder: { type: 'ByteLevel' },
    model: {
      type: 'BPE',
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges,
      ignore_merges: rule.ignoreMerges,
    },
  };
  return new BpeTokenizer(json, {});
}
