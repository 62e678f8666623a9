// Entry of the thread that tokenises long prompts. It loads the tokenizer from the module that it is told.
import { parentPort, workerData } from 'node:worker_threads';
import type { Tokenizer } from '../model/tokenizer.ts';

/** A module that exports loadTokenizer(argument). */
export interface TokenizerSource {
  module: string;
  argument: string;
}

export interface EncodeTask {
  ticket: number;
  text: string;
  addSpecialTokens: boolean;
  mostTokens: number | undefined;
}

export interface EncodeAnswer {
  ticket: number;
  ids: Int32Array | undefined;
}

interface TokenizerModule {
  loadTokenizer(argument: string): Promise<Tokenizer>;
}

/** Bytes of the longest token: no text of more bytes a token exists. */
function longestToken(tokenizer: Tokenizer): number {
  let longest = 1;
  for (let id = 0; id < tokenizer.vocabularySize; id += 1) {
    longest = Math.max(longest, tokenizer.tokenBytes(id).length);
  }
  return longest;
}

async function main(source: TokenizerSource): Promise<void> {
  const module = (await import(source.module)) as TokenizerModule;
  const tokenizer = await module.loadTokenizer(source.argument);
  const longest = longestToken(tokenizer);
  parentPort?.on('message', ({ ticket, text, addSpecialTokens, mostTokens }: EncodeTask) => {
    const hopeless = mostTokens !== undefined && text.length > mostTokens * longest;
    const ids = hopeless
      ? undefined
      : Int32Array.from(tokenizer.encode(text, { addSpecialTokens, parseSpecial: true }));
    const answer: EncodeAnswer = { ticket, ids };
    parentPort?.postMessage(answer);
  });
}

await main(workerData as TokenizerSource);
