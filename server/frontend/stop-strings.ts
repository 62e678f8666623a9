// Finds stop strings in text that arrives in pieces, over any borders between pieces. Text that could still become a
// stop string is held back; nothing else is. The result does not depend on where the pieces begin and end.

export interface StopOutcome {
  /** Text that may be shown now. */
  text: string;
  /** The stop string that was found; the text then ends with or before it and no more will come. */
  stop: string | undefined;
}

export class StopMatcher {
  readonly #stops: readonly string[];
  readonly #include: boolean;
  readonly #longest: number;
  #held = '';

  /** `include` keeps the stop string in the text. */
  constructor(stops: readonly string[], include: boolean) {
    this.#stops = stops;
    this.#include = include;
    this.#longest = Math.max(0, ...stops.map(({ length }) => length));
  }

  /** Takes the next piece of text. */
  push(piece: string): StopOutcome {
    const text = this.#held + piece;
    const found = this.#find(text);
    if (found) {
      this.#held = '';
      return { text: text.slice(0, this.#include ? found.end : found.start), stop: found.stop };
    }
    const held = this.#possibleStart(text);
    this.#held = text.slice(text.length - held);
    return { text: text.slice(0, text.length - held), stop: undefined };
  }

  /** What was held back; call it at the end of the text. */
  flush(): string {
    const text = this.#held;
    this.#held = '';
    return text;
  }

  /** The match that ends first, and of those the longest: what reading character by character would find. */
  #find(text: string): { start: number; end: number; stop: string } | undefined {
    let best: { start: number; end: number; stop: string } | undefined;
    for (const stop of this.#stops) {
      const start = text.indexOf(stop);
      if (start < 0) continue;
      const end = start + stop.length;
      const better = !best || end < best.end || (end === best.end && start < best.start);
      if (better) best = { start, end, stop };
    }
    return best;
  }

  /** Length of the longest end of the text with which a stop string begins. */
  #possibleStart(text: string): number {
    for (let length = Math.min(this.#longest - 1, text.length); length > 0; length -= 1) {
      const end = text.slice(text.length - length);
      if (this.#stops.some((stop) => stop.length > length && stop.startsWith(end))) return length;
    }
    return 0;
  }
}
