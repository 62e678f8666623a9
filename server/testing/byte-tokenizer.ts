// A tokenizer for tests: token ids 0 to 255 are bytes, 256 ends a text, 257 is another special token, and ids above
// are whole words. So a test can say exactly where characters and stop strings are cut into tokens.
import type { Tokenizer } from '../model/tokenizer.ts';

export const EOS = 256;
export const SPECIAL = 257;
const FIRST_WORD = 258;
const specials = new Map([
  [EOS, '<eos>'],
  [SPECIAL, '<special>'],
]);

/** A byte tokenizer whose ids from 258 are the given words; encode() only makes bytes and special tokens. */
export function byteTokenizer(words: readonly string[] = []): Tokenizer {
  const encoder = new TextEncoder();
  const tokenBytes = (id: number): Uint8Array => {
    if (id < 256) return Uint8Array.of(id);
    return encoder.encode(specials.get(id) ?? words[id - FIRST_WORD] ?? '');
  };
  const isSpecial = (id: number): boolean => specials.has(id);
  return {
    vocabularySize: FIRST_WORD + words.length,
    encode: (text) => [...encoder.encode(text)],
    decode(ids, options = {}) {
      const shown = [...ids].filter((id) => !(options.skipSpecialTokens && isSpecial(id)));
      return new TextDecoder().decode(Uint8Array.from(shown.flatMap((id) => [...tokenBytes(id)])));
    },
    tokenBytes,
    isSpecial,
    eosIds: [EOS],
    addBos: false,
  };
}

/** For the thread that tokenises long prompts. */
export async function loadTokenizer(): Promise<Tokenizer> {
  return byteTokenizer();
}
