// Flags from a zod schema: one schema gives the flags, their help, their checks and the type. Names in camel case become
// --kebab-case. A value that is wrong is named with what it must be.
import type { Command } from 'commander';
import { z } from 'zod';
import { HarnessError } from '../errors.ts';

/** Declares one option for each field of the schema; a boolean field is a switch. */
export function declareFlags(command: Command, schema: z.ZodObject): Command {
  for (const [key, field] of Object.entries(schema.shape)) {
    const meta = field.meta() ?? {};
    const value = typeof meta['value'] === 'string' ? meta['value'] : 'VALUE';
    const description = `${meta.description ?? ''}${shownDefault(field as z.ZodType)}`;
    const flag = flagOf(key);
    command.option(isSwitch(field as z.ZodType) ? flag : `${flag} <${value}>`, description);
  }
  return command;
}

/** The checked flags. USAGE names the first wrong flag, its value and what it must be. */
export function parseFlags<S extends z.ZodObject>(schema: S, given: unknown): z.infer<S> {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const key = String(issue?.path[0] ?? '');
  const value = (given as Record<string, unknown>)[key];
  const message =
    value === undefined
      ? `${flagOf(key)} is missing.`
      : `${flagOf(key)} ${String(value)}: it ${issue?.message ?? 'is not valid'}.`;
  throw new HarnessError('USAGE', message);
}

/** concurrencyList becomes --concurrency-list. */
export function flagOf(key: string): string {
  return `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** A whole number between the bounds, from text. */
export function wholeFlag(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z
    .union([z.number(), z.string().regex(/^\d{1,15}$/, { error })], { error })
    .transform(Number)
    .pipe(z.number({ error }).int({ error }).min(min, { error }).max(max, { error }));
}

/** Whole numbers separated by commas, none of them twice. */
export function wholeListFlag(min: number, max: number) {
  const error = `must be whole numbers from ${min} to ${max} separated by commas, none of them twice`;
  return z.string({ error }).transform((text, context) => {
    const values = text
      .split(',')
      .map((part) => (/^\s*\d{1,9}\s*$/.test(part) ? Number(part) : Number.NaN));
    const good = values.every((value) => value >= min && value <= max);
    if (good && new Set(values).size === values.length) return values;
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });
}

function isSwitch(field: z.ZodType): boolean {
  const inner = field instanceof z.ZodDefault ? field.unwrap() : field;
  return inner instanceof z.ZodBoolean;
}

function shownDefault(field: z.ZodType): string {
  if (!(field instanceof z.ZodDefault)) return '';
  const value = field.def.defaultValue;
  if (value === undefined || value === false) return '';
  return ` (default ${Array.isArray(value) ? value.join(',') : String(value)})`;
}
