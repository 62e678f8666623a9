// One pair to one number: the natural logarithm of the direction-normalised ratio (statistics section 2.1).

/** Whether a larger value of the axis is better. */
export type Direction = 'higher' | 'lower';

/**
 * ln(ours / reference) where higher is better, ln(reference / ours) where lower is better: 0 at parity, above 0 when ours
 * is better. Undefined when a value is not a finite number above zero: such a pair has no ratio and must be void
 * (section 2.8), never 0 or infinity. The unit cancels, so both values must carry the same one.
 */
export function logRatio(
  direction: Direction,
  ours: number | null | undefined,
  reference: number | null | undefined,
): number | undefined {
  if (!isUsable(ours) || !isUsable(reference)) return undefined;
  // The difference of logarithms neither overflows nor underflows where the quotient would.
  const ratio = Math.log(ours) - Math.log(reference);
  return direction === 'higher' ? ratio : -ratio;
}

/** A finite number above zero. */
export function isUsable(value: number | null | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}
