// How a text is cut into pieces before byte pairs are merged, by the name that GGUF files give the rule. A wrong rule would
// change prompts silently, so an unknown name is an error.
import { ModelError } from './errors.ts';
import { shown } from './shown-name.ts';

// The published patterns write (?i:'s|'t|...), which JavaScript's regular expressions do not have.
const CONTRACTIONS = "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]";
const SPACES = '\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';
const UPPER = '[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]';
const LOWER = '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]';

function wordsWithNumbers(numbers: string): string {
  return [
    CONTRACTIONS,
    '[^\\r\\n\\p{L}\\p{N}]?\\p{L}+',
    numbers,
    ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*',
    SPACES,
  ].join('|');
}

const O200K = [
  `[^\\r\\n\\p{L}\\p{N}]?${UPPER}*${LOWER}+(?:${CONTRACTIONS})?`,
  `[^\\r\\n\\p{L}\\p{N}]?${UPPER}+${LOWER}*(?:${CONTRACTIONS})?`,
  '\\p{N}{1,3}',
  ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*',
  SPACES,
].join('|');

export interface PreTokenizer {
  /** Parts of a tokenizer.json. */
  pre_tokenizer: object;
  normalizer: object | null;
  /** A piece that is itself a token is not merged from its bytes. */
  ignoreMerges: boolean;
  /** Whether a text begins with BOS when the file does not say. */
  addBos: boolean;
}

const byteLevel = (useRegex: boolean) => ({
  type: 'ByteLevel',
  add_prefix_space: false,
  trim_offsets: true,
  use_regex: useRegex,
});

function byPattern(pattern: string, options: Partial<PreTokenizer> = {}): PreTokenizer {
  const split = { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false };
  return {
    pre_tokenizer: { type: 'Sequence', pretokenizers: [split, byteLevel(false)] },
    normalizer: null,
    ignoreMerges: false,
    addBos: false,
    ...options,
  };
}

const plain: PreTokenizer = {
  pre_tokenizer: byteLevel(true),
  normalizer: null,
  ignoreMerges: false,
  addBos: false,
};
const digitsApart: PreTokenizer = {
  ...plain,
  pre_tokenizer: {
    type: 'Sequence',
    pretokenizers: [{ type: 'Digits', individual_digits: true }, byteLevel(true)],
  },
};

const RULES: ReadonlyMap<string, PreTokenizer> = new Map([
  ['gpt-2', plain],
  ['default', plain],
  ['smollm', digitsApart],
  ['llama-bpe', byPattern(wordsWithNumbers('\\p{N}{1,3}'), { ignoreMerges: true, addBos: true })],
  ['qwen2', byPattern(wordsWithNumbers('\\p{N}'), { normalizer: { type: 'NFC' } })],
  ['gpt-4o', byPattern(O200K, { ignoreMerges: true })],
]);

export function preTokenizerOf(name: string): PreTokenizer {
  const rule = RULES.get(name);
  if (rule) return rule;
  throw new ModelError(
    'unsupported',
    `the tokenizer's rule "${shown(name)}" is not known (known: ${[...RULES.keys()].join(', ')}).`,
  );
}
