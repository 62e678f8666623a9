// Penalties, bias, allowed ids and bad words on one row of logits, in the order that vLLM applies them: allowed ids, bad
// words, bias, then repetition, frequency and presence penalties. Costs grow with what is asked, not with the vocabulary.

import type { LogitRules, Sequence } from '../scheduler/sequence.ts';

/** How often a sequence holds each token; reads only tokens that are new since the last call. */
export class TokenCounts {
  readonly prompt = new Set<number>();
  readonly output = new Map<number, number>();
  #seen = 0;

  advance(sequence: Sequence): void {
    const { tokens, length, promptLength } = sequence;
    for (let at = this.#seen; at < length; at += 1) {
      const token = tokens[at] ?? 0;
      if (at < promptLength) this.prompt.add(token);
      else this.output.set(token, (this.output.get(token) ?? 0) + 1);
    }
    this.#seen = length;
  }
}

/** Changes the logits in place by the rules. */
export function applyRules(
  logits: Float32Array,
  sequence: Sequence,
  rules: LogitRules,
  counts: TokenCounts,
): void {
  if (rules.allowedIds.length > 0) keepOnly(logits, rules.allowedIds);
  for (const word of rules.badWords) forbid(logits, sequence, word);
  for (let index = 0; index < rules.biasIds.length; index += 1) {
    const id = rules.biasIds[index] ?? 0;
    logits[id] = (logits[id] ?? 0) + (rules.biasValues[index] ?? 0);
  }
  if (rules.repetitionPenalty !== 1) repel(logits, rules.repetitionPenalty, counts);
  if (rules.frequencyPenalty === 0 && rules.presencePenalty === 0) return;
  for (const [id, count] of counts.output) {
    const penalty = rules.frequencyPenalty * count + rules.presencePenalty;
    logits[id] = (logits[id] ?? 0) - penalty;
  }
}

/** Forbids the last token of a word whose other tokens were just drawn. */
function forbid(logits: Float32Array, sequence: Sequence, word: Int32Array): void {
  const lead = word.length - 1;
  if (lead > sequence.outputTokens) return;
  const from = sequence.length - lead;
  for (let index = 0; index < lead; index += 1) {
    if (sequence.tokens[from + index] !== word[index]) return;
  }
  logits[word[lead] ?? 0] = Number.NEGATIVE_INFINITY;
}

function repel(logits: Float32Array, penalty: number, counts: TokenCounts): void {
  const once = (id: number): void => {
    const logit = logits[id] ?? 0;
    logits[id] = logit > 0 ? logit / penalty : logit * penalty;
  };
  for (const id of counts.prompt) once(id);
  for (const id of counts.output.keys()) if (!counts.prompt.has(id)) once(id);
}

/** Takes all probability from other ids. */
function keepOnly(logits: Float32Array, ids: Int32Array): void {
  const kept = Float32Array.from(ids, (id) => logits[id] ?? Number.NEGATIVE_INFINITY);
  logits.fill(Number.NEGATIVE_INFINITY);
  for (let index = 0; index < ids.length; index += 1) logits[ids[index] ?? 0] = kept[index] ?? 0;
}
