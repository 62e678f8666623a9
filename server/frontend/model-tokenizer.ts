// The tokenizer of a model by its spec, for the thread that tokenises long prompts.
import { openModel } from '../model/open-model.ts';
import type { Tokenizer } from '../model/tokenizer.ts';

/** Reads it again from the model's files; no weights are read. */
export async function loadTokenizer(spec: string): Promise<Tokenizer> {
  const { tokenizer } = await openModel(spec);
  return tokenizer;
}
