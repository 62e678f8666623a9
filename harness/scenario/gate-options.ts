// What `bench gate` can be told.
import { z } from 'zod';

const path = z.string().min(1, { error: 'must not be empty' });

export const gateOptions = z.object({
  floors: path
    .default('scenarios/floors.json')
    .meta({ value: 'FILE', description: 'what is protected' }),
  base: path.default('origin/main').meta({
    value: 'REVISION',
    description: 'floors are read where HEAD left it, so that a change cannot lower its own bar',
  }),
  records: path.default('records').meta({ value: 'FOLDER', description: 'where records are' }),
  record: z
    .string()
    .regex(/^[0-9a-f]{4,64}(?:,[0-9a-f]{4,64})*$/, {
      error: 'must be ids of records separated by commas',
    })
    .optional()
    .meta({
      value: 'IDS',
      description:
        'attempts of one comparison, pooled (default: the newest comparison of the folder)',
    }),
  lint: z.boolean().default(false).meta({ description: 'only refuse a gate that could not fail' }),
  strict: z.boolean().default(false).meta({ description: 'judge without margins' }),
  ephemeral: z
    .boolean()
    .default(false)
    .meta({ description: 'the machine is made anew for each run, as hosted CI runners are' }),
  junit: path.optional().meta({ value: 'FILE', description: 'write the result as JUnit XML too' }),
  json: z.boolean().default(false).meta({ description: 'print the reasons as JSON' }),
});
export type GateOptions = z.infer<typeof gateOptions>;
