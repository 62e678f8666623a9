// A grammar over bytes as flat tables: what the front end compiles and the engine walks. Each rule is a small automaton;
// an edge consumes a byte, goes on for nothing, or calls another rule and continues at its return state.

export interface GrammarTables {
  start: number;
  /** Edges of state s are edgeStart[s] .. edgeStart[s + 1]. */
  edgeStart: Int32Array;
  /** Lowest byte of the edge's range, or -1 for an empty edge, or -2 for a call. */
  edgeLow: Int16Array;
  edgeHigh: Int16Array;
  /** State that follows; for a call, the first state of the rule. */
  edgeTarget: Int32Array;
  /** For a call, the state to continue at when the rule has ended. */
  edgeReturn: Int32Array;
  /** 1 where a rule may end. */
  accepting: Uint8Array;
}

export const EMPTY_EDGE = -1;
export const CALL_EDGE = -2;
