// Holm's step-down adjustment: the family control of last resort, when max-T cannot be used (statistics section 2.7). With
// exact signed-rank p values it has no power below 12 pairs for 16 cells; `bench gate --lint` refuses such a plan.

/** Adjusted p values in the order given: reject where adjusted <= alpha, family-wise error at most alpha. */
export function holm(pValues: readonly number[]): number[] {
  for (const p of pValues) {
    if (!(p >= 0 && p <= 1)) throw new RangeError(`A p value of ${p} was given; give 0 to 1.`);
  }
  const order = pValues.map((p, index) => ({ p, index })).sort((x, y) => x.p - y.p);
  const adjusted = new Array<number>(pValues.length).fill(1);
  let largest = 0;
  for (const [rank, { p, index }] of order.entries()) {
    largest = Math.max(largest, Math.min(1, p * (order.length - rank)));
    adjusted[index] = largest;
  }
  return adjusted;
}
