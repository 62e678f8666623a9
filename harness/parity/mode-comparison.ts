// A cell whose requests fall into two modes: the places of the modes are compared one by one and so is the share of the
// slow one, because a median between two modes is a coin (statistics section 2.8).
import { hodgesLehmann, type Interval } from '../stats/hodges-lehmann.ts';
import { type Direction, logRatio } from '../stats/log-ratio.ts';
import { studentInterval } from '../stats/student-interval.ts';
import type { CellValue } from './pairs.ts';

export interface ModeComparison {
  /** By mode: the log ratio of its place, with bounds, and its units. Null when no pair has that mode in both arms. */
  low: ModePlace | null;
  high: ModePlace | null;
  /** Share of requests in the upper mode, 0 to 1, pooled over the pairs. */
  highShare: { ours: number; reference: number };
  /** ours minus reference, one value a pair, t bounds. */
  highShareDifference: Interval;
}

interface ModePlace extends Interval {
  units: readonly { unit: string; d: number }[];
}

/** Compares the modes, or gives null when no value carries any (the cell has one mode). Bounds at one-sided alpha. */
export function compareModes(
  direction: Direction,
  values: readonly CellValue[],
  alpha: number,
): ModeComparison | null {
  const counted = values.flatMap(({ id, modes }) =>
    modes === undefined ? [] : [{ id, ...modes }],
  );
  if (counted.length === 0) return null;
  const place = (mode: 'low' | 'high'): ModePlace | null => {
    const units = counted.flatMap(({ id, ours, reference }) => {
      const d = logRatio(direction, ours[mode], reference[mode]);
      return d === undefined ? [] : [{ unit: id, d }];
    });
    if (units.length === 0) return null;
    const interval = hodgesLehmann(
      units.map(({ d }) => d),
      alpha,
    );
    return { ...interval, units };
  };
  const pooled = (arm: 'ours' | 'reference') => {
    const high = counted.reduce((sum, pair) => sum + pair[arm].highCount, 0);
    const low = counted.reduce((sum, pair) => sum + pair[arm].lowCount, 0);
    return high / Math.max(1, high + low);
  };
  return {
    low: place('low'),
    high: place('high'),
    highShare: { ours: pooled('ours'), reference: pooled('reference') },
    highShareDifference: studentInterval(
      counted.map(({ ours, reference }) => shareOf(ours) - shareOf(reference)),
      alpha,
    ),
  };
}

function shareOf({ lowCount, highCount }: { lowCount: number; highCount: number }): number {
  return highCount / Math.max(1, lowCount + highCount);
}
