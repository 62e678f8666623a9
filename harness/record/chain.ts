// How the records of a series hang together: each names the one before it. The chain shows that a record is missing; it
// cannot show that all were forged together. Pure.
import type { RunRecord } from './record.ts';

export interface ChainReport {
  /** Newest records that no other one names, by series; two of them are a fork, as two branches make it. */
  heads: { series: string; ids: string[] }[];
  /** Records that are named as predecessors but are not there. */
  missing: { id: string; namedBy: string }[];
}

export type ChainLink = Pick<RunRecord, 'id' | 'chain' | 'kind'> & { envClass: string };

/** Heads and gaps of all series. */
export function examineChain(links: readonly ChainLink[]): ChainReport {
  const ids = new Set(links.map(({ id }) => id));
  const named = new Set(links.map(({ chain }) => chain.prev));
  const missing = links.flatMap(({ id, chain }) =>
    chain.prev === null || ids.has(chain.prev) ? [] : [{ id: chain.prev, namedBy: id }],
  );
  const bySeries = new Map<string, string[]>();
  for (const { id, kind, envClass } of links) {
    if (named.has(id)) continue;
    const series = `${kind}/${envClass}`;
    bySeries.set(series, [...(bySeries.get(series) ?? []), id]);
  }
  const heads = [...bySeries].map(([series, heads]) => ({ series, ids: heads.toSorted() }));
  return { heads: heads.toSorted((a, b) => (a.series < b.series ? -1 : 1)), missing };
}
