// What kind a token is, by the numbers that GGUF files use.

export const NORMAL = 1;
/** Has a meaning instead of a text, such as the end of a message. */
export const CONTROL = 3;
/** Text that is always one token, whatever the merges say. */
export const USER_DEFINED = 4;
export const UNUSED = 5;
