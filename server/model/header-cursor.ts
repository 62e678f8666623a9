// Reads a GGUF header forwards. Every length is checked against what the file still holds before anything is allocated,
// so a header of 160 bytes cannot ask for gigabytes, and a file of gigabytes cannot pass for one long header.
import { readSync } from 'node:fs';
import { ModelError } from './errors.ts';

const WINDOW_BYTES = 1 << 20;
/** The largest vocabularies known take about a sixth of this. */
const MOST_HEADER_BYTES = 64 << 20;

export class HeaderCursor {
  readonly #fd: number;
  readonly #fileBytes: number;
  /** Where the header has to end at the latest. */
  readonly #limit: number;
  #window = Buffer.alloc(0);
  #windowStart = 0;
  #position = 0;

  constructor(fd: number, fileBytes: number) {
    this.#fd = fd;
    this.#fileBytes = fileBytes;
    this.#limit = Math.min(fileBytes, MOST_HEADER_BYTES);
  }

  /** Bytes read so far. */
  get position(): number {
    return this.#position;
  }

  /** Bytes that the header may still take. */
  get remainingBytes(): number {
    return this.#limit - this.#position;
  }

  u8(): number {
    return this.#take(1).readUInt8();
  }
  i8(): number {
    return this.#take(1).readInt8();
  }
  u16(): number {
    return this.#take(2).readUInt16LE();
  }
  i16(): number {
    return this.#take(2).readInt16LE();
  }
  u32(): number {
    return this.#take(4).readUInt32LE();
  }
  i32(): number {
    return this.#take(4).readInt32LE();
  }
  f32(): number {
    return this.#take(4).readFloatLE();
  }
  f64(): number {
    return this.#take(8).readDoubleLE();
  }
  /** As a number: values above 2^53 lose their last bits, which no caller can tell from too large. */
  u64(): number {
    return Number(this.#take(8).readBigUInt64LE());
  }
  i64(): number {
    return Number(this.#take(8).readBigInt64LE());
  }

  /** A count of things that take at least `leastBytes` each; more than the file can hold is ModelError truncated. */
  count(leastBytes: number, what: string): number {
    const count = this.u64();
    if (count * leastBytes > this.remainingBytes) {
      throw new ModelError(
        'truncated',
        `The header announces ${count} ${what}, more than ${this.#holder()} can hold.`,
      );
    }
    return count;
  }

  string(what: string): string {
    const length = this.count(1, `bytes of ${what}`);
    return this.#take(length).toString('utf8');
  }

  #holder(): string {
    return this.#limit < this.#fileBytes
      ? `the ${this.#limit} bytes that a header may have`
      : `the file of ${this.#fileBytes} bytes`;
  }

  #take(bytes: number): Buffer {
    if (bytes > this.remainingBytes) {
      throw new ModelError('truncated', `The header does not end within ${this.#holder()}.`);
    }
    let offset = this.#position - this.#windowStart;
    if (offset + bytes > this.#window.length) {
      this.#refill(bytes);
      offset = 0;
    }
    this.#position += bytes;
    return this.#window.subarray(offset, offset + bytes);
  }

  #refill(bytes: number): void {
    const wanted = Math.min(this.remainingBytes, Math.max(bytes, WINDOW_BYTES));
    const window = Buffer.allocUnsafe(wanted);
    let filled = 0;
    while (filled < wanted) {
      const read = readSync(this.#fd, window, filled, wanted - filled, this.#position + filled);
      if (read === 0)
        throw new ModelError('truncated', 'The file became shorter while it was read.');
      filled += read;
    }
    this.#window = window;
    this.#windowStart = this.#position;
  }
}
