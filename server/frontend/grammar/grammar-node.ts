// The pieces that grammars are made of before they become tables.

export type GrammarNode =
  | { kind: 'byte'; low: number; high: number }
  | { kind: 'sequence'; parts: readonly GrammarNode[] }
  | { kind: 'either'; options: readonly GrammarNode[] }
  | { kind: 'repeat'; part: GrammarNode; least: number; most: number }
  | { kind: 'rule'; name: string };

/** Named rules; the sentence is what the rule "root" describes. */
export type Grammar = Map<string, GrammarNode>;

export const NOTHING: GrammarNode = { kind: 'sequence', parts: [] };

export function sequence(...parts: GrammarNode[]): GrammarNode {
  return { kind: 'sequence', parts };
}

export function either(...options: GrammarNode[]): GrammarNode {
  return { kind: 'either', options };
}

/** `most` may be Infinity. */
export function repeat(part: GrammarNode, least: number, most: number): GrammarNode {
  return { kind: 'repeat', part, least, most };
}

export function maybe(part: GrammarNode): GrammarNode {
  return repeat(part, 0, 1);
}

export function rule(name: string): GrammarNode {
  return { kind: 'rule', name };
}

export function byte(low: number, high: number = low): GrammarNode {
  return { kind: 'byte', low, high };
}

/** Exactly this text, as UTF-8. */
export function literal(text: string): GrammarNode {
  return sequence(...[...Buffer.from(text, 'utf8')].map((each) => byte(each)));
}

/** One of these characters, all ASCII. */
export function oneOf(characters: string): GrammarNode {
  return either(...[...characters].map((each) => byte(each.charCodeAt(0))));
}
