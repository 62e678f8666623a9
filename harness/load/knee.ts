// Where does a server stop keeping its objectives? A search over the offered load that decides what to measure next from
// what was measured. Pure: the caller measures.

export interface KneePoint {
  /** Offered load: a rate per second or a concurrency. */
  load: number;
  /** Share of requests that kept every objective, 0 to 1. */
  goodShare: number;
}

export interface KneeOptions {
  lowest: number;
  highest: number;
  /** The share that must be good; 0.99 says one bad request in a hundred is allowed. */
  wantedShare: number;
  /** Stop when the bracket is this narrow, as a share of its upper end. */
  resolution: number;
  /** Only whole loads (concurrencies). */
  whole: boolean;
}

export type KneeStep =
  | { measure: number }
  /** `best` is the highest load measured that was good; null when not even the lowest was. */
  | { best: number | null; firstBad: number | null };

/** What to measure next: the ends first, then the middle of the bracket on a logarithmic scale. */
export function nextLoad(points: readonly KneePoint[], options: KneeOptions): KneeStep {
  const { lowest, highest, wantedShare, resolution, whole } = options;
  if (!(lowest > 0) || !(highest >= lowest)) {
    throw new RangeError(`A search from ${lowest} to ${highest} cannot be made.`);
  }
  const bad = points.filter(({ goodShare }) => goodShare < wantedShare).map(({ load }) => load);
  const firstBad = bad.length > 0 ? Math.min(...bad) : null;
  // A good point above a bad one is luck: the knee is below the first bad one.
  const good = points
    .filter(({ load, goodShare }) => goodShare >= wantedShare && load < (firstBad ?? Infinity))
    .map(({ load }) => load);
  const best = good.length > 0 ? Math.max(...good) : null;
  if (best === null)
    return firstBad === null || firstBad > lowest ? { measure: lowest } : { best, firstBad };
  if (firstBad === null) return best < highest ? { measure: highest } : { best, firstBad };
  const middle = Math.sqrt(best * firstBad);
  const next = whole ? Math.round(middle) : middle;
  const narrow = (firstBad - best) / firstBad <= resolution;
  if (narrow || next <= best || next >= firstBad) return { best, firstBad };
  return { measure: next };
}
