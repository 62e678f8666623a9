// Byte-level BPE writes every byte as one printable character: printable Latin-1 as itself, the other 68 bytes as the
// characters from U+0100 on, in order.
const isPrintable = (byte: number): boolean =>
  (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;

const byteOfCodePoint = new Map<number, number>();
let next = 0x100;
for (let byte = 0; byte < 256; byte++) byteOfCodePoint.set(isPrintable(byte) ? byte : next++, byte);

const utf8 = new TextEncoder();

/** The bytes that a token's text in the alphabet stands for; other text stands for its own UTF-8. */
export function bytesOfTokenText(text: string): Uint8Array {
  const bytes: number[] = [];
  for (const character of text) {
    const byte = byteOfCodePoint.get(character.codePointAt(0) ?? -1);
    if (byte === undefined) return utf8.encode(text);
    bytes.push(byte);
  }
  return Uint8Array.from(bytes);
}
