// What `bench calibrate` can be told.
import { z } from 'zod';
import { wholeFlag, wholeListFlag } from './flags.ts';
import { MOST_CONCURRENCY } from './sweep-options.ts';

export const calibrateOptions = z.object({
  concurrency: wholeListFlag(1, MOST_CONCURRENCY)
    .prefault('1,2,4,8')
    .meta({ value: 'LIST', description: 'streams at once (default 1,2,4,8)' }),
  outputTokens: wholeFlag(2, 100_000)
    .default(100)
    .meta({ value: 'N', description: 'tokens of each stream' }),
  requestsPerSlot: wholeFlag(1, 1000)
    .default(3)
    .meta({ value: 'N', description: 'streams one after another' }),
  records: z
    .string()
    .min(1)
    .default('records')
    .meta({ value: 'FOLDER', description: 'where the record is written' }),
  json: z.boolean().default(false).meta({ description: 'print the record instead of the table' }),
});
