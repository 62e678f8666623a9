// What can be wrong with a model's files: a closed set of codes, each with what to do next.
const HINTS = {
  not_found: 'See what is there with: bench model list',
  unreadable: 'Check its permissions.',
  ambiguous: 'Name the .gguf file itself.',
  not_gguf: 'Name a GGUF file (version 2 or 3).',
  truncated: 'Download or convert it again: it is not complete.',
  corrupt: 'Download or convert it again.',
  unsupported: 'Convert it to a supported form (Llama or Qwen3 in MXFP4, Q8_0, BF16, F16 or F32).',
} as const;

export type ModelErrorCode = keyof typeof HINTS;

export class ModelError extends Error {
  readonly code: ModelErrorCode;
  readonly hint: string;
  constructor(code: ModelErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ModelError';
    this.code = code;
    this.hint = HINTS[code];
  }
}
