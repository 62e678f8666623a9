// Splits text that arrives in pieces at known tags, over any borders between pieces. Text that could still become a
// tag is held back. The result does not depend on where the pieces begin and end.

export type Scanned = { text: string } | { tag: string };

export class TagScanner {
  readonly #tags: readonly string[];
  #held = '';

  constructor(tags: readonly string[]) {
    this.#tags = tags;
  }

  /** Texts and tags in order; texts are never empty. */
  push(piece: string): Scanned[] {
    const found: Scanned[] = [];
    let rest = this.#held + piece;
    for (;;) {
      const next = this.#first(rest);
      if (!next) break;
      if (next.at > 0) found.push({ text: rest.slice(0, next.at) });
      found.push({ tag: next.tag });
      rest = rest.slice(next.at + next.tag.length);
    }
    const keep = this.#possibleStart(rest);
    if (rest.length > keep) found.push({ text: rest.slice(0, rest.length - keep) });
    this.#held = rest.slice(rest.length - keep);
    return found;
  }

  /** What was held back, at the end of the text. */
  flush(): string {
    const held = this.#held;
    this.#held = '';
    return held;
  }

  #first(text: string): { at: number; tag: string } | undefined {
    let best: { at: number; tag: string } | undefined;
    for (const tag of this.#tags) {
      const at = text.indexOf(tag);
      if (at >= 0 && (!best || at < best.at)) best = { at, tag };
    }
    return best;
  }

  #possibleStart(text: string): number {
    const longest = Math.max(...this.#tags.map(({ length }) => length));
    for (let length = Math.min(longest - 1, text.length); length > 0; length -= 1) {
      const end = text.slice(-length);
      if (this.#tags.some((tag) => tag.length > length && tag.startsWith(end))) return length;
    }
    return 0;
  }
}
