// Log-probabilities of one row of logits, as the model left them: of any token, with its rank, and of the likeliest.
import type { TokenLogprob } from '../frontend/engine-client.ts';

export interface RowLogprobs {
  /** The entry of one token; ranks count from 1, ties rank alike. */
  of(token: number): TokenLogprob;
}

/** Reads a row; `top` alternatives are kept, -1 keeps all. The row may be overwritten afterwards. */
export function rowLogprobs(logits: Float32Array, top: number): RowLogprobs {
  const copy = logits.slice();
  let largest = Number.NEGATIVE_INFINITY;
  for (const logit of copy) if (logit > largest) largest = logit;
  let sum = 0;
  for (const logit of copy) sum += Math.exp(logit - largest);
  const normaliser = largest + Math.log(sum);
  const topIds = likeliest(copy, top < 0 ? copy.length : Math.min(top, copy.length));
  const topLogprobs = Float64Array.from(topIds, (id) => (copy[id] ?? 0) - normaliser);
  return {
    of(token) {
      const logit = copy[token] ?? Number.NEGATIVE_INFINITY;
      let rank = 1;
      for (const other of copy) if (other > logit) rank += 1;
      return { token, logprob: logit - normaliser, rank, topIds, topLogprobs };
    },
  };
}

/** Ids of the `count` greatest logits, greatest first, lower id first among equals. */
function likeliest(logits: Float32Array, count: number): Int32Array {
  if (count > 64) {
    const ids = Int32Array.from(logits.keys());
    return ids.sort((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0) || a - b).slice(0, count);
  }
  const ids: number[] = [];
  for (let id = 0; id < logits.length; id += 1) {
    const logit = logits[id] ?? 0;
    const last = ids.at(-1);
    if (ids.length === count && (last === undefined || logit <= (logits[last] ?? 0))) continue;
    let at = ids.length;
    while (at > 0 && (logits[ids[at - 1] ?? 0] ?? 0) < logit) at -= 1;
    ids.splice(at, 0, id);
    if (ids.length > count) ids.pop();
  }
  return Int32Array.from(ids);
}
