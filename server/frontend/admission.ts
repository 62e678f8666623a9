// Bounds how many sequences the server holds at once, so that overload is answered at once and not by a growing queue.
import { ServerError } from '../errors.ts';

export class Admission {
  readonly #limit: number;
  #held = 0;
  #draining = false;

  /** `limit` counts running and queued sequences together. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get held(): number {
    return this.#held;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** From now on every newcomer is refused. */
  drain(): void {
    this.#draining = true;
  }

  /** Takes room for a request's sequences, or throws overloaded or shutting_down. */
  take(sequences: number): void {
    if (this.#draining) {
      throw new ServerError(
        'shutting_down',
        'The server is shutting down; send the request elsewhere.',
      );
    }
    if (sequences > this.#limit) {
      throw new ServerError(
        'invalid_request',
        `The request brings ${sequences} sequences (prompts times n), but the server holds at most ${this.#limit}.`,
      );
    }
    if (this.#held + sequences > this.#limit) {
      throw new ServerError(
        'overloaded',
        `The server holds ${this.#held} of at most ${this.#limit} sequences and this request brings ${sequences}; try again later.`,
      );
    }
    this.#held += sequences;
  }

  release(sequences: number): void {
    this.#held -= sequences;
  }
}
