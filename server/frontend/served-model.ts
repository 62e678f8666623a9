// The model as the front end knows it: its names, its tokenizer and its bounds. It holds no weights.
import type { Tokenizer } from '../model/tokenizer.ts';
import type { PromptEncoder } from './prompt-encoder.ts';

export interface ServedModel {
  /** The name in replies. */
  name: string;
  /** All names that requests may use. */
  names: readonly string[];
  path: string;
  tokenizer: Tokenizer;
  encoder: PromptEncoder;
  /** Ids below this exist in the model. */
  vocabulary: number;
  chatTemplate: string | undefined;
  synthetic: boolean;
  quantisation: string;
  parameters: number;
  fileBytes: number;
  /** Of the weights; the first call reads them whole. */
  sha256(): Promise<string>;
  /** Unix time in seconds. */
  created: number;
}
