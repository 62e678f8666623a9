// Server-sent events from bytes, incrementally, as the WHATWG standard frames them: LF, CR and CRLF end a line, a blank
// line ends an event, comments and unknown fields are skipped. Framing happens on bytes, so a character split over two
// reads is never seen in halves. It does not interpret the data.
import { isUtf8 } from 'node:buffer';

export interface SseSink {
  /** A complete event. `stampNs` is that of the read whose bytes completed it. */
  event(type: string, data: string, stampNs: number): void;
  /** The bytes cannot be taken further; called at most once, and nothing follows it. */
  invalid(message: string): void;
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const BOM = [0xef, 0xbb, 0xbf] as const;
const DATA = Buffer.from('data');
const EVENT = Buffer.from('event');
const DEFAULT_MAX_EVENT_BYTES = 8 * 1024 * 1024;

export class SseParser {
  readonly #sink: SseSink;
  readonly #maxEventBytes: number;
  /** The beginning of a line whose end has not been read yet. */
  #carry = Buffer.alloc(0);
  #carryLength = 0;
  #bomBytes = 0;
  #begun = false;
  #afterCr = false;
  #type = '';
  #data = '';
  #dataBytes = 0;
  #hasData = false;
  #dead = false;

  constructor(sink: SseSink, maxEventBytes: number = DEFAULT_MAX_EVENT_BYTES) {
    this.#sink = sink;
    this.#maxEventBytes = maxEventBytes;
  }

  /** Takes the bytes of one read. The chunk is not kept after the call. */
  push(chunk: Buffer, stampNs: number): void {
    if (this.#dead) return;
    let start = this.#begun ? 0 : this.#skipBom(chunk);
    const length = chunk.length;
    for (let at = start; at < length; at += 1) {
      const byte = chunk[at];
      if (byte === LF && this.#afterCr) {
        // The second half of a CRLF whose first half already ended the line.
        this.#afterCr = false;
        start = at + 1;
      } else if (byte === LF || byte === CR) {
        this.#afterCr = byte === CR;
        this.#endLine(chunk, start, at, stampNs);
        if (this.#dead) return;
        start = at + 1;
      } else {
        this.#afterCr = false;
      }
    }
    if (start < length) this.#keep(chunk, start, length);
  }

  /** Bytes of an event that was begun and never completed; to be asked when the stream has ended. */
  unfinishedBytes(): number {
    const comment = this.#carryLength > 0 && this.#carry[0] === COLON;
    return this.#dataBytes + (comment ? 0 : this.#carryLength);
  }

  #skipBom(chunk: Buffer): number {
    let at = 0;
    while (at < chunk.length && this.#bomBytes < 3 && chunk[at] === BOM[this.#bomBytes]) {
      this.#bomBytes += 1;
      at += 1;
    }
    if (this.#bomBytes === 3) {
      this.#begun = true;
    } else if (at < chunk.length) {
      // Not a mark after all: what an earlier read took for its beginning belongs to the first line.
      this.#begun = true;
      this.#keep(Buffer.from(BOM.slice(0, this.#bomBytes)), 0, this.#bomBytes);
    }
    return at;
  }

  #keep(chunk: Buffer, start: number, end: number): void {
    const needed = this.#carryLength + (end - start);
    if (needed + this.#dataBytes > this.#maxEventBytes) {
      this.#fail(`An event is longer than ${this.#maxEventBytes} bytes.`);
      return;
    }
    if (needed > this.#carry.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, this.#carry.length * 2, 1024));
      this.#carry.copy(grown, 0, 0, this.#carryLength);
      this.#carry = grown;
    }
    chunk.copy(this.#carry, this.#carryLength, start, end);
    this.#carryLength = needed;
  }

  #endLine(chunk: Buffer, start: number, end: number, stampNs: number): void {
    if (this.#carryLength === 0) {
      this.#line(chunk, start, end, stampNs);
      return;
    }
    this.#keep(chunk, start, end);
    const length = this.#carryLength;
    this.#carryLength = 0;
    if (!this.#dead) this.#line(this.#carry, 0, length, stampNs);
  }

  #line(bytes: Buffer, start: number, end: number, stampNs: number): void {
    if (start === end) {
      this.#dispatch(stampNs);
    } else if (isField(bytes, start, end, DATA)) {
      const from = valueStart(bytes, start + DATA.length, end);
      // The line end counts too: a flood of empty data lines is as large as it looks.
      this.#dataBytes += end - from + 1;
      if (this.#dataBytes > this.#maxEventBytes) {
        this.#fail(`An event is longer than ${this.#maxEventBytes} bytes.`);
        return;
      }
      const value = this.#decode(bytes, from, end);
      this.#data = this.#hasData ? `${this.#data}\n${value}` : value;
      this.#hasData = true;
    } else if (isField(bytes, start, end, EVENT)) {
      this.#type = this.#decode(bytes, valueStart(bytes, start + EVENT.length, end), end);
    }
    // Comments, id, retry and fields that nobody knows have no meaning here.
  }

  #decode(bytes: Buffer, start: number, end: number): string {
    const text = bytes.toString('utf8', start, end);
    // U+FFFD is a legal character, and servers send it; it is also what the decoder writes for bytes that are no UTF-8.
    if (text.includes('\ufffd') && !isUtf8(bytes.subarray(start, end))) {
      this.#fail(`An event holds bytes that are not UTF-8: ${text.slice(0, 80)}`);
    }
    return text;
  }

  #dispatch(stampNs: number): void {
    const type = this.#type;
    const data = this.#data;
    const hasData = this.#hasData;
    this.#type = '';
    this.#data = '';
    this.#dataBytes = 0;
    this.#hasData = false;
    if (hasData) this.#sink.event(type, data, stampNs);
  }

  #fail(message: string): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#sink.invalid(message);
  }
}

function isField(bytes: Buffer, start: number, end: number, name: Buffer): boolean {
  const after = start + name.length;
  if (after > end || (after < end && bytes[after] !== COLON)) return false;
  for (let at = 0; at < name.length; at += 1) {
    if (bytes[start + at] !== name[at]) return false;
  }
  return true;
}

function valueStart(bytes: Buffer, colon: number, end: number): number {
  if (colon >= end) return end;
  return colon + 1 < end && bytes[colon + 1] === SPACE ? colon + 2 : colon + 1;
}
