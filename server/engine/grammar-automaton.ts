// Walks a grammar byte by byte. A position is the set of all places where the text so far may be, each with the rules
// that it has to return to; positions are interned and remember where each byte leads, so that the second visit is one
// array look-up.
import { CALL_EDGE, EMPTY_EDGE, type GrammarTables } from '../scheduler/sequence.ts';

/** Rules may call each other this deep; JSON nested deeper cannot be written. */
const DEEPEST = 96;
/** Places in one position; a grammar that is more ambiguous is given up. */
const MOST_PLACES = 4096;

interface Place {
  id: number;
  state: number;
  parent: Place | undefined;
  depth: number;
}

export interface Position {
  places: readonly Place[];
  /** The text so far is a whole sentence. */
  accepting: boolean;
  /** Where each byte leads: null is nowhere, undefined is not known yet. */
  next: (Position | null | undefined)[];
}

/** The grammar asks for more work than one request may cost. */
export class GrammarOverload extends Error {
  constructor() {
    super('the grammar is too ambiguous');
    this.name = 'GrammarOverload';
  }
}

export class GrammarAutomaton {
  readonly start: Position;
  readonly #tables: GrammarTables;
  readonly #places = new Map<string, Place>();
  readonly #positions = new Map<string, Position>();

  constructor(tables: GrammarTables) {
    this.#tables = tables;
    const start = this.#close([this.#place(tables.start, undefined)]);
    this.start = start ?? { places: [], accepting: false, next: [] };
  }

  /** The position after one more byte, or null when no sentence goes on so. */
  step(position: Position, byte: number): Position | null {
    const known = position.next[byte];
    if (known !== undefined) return known;
    const { edgeStart, edgeLow, edgeHigh, edgeTarget } = this.#tables;
    const reached: Place[] = [];
    for (const { state, parent } of position.places) {
      const end = edgeStart[state + 1] ?? 0;
      for (let edge = edgeStart[state] ?? 0; edge < end; edge += 1) {
        const low = edgeLow[edge] ?? 0;
        if (low < 0 || byte < low || byte > (edgeHigh[edge] ?? 0)) continue;
        reached.push(this.#place(edgeTarget[edge] ?? 0, parent));
      }
    }
    const next = this.#close(reached);
    position.next[byte] = next;
    return next;
  }

  #place(state: number, parent: Place | undefined): Place {
    const key = `${state},${parent?.id ?? ''}`;
    let place = this.#places.get(key);
    if (!place) {
      place = { id: this.#places.size, state, parent, depth: (parent?.depth ?? -1) + 1 };
      this.#places.set(key, place);
    }
    return place;
  }

  /** Follows empty edges, calls and returns; null when nothing is left. */
  #close(begin: readonly Place[]): Position | null {
    const { edgeStart, edgeLow, edgeTarget, edgeReturn, accepting } = this.#tables;
    const seen = new Set(begin);
    const open = [...seen];
    const useful: Place[] = [];
    let whole = false;
    const visit = (place: Place): void => {
      if (seen.has(place) || place.depth > DEEPEST) return;
      seen.add(place);
      open.push(place);
    };
    for (let place = open.pop(); place; place = open.pop()) {
      if (seen.size > MOST_PLACES) throw new GrammarOverload();
      const { state, parent } = place;
      if (accepting[state] === 1) {
        if (parent) visit(this.#place(parent.state, parent.parent));
        else whole = true;
      }
      let consumes = false;
      const end = edgeStart[state + 1] ?? 0;
      for (let edge = edgeStart[state] ?? 0; edge < end; edge += 1) {
        const low = edgeLow[edge] ?? 0;
        const target = edgeTarget[edge] ?? 0;
        if (low === EMPTY_EDGE) visit(this.#place(target, parent));
        else if (low === CALL_EDGE)
          visit(this.#place(target, this.#place(edgeReturn[edge] ?? 0, parent)));
        else consumes = true;
      }
      if (consumes) useful.push(place);
    }
    return useful.length === 0 && !whole ? null : this.#intern(useful, whole);
  }

  #intern(places: Place[], accepting: boolean): Position {
    const sorted = places.sort((a, b) => a.id - b.id);
    const key = `${accepting}:${sorted.map(({ id }) => id).join(',')}`;
    let position = this.#positions.get(key);
    if (!position) {
      position = { places: sorted, accepting, next: [] };
      this.#positions.set(key, position);
    }
    return position;
  }
}
