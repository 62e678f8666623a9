// When a sequence ends. The order of the rules is part of the contract: before min_tokens nothing ends it; then end
// of sequence, stop ids, length. Stop strings are text and live in the front end.
import type { Sequence } from './sequence.ts';

/** Why a sequence ended, as it crosses threads; 0 while it goes on. */
export const FINISH = { none: 0, eos: 1, stopId: 2, length: 3, abort: 4, error: 5 } as const;
export type FinishCode = (typeof FINISH)[keyof typeof FINISH];

/** Judges the token that was just appended. */
export function finishOf(
  sequence: Sequence,
  token: number,
  eosIds: readonly number[],
  maxModelLength: number,
): FinishCode {
  const { spec } = sequence;
  if (sequence.length >= maxModelLength) return lastToken(sequence, token, eosIds);
  if (sequence.outputTokens < spec.minTokens) return FINISH.none;
  if (!spec.ignoreEos && eosIds.includes(token)) return FINISH.eos;
  if (spec.stopTokenIds.includes(token)) return FINISH.stopId;
  if (sequence.outputTokens >= spec.maxTokens) return FINISH.length;
  return FINISH.none;
}

function lastToken(sequence: Sequence, token: number, eosIds: readonly number[]): FinishCode {
  if (sequence.outputTokens >= sequence.spec.minTokens) {
    if (!sequence.spec.ignoreEos && eosIds.includes(token)) return FINISH.eos;
    if (sequence.spec.stopTokenIds.includes(token)) return FINISH.stopId;
  }
  return FINISH.length;
}
