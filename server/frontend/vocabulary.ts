// The bytes of every token in one piece, for the engine's grammars; sent with the first request that needs them.
import type { EngineClient, VocabularyBytes } from './engine-client.ts';
import type { ServedModel } from './served-model.ts';

const taught = new WeakSet<EngineClient>();

/** Sends the vocabulary unless the engine has it. */
export function teachVocabulary(engine: EngineClient, model: ServedModel): void {
  if (taught.has(engine)) return;
  taught.add(engine);
  engine.learnVocabulary(vocabularyBytes(model));
}

/** Special tokens get no bytes, so that no text can stand for them. */
export function vocabularyBytes({ tokenizer, vocabulary }: ServedModel): VocabularyBytes {
  const parts: Uint8Array[] = [];
  const start = new Int32Array(vocabulary + 1);
  for (let id = 0; id < vocabulary; id += 1) {
    const known = id < tokenizer.vocabularySize && !tokenizer.isSpecial(id);
    const part = known ? tokenizer.tokenBytes(id) : new Uint8Array();
    parts.push(part);
    start[id + 1] = (start[id] ?? 0) + part.length;
  }
  return { bytes: Uint8Array.from(Buffer.concat(parts)), start };
}
