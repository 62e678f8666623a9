// A premise is a claim about where time goes, written before it is measured. This is the schema of its YAML and the
// words that a bad file is refused with; decision.ts judges it.
import { parse } from 'yaml';
import { z } from 'zod';
import { HarnessError } from '../errors.ts';

/** Types that compare a cost with a stated value. */
const NEEDS_VALUE = new Set(['costs-at-least', 'about', 'closing-gains']);

export const premiseSchema = z
  .strictObject({
    statement: z.string().min(1).max(500).describe('the claim in plain words'),
    type: z
      .enum([
        'costs-at-least',
        'about',
        'dominates-gap',
        'compute-not-latency',
        'latency-not-compute',
        'closing-gains',
        'negligible',
      ])
      .describe('which rule judges it'),
    subject: z
      .string()
      .regex(
        /^[a-z][a-z0-9-]*(\/[a-z-]+)?$/,
        'must be ROLE, ROLE/CLASS, residual or hand-off, such as frontend or frontend/detokenise',
      )
      .describe('what the claim is about'),
    value: z.number().positive().optional(),
    unit: z.enum(['ms/step', 'us/step', 'ms/token']).optional(),
    superseded: z
      .array(z.strictObject({ value: z.string(), cause: z.string() }))
      .optional()
      .describe('figures stated earlier, kept with why they no longer hold'),
  })
  .superRefine((premise, context) => {
    if (!NEEDS_VALUE.has(premise.type)) return;
    for (const key of ['value', 'unit'] as const)
      if (premise[key] === undefined)
        context.addIssue({
          code: 'custom',
          path: [key],
          message: `is needed by type ${premise.type}; add it`,
        });
  });
export type Premise = z.infer<typeof premiseSchema>;

const premiseFileSchema = z.union([
  z.strictObject({ premises: z.array(premiseSchema).min(1).max(50) }),
  premiseSchema.transform((premise) => ({ premises: [premise] })),
]);

/** Premises of one YAML text (one premise, or a list under `premises`); HarnessError INVALID_FILE names the field. */
export function parsePremises(text: string, file: string): Premise[] {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error);
    throw new HarnessError('INVALID_FILE', `${file} is not YAML: ${why}`);
  }
  const isList = typeof value === 'object' && value !== null && 'premises' in value;
  const schema = isList ? premiseFileSchema.options[0] : premiseFileSchema.options[1];
  const result = schema.safeParse(value);
  if (result.success) return result.data.premises;
  const issue = result.error.issues[0];
  const path = issue?.path.join('.') || 'premise';
  throw new HarnessError('INVALID_FILE', `${file}: ${path} ${issue?.message ?? 'is not valid'}`);
}

/** The premise's value in ms per step or token. */
export function valueMs(premise: Premise): number {
  return (premise.value ?? 0) * (premise.unit === 'us/step' ? 1e-3 : 1);
}
