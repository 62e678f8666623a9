// How floors rise: to a lower bound that two sessions on different boots confirm, by half of the distance (statistics
// section 3.5). A floor that follows point estimates gives false alarms in a third of sessions; this one in none.

/** The lower bound of one session for one cell, as a ratio. */
export interface SessionBound {
  record: string;
  bootId: string;
  /** Milliseconds since the epoch. */
  measuredAtMs: number;
  lower: number;
}

export interface RatchetStep {
  floor: number;
  /** The two records that confirm it. */
  setBy: [string, string];
}

/** The two newest sessions on different boots, newest first; null when there are none. */
function confirmed(sessions: readonly SessionBound[]): [SessionBound, SessionBound] | null {
  const newest = [...sessions].sort((x, y) => y.measuredAtMs - x.measuredAtMs);
  const [first] = newest;
  const second = newest.find(({ bootId }) => bootId !== first?.bootId);
  return first === undefined || second === undefined ? null : [first, second];
}

/**
 * The floor that two confirmed lower bounds allow: none is set yet (undefined): the lower of the two; else half of the way
 * (on the log scale) up to it. Null when it would not rise: a ratchet never lowers.
 */
export function ratchet(
  floor: number | undefined,
  sessions: readonly SessionBound[],
): RatchetStep | null {
  const pair = confirmed(sessions);
  if (pair === null) return null;
  const [first, second] = pair;
  const bound = Math.min(first.lower, second.lower);
  const setBy: [string, string] = [first.record, second.record];
  if (!(bound > 0) || !Number.isFinite(bound)) return null;
  if (floor === undefined) return { floor: roundDown(bound), setBy };
  if (bound <= floor) return null;
  const raised = roundDown(Math.sqrt(floor * bound));
  return raised > floor ? { floor: raised, setBy } : null;
}

export interface StaleFloor {
  /** What the ratchet would set; printed by the gate. */
  proposed: RatchetStep;
  /** The proposal has stood for 30 days: the gate says PENDING floor_stale. */
  stale: boolean;
}

const STALE_AFTER_MS = 30 * 24 * 3600 * 1000;

/**
 * A floor so far below what is measured that it could not fail: both confirmed bounds exceed it by more than 3 margins.
 * Null when it is tight enough. `nowMs` in milliseconds since the epoch.
 */
export function staleFloor(
  floor: number,
  margin: number,
  sessions: readonly SessionBound[],
  nowMs: number,
): StaleFloor | null {
  const above = sessions.filter(({ lower }) => lower > floor * (1 + 3 * margin));
  const newest = confirmed(sessions);
  if (newest === null || newest.some((session) => !above.includes(session))) return null;
  const proposed = ratchet(floor, newest);
  if (proposed === null) return null;
  // It has stood since the second boot that saw it, in the unbroken row of such sessions up to now.
  const since = standingSince(sessions, above);
  return { proposed, stale: nowMs - since > STALE_AFTER_MS };
}

function standingSince(sessions: readonly SessionBound[], above: readonly SessionBound[]): number {
  const newestFirst = [...sessions].sort((x, y) => y.measuredAtMs - x.measuredAtMs);
  const end = newestFirst.findIndex((session) => !above.includes(session));
  const row = newestFirst.slice(0, end < 0 ? newestFirst.length : end).reverse();
  const second = row.find(({ bootId }) => bootId !== row[0]?.bootId);
  return second?.measuredAtMs ?? Infinity;
}

/** Floors are written with four digits, never above the bound that they come from. */
function roundDown(value: number): number {
  return Math.floor(value * 10_000 + 1e-9) / 10_000;
}
