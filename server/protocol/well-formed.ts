// Unicode checks that JSON does not make: a string may hold half of a surrogate pair, which no text does.

/** True when the text holds no lone surrogate. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}
