// Regular expressions as grammars: literals, classes, groups, alternatives and repeats, over characters. What has no
// meaning here, such as look-around and back references, is refused. The whole text must match, so anchors at the ends
// say nothing and are dropped.
import { GrammarError } from './grammar-error.ts';
import { either, type GrammarNode, literal, NOTHING, repeat, sequence } from './grammar-node.ts';
import { type CodeRange, characters, complement, LAST_CODE_POINT } from './utf8-ranges.ts';

const DIGITS: CodeRange[] = [[0x30, 0x39]];
const WORDS: CodeRange[] = [...DIGITS, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]];
const SPACES: CodeRange[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
];
const LINE_ENDS: CodeRange[] = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
];
const CLASSES: Readonly<Record<string, CodeRange[]>> = {
  d: DIGITS,
  D: complement(DIGITS),
  w: WORDS,
  W: complement(WORDS),
  s: SPACES,
  S: complement(SPACES),
};
const CONTROLS: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, f: 12, v: 11, '0': 0 };
const MOST_REPEATS = 1000;
const DEEPEST_GROUP = 64;

class RegexParser {
  readonly #characters: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(pattern: string) {
    this.#characters = [...pattern];
  }

  parse(): GrammarNode {
    const node = this.#either();
    if (this.#at < this.#characters.length) this.#fail('an unmatched ")"');
    return node;
  }

  #fail(what: string): never {
    throw new GrammarError(`the pattern has ${what} at character ${this.#at + 1}`);
  }

  #peek(): string | undefined {
    return this.#characters[this.#at];
  }

  #take(): string {
    const character = this.#characters[this.#at];
    if (character === undefined) return this.#fail('an end where more was expected');
    this.#at += 1;
    return character;
  }

  #takeIf(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at += 1;
    return true;
  }

  #either(): GrammarNode {
    const options = [this.#sequence()];
    while (this.#takeIf('|')) options.push(this.#sequence());
    return options.length === 1 && options[0] ? options[0] : either(...options);
  }

  #sequence(): GrammarNode {
    const parts: GrammarNode[] = [];
    for (;;) {
      const next = this.#peek();
      if (next === undefined || next === '|' || next === ')') return sequence(...parts);
      parts.push(this.#repeated());
    }
  }

  #repeated(): GrammarNode {
    let node = this.#atom();
    for (;;) {
      const bounds = this.#bounds();
      if (!bounds) return node;
      // Laziness changes which match is found, not which texts match.
      this.#takeIf('?');
      node = repeat(node, bounds[0], bounds[1]);
    }
  }

  #bounds(): [number, number] | undefined {
    if (this.#takeIf('*')) return [0, Number.POSITIVE_INFINITY];
    if (this.#takeIf('+')) return [1, Number.POSITIVE_INFINITY];
    if (this.#takeIf('?')) return [0, 1];
    if (this.#peek() !== '{') return undefined;
    const rest = this.#characters.slice(this.#at, this.#at + 24).join('');
    const match = /^\{(\d{1,9})(,(\d{0,9}))?\}/.exec(rest);
    if (!match) return this.#fail('a "{" that is no repeat; write "\\{" for the character');
    this.#at += match[0].length;
    const least = Number(match[1]);
    const most =
      match[2] === undefined
        ? least
        : match[3] === ''
          ? Number.POSITIVE_INFINITY
          : Number(match[3]);
    if (least > most) this.#fail('a repeat whose bounds are the wrong way round');
    if (least > MOST_REPEATS || (most > MOST_REPEATS && most !== Number.POSITIVE_INFINITY)) {
      this.#fail(`a repeat of more than ${MOST_REPEATS}`);
    }
    return [least, most];
  }

  #atom(): GrammarNode {
    const character = this.#take();
    switch (character) {
      case '(':
        return this.#group();
      case '[':
        return this.#class();
      case '.':
        return characters(complement(LINE_ENDS));
      case '\\':
        return this.#escaped();
      case '^':
        if (this.#at === 1) return NOTHING;
        return this.#fail('an anchor inside');
      case '$':
        if (this.#at === this.#characters.length) return NOTHING;
        return this.#fail('an anchor inside');
      case '*':
      case '+':
      case '?':
      case '{':
        return this.#fail(`a "${character}" with nothing before it`);
      default:
        return literal(character);
    }
  }

  #group(): GrammarNode {
    this.#depth += 1;
    if (this.#depth > DEEPEST_GROUP) this.#fail('groups that are nested too deeply');
    if (this.#takeIf('?')) {
      const kind = this.#take();
      const isNamed = kind === '<' && /[A-Za-z_]/.test(this.#peek() ?? '');
      if (isNamed) while (this.#take() !== '>');
      else if (kind !== ':') this.#fail('a kind of group that is not supported');
    }
    const node = this.#either();
    if (!this.#takeIf(')')) this.#fail('a group without its end');
    this.#depth -= 1;
    return node;
  }

  #escaped(): GrammarNode {
    const ranges = this.#escape();
    return characters(ranges);
  }

  /** After a backslash. */
  #escape(): CodeRange[] {
    const character = this.#take();
    const known = Object.hasOwn(CLASSES, character) ? CLASSES[character] : undefined;
    if (known) return known;
    const code = this.#escapedCode(character);
    return [[code, code]];
  }

  #escapedCode(character: string): number {
    if (character === 'x') return this.#hex(2);
    if (character === 'u') return this.#hex(4);
    const control = Object.hasOwn(CONTROLS, character) ? CONTROLS[character] : undefined;
    if (control !== undefined) return control;
    if (/[A-Za-z0-9]/.test(character)) this.#fail(`"\\${character}", which is not supported,`);
    return character.codePointAt(0) ?? 0;
  }

  #hex(digits: number): number {
    const text = this.#characters.slice(this.#at, this.#at + digits).join('');
    if (!/^[0-9a-fA-F]+$/.test(text) || text.length !== digits) this.#fail('a broken escape');
    this.#at += digits;
    return Number.parseInt(text, 16);
  }

  #class(): GrammarNode {
    const negated = this.#takeIf('^');
    const ranges: CodeRange[] = [];
    let first = true;
    while (first || this.#peek() !== ']') {
      first = false;
      const from = this.#classMember();
      const isRange = this.#peek() === '-' && (this.#characters[this.#at + 1] ?? ']') !== ']';
      if (!isRange) {
        ranges.push(...from);
        continue;
      }
      this.#at += 1;
      const to = this.#classMember();
      const low = from[0]?.[0] ?? 0;
      const high = to[0]?.[1] ?? LAST_CODE_POINT;
      if (from.length !== 1 || to.length !== 1 || low > high) this.#fail('a broken range');
      ranges.push([low, high]);
    }
    this.#at += 1;
    return characters(negated ? complement(ranges) : ranges);
  }

  #classMember(): CodeRange[] {
    const character = this.#take();
    if (character === '\\') return this.#peek() === 'b' ? this.#backspace() : this.#escape();
    const code = character.codePointAt(0) ?? 0;
    return [[code, code]];
  }

  #backspace(): CodeRange[] {
    this.#at += 1;
    return [[8, 8]];
  }
}

/** The texts that the pattern matches as a whole; GrammarError says what is not supported. */
export function regexGrammar(pattern: string): GrammarNode {
  return new RegexParser(pattern).parse();
}
