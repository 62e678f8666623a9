// Unicode checks that JSON does not make: a string may hold half of a surrogate pair, which no text does.

/** In every supported Node, but not yet in the language level that is compiled for. */
interface WithWellFormed {
  isWellFormed(): boolean;
}

/** True when the text holds no lone surrogate. */
export function isWellFormed(text: string): boolean {
  return (text as unknown as WithWellFormed).isWellFormed();
}
