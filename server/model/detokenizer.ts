// Token ids to text as they come: whole characters only, the same text in the end as decoding all ids at once.
import type { Tokenizer } from './tokenizer.ts';

export class IncrementalDetokenizer {
  readonly #tokenizer: Tokenizer;
  readonly #skipSpecialTokens: boolean;
  // It holds an unfinished character back until its last byte, and turns what cannot become one into U+FFFD.
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });

  /** The output begins a text of its own: nothing of the prompt, not even half a character, shows in it. */
  constructor(tokenizer: Tokenizer, options: { skipSpecialTokens?: boolean } = {}) {
    this.#tokenizer = tokenizer;
    this.#skipSpecialTokens = options.skipSpecialTokens ?? true;
  }

  /** The text that `id` completes; often one word, sometimes nothing. */
  push(id: number): string {
    if (this.#skipSpecialTokens && this.#tokenizer.isSpecial(id)) return '';
    return this.#decoder.decode(this.#tokenizer.tokenBytes(id), { stream: true });
  }

  /** What is left at the end: U+FFFD for an unfinished character, or nothing. */
  finish(): string {
    return this.#decoder.decode();
  }
}
