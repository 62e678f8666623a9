// Log-probabilities in the form of /v1/completions: parallel lists over tokens, with the offset of each token's text.
import type { TokenLogprob } from '../frontend/engine-client.ts';
import type { ServedModel } from '../frontend/served-model.ts';
import type { CompletionLogprobs } from '../protocol/completions.ts';

/** JSON has no -Infinity; vLLM's stand-in is kept. */
const LOWEST = -9999;

export function finite(logprob: number): number {
  return Number.isFinite(logprob) ? logprob : LOWEST;
}

export class LogprobWriter {
  readonly #model: ServedModel;
  readonly #asIds: boolean;
  /** Characters of text that earlier tokens of this choice account for. */
  #offset = 0;

  constructor(model: ServedModel, asIds: boolean) {
    this.#model = model;
    this.#asIds = asIds;
  }

  /** The lists for these tokens; undefined stands for the prompt's first token, which has no probability. */
  write(firstToken: number | undefined, entries: readonly TokenLogprob[]): CompletionLogprobs {
    const lists: CompletionLogprobs = {
      tokens: [],
      token_logprobs: [],
      top_logprobs: [],
      text_offset: [],
    };
    if (firstToken !== undefined) this.#add(lists, firstToken, null, null);
    for (const entry of entries) {
      const top: Record<string, number> = {};
      entry.topIds.forEach((id, rank) => {
        // Different tokens may read alike; the likelier one keeps the name.
        top[this.#name(id)] ??= finite(entry.topLogprobs[rank] ?? LOWEST);
      });
      const name = this.#name(entry.token);
      top[name] ??= finite(entry.logprob);
      this.#add(lists, entry.token, finite(entry.logprob), top);
    }
    return lists;
  }

  #name(token: number): string {
    return tokenName(this.#model, token, this.#asIds);
  }

  #add(
    lists: CompletionLogprobs,
    token: number,
    logprob: number | null,
    top: Record<string, number> | null,
  ): void {
    lists.tokens.push(this.#name(token));
    lists.token_logprobs.push(logprob);
    lists.top_logprobs.push(top);
    lists.text_offset.push(this.#offset);
    this.#offset += tokenName(this.#model, token, false).length;
  }
}

/** A token as text, or as "token_id:N" where that was asked for. */
export function tokenName(model: ServedModel, token: number, asId: boolean): string {
  if (asId) return `token_id:${token}`;
  return model.tokenizer.decode([token], { skipSpecialTokens: false });
}

/** vLLM's prompt_logprobs: null for the first token, then a map from token id to its entry. */
export function promptLogprobList(
  model: ServedModel,
  entries: readonly TokenLogprob[],
): (Record<string, object> | null)[] {
  const maps = entries.map((entry) => {
    const map: Record<string, object> = {};
    entry.topIds.forEach((id, index) => {
      const logprob = finite(entry.topLogprobs[index] ?? LOWEST);
      map[id] = { logprob, rank: index + 1, decoded_token: tokenName(model, id, false) };
    });
    const { token, logprob, rank } = entry;
    map[token] ??= {
      logprob: finite(logprob),
      rank,
      decoded_token: tokenName(model, token, false),
    };
    return map;
  });
  return [null, ...maps];
}
