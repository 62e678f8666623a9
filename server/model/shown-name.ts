// Names that come from a file and go into a message: whatever they hold, the message stays one short line.

const MOST_CHARACTERS = 80;

/** The name in printable ASCII, at most 80 characters of it. */
export function shown(name: string): string {
  return name.slice(0, MOST_CHARACTERS).replace(/[^\x20-\x7e]/g, '?');
}
