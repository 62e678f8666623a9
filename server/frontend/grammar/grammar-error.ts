// A grammar that cannot be used: wrong, unsupported or too large. The message is a clause for the client.

export class GrammarError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'GrammarError';
  }
}
