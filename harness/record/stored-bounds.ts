// What of a stored verdict other code relies on, read with a schema: the verdict itself is stored as it was judged. Pure.
import { z } from 'zod';
import type { ParityRecord } from './record.ts';

const storedVerdict = z.object({
  verdict: z.string(),
  cells: z.array(
    z.object({
      key: z.string(),
      verdict: z.string(),
      bound: z.number(),
      measured: z.number(),
      voided: z.number(),
      voids: z.array(z.object({ code: z.string() })),
      ratio: z
        .object({
          estimate: z.number(),
          lower: z.number().nullable(),
          upper: z.number().nullable(),
        })
        .optional(),
    }),
  ),
});
export type ReadVerdict = z.infer<typeof storedVerdict>;

/** The verdict of the record; undefined when it was interrupted and has none. */
export function readVerdict({ verdict }: Pick<ParityRecord, 'verdict'>): ReadVerdict | undefined {
  return verdict === null ? undefined : storedVerdict.parse(verdict);
}

/** Lower bounds of the cells that are not void; null where no bound exists. */
export function storedBounds(record: ParityRecord): { key: string; lower: number | null }[] {
  const cells = readVerdict(record)?.cells ?? [];
  return cells.flatMap(({ key, ratio, verdict }) =>
    verdict === 'VOID' || ratio === undefined ? [] : [{ key, lower: ratio.lower }],
  );
}
