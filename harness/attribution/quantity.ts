// A measured number with the model of its error, so that a bound can be asked at any confidence. Pure data with zod
// schema: it goes into records as it is.
import { z } from 'zod';
import { percentileInterval } from './bootstrap.ts';
import { type Interval, normalQuantile, poissonInterval, studentWidth } from './intervals.ts';

const errorModelSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('poisson'),
    count: z.number().nonnegative(),
    scale: z.number().nonnegative().describe('unit per count'),
  }),
  z.strictObject({
    kind: z.literal('normal'),
    se: z.number().nonnegative(),
    df: z.number().positive().optional(),
  }),
  z.strictObject({ kind: z.literal('draws'), sorted: z.array(z.number()).min(1) }),
  z.strictObject({ kind: z.literal('bounds'), low: z.number(), high: z.number() }),
]);

export const quantitySchema = z.strictObject({
  estimate: z.number(),
  unit: z.string(),
  method: z.string().describe('how it was measured, such as schedstat or cpu-clock samples'),
  error: errorModelSchema,
  upperFactor: z
    .number()
    .min(1)
    .optional()
    .describe('widens the upper bound for time that the method cannot see, such as 1/kappa'),
  samples: z.number().int().nonnegative().optional(),
  steps: z.number().int().nonnegative().optional(),
  runs: z.number().int().positive().optional(),
});
export type Quantity = z.infer<typeof quantitySchema>;

/** Bounds of a quantity at the confidence asked for; fixed bounds are returned whatever is asked. */
export function quantityInterval(quantity: Quantity, confidence = 0.95): Interval {
  const plain = plainInterval(quantity, confidence);
  const factor = quantity.upperFactor ?? 1;
  return { low: plain.low, high: plain.high > 0 ? plain.high * factor : plain.high };
}

function plainInterval(quantity: Quantity, confidence: number): Interval {
  const { error, estimate } = quantity;
  if (error.kind === 'poisson') {
    const counts = poissonInterval(error.count, confidence);
    return { low: counts.low * error.scale, high: counts.high * error.scale };
  }
  if (error.kind === 'draws') return percentileInterval(error.sorted, confidence);
  if (error.kind === 'bounds') return { low: error.low, high: error.high };
  if (error.se === 0) return { low: estimate, high: estimate };
  const width =
    error.df === undefined ? normalQuantile(confidence) : studentWidth(error.df, confidence);
  return { low: estimate - width * error.se, high: estimate + width * error.se };
}

/** A cost from a sample count: the estimate is count x scale, with exact Poisson bounds. */
export function countQuantity(
  count: number,
  scale: number,
  unit: string,
  method: string,
  rest: Partial<Quantity> = {},
): Quantity {
  return {
    estimate: count * scale,
    unit,
    method,
    error: { kind: 'poisson', count, scale },
    samples: count,
    ...rest,
  };
}
