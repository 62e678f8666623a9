// The joint sign-flip max-T test: one-sided p values adjusted for all cells of a gate at once (statistics section 2.7).
// A pair is flipped in every cell that it feeds, so that what correlates the cells correlates the null too. Seeded.
import { requireCount, requireSample } from './domain.ts';
import { seededRandom } from './random.ts';

/** Default number of random sign vectors; the smallest p value is then 1 / 10,000. */
const MAX_T_DRAWS = 9999;

export interface MaxTCell {
  key: string;
  /** Log ratios less the bound under test, with the unit that is flipped as a whole (a pair or a launch). */
  values: readonly { unit: string; d: number }[];
}

export interface MaxTOptions {
  seed: number;
  /** Default 9,999. */
  draws?: number;
}

/**
 * Adjusted one-sided p values by key: small when a cell lies below its bound. Family-wise error holds at any level for
 * cells that depend on each other in any way. The same input gives the same bytes. RangeError for an empty family, a
 * cell of fewer than two values, a repeated key or a repeated unit within a cell.
 */
export function maxT(cells: readonly MaxTCell[], options: MaxTOptions): Map<string, number> {
  requireCount(cells.length, 1, 'The number of cells');
  const draws = options.draws ?? MAX_T_DRAWS;
  requireCount(draws, 1, 'The number of draws');
  const { prepared, unitCount } = prepare(cells);
  const random = seededRandom(options.seed, 'max-t');
  const signs = new Int8Array(unitCount);
  const atLeastAsLow = new Array<number>(cells.length).fill(0);
  for (let draw = 0; draw < draws; draw += 1) {
    drawSigns(signs, random.uint32);
    let lowest = Infinity;
    for (const cell of prepared) lowest = Math.min(lowest, statistic(cell, signs));
    for (const [index, cell] of prepared.entries()) {
      if (lowest <= cell.threshold) {
        atLeastAsLow[index] = (atLeastAsLow[index] ?? 0) + 1;
      }
    }
  }
  // The observed signs are one of the draws: the add-one p value, never zero.
  return new Map(
    cells.map((cell, index) => [cell.key, ((atLeastAsLow[index] ?? 0) + 1) / (draws + 1)]),
  );
}

interface Prepared {
  values: Float64Array;
  units: Int32Array;
  sumOfSquares: number;
  /** The observed statistic, a little raised: equal statistics must count as equal whatever the order of summing. */
  threshold: number;
}

function prepare(cells: readonly MaxTCell[]) {
  const unitIndex = new Map<string, number>();
  const keys = new Set<string>();
  const prepared = cells.map((cell): Prepared => {
    const values = cell.values.map(({ d }) => d);
    requireSample(values, 2, `The max-T test of cell ${cell.key}`);
    if (keys.has(cell.key)) throw new RangeError(`Cell ${cell.key} is in the family twice.`);
    keys.add(cell.key);
    const own = new Set(cell.values.map(({ unit }) => unit));
    if (own.size !== values.length) {
      throw new RangeError(`Cell ${cell.key} holds a unit twice; each pair or launch counts once.`);
    }
    for (const unit of own) if (!unitIndex.has(unit)) unitIndex.set(unit, unitIndex.size);
    const result: Prepared = {
      values: Float64Array.from(values),
      units: Int32Array.from(cell.values, ({ unit }) => unitIndex.get(unit) ?? 0),
      sumOfSquares: values.reduce((sum, d) => sum + d * d, 0),
      threshold: 0,
    };
    const observed = statistic(result, undefined);
    result.threshold = Number.isFinite(observed) ? observed + 1e-9 * Math.abs(observed) : observed;
    return result;
  });
  return { prepared, unitCount: unitIndex.size };
}

/** Student's t of the flipped values; without signs, of the values as they are. */
function statistic(cell: Prepared, signs: Int8Array | undefined): number {
  const { values, units } = cell;
  const n = values.length;
  let sum = 0;
  for (let index = 0; index < n; index += 1) {
    sum += (values[index] ?? 0) * (signs === undefined ? 1 : (signs[units[index] ?? 0] ?? 1));
  }
  // Flipping leaves the sum of squares alone, so the variance needs no second pass.
  const centred = cell.sumOfSquares - (sum * sum) / n;
  if (centred <= 1e-12 * cell.sumOfSquares) return sum === 0 ? 0 : sum * Infinity;
  return sum / Math.sqrt((n * centred) / (n - 1));
}

function drawSigns(signs: Int8Array, uint32: () => number): void {
  let bits = 0;
  for (let index = 0; index < signs.length; index += 1) {
    if (index % 32 === 0) bits = uint32();
    signs[index] = bits & 1 ? 1 : -1;
    bits >>>= 1;
  }
}
