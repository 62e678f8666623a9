// Values made from a JSON schema as the OpenAPI document has it: mostly valid ones, with wild ones mixed in.
import fc from 'fast-check';

export interface JsonSchema {
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: JsonSchema | boolean;
  minimum?: number;
  maximum?: number;
  minItems?: number;
}

const wild = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(-1, 0, 1e308, -1e308, 2 ** 53, 1.5, '', '\ud800', [], {}, [[]], null, true, '\0'),
);

function integers({ minimum, maximum }: JsonSchema): fc.Arbitrary<number> {
  const low = Math.max(minimum ?? -10, -1000);
  const high = Math.min(maximum ?? 2 ** 40, 2 ** 40);
  const few = fc.integer({ min: low, max: Math.max(low, Math.min(high, low + 20)) });
  return fc.oneof({ weight: 9, arbitrary: few }, { weight: 1, arbitrary: fc.maxSafeInteger() });
}

function numbers({ minimum, maximum }: JsonSchema): fc.Arbitrary<number> {
  const range = { min: minimum ?? -2, max: maximum ?? 3, noNaN: true, noDefaultInfinity: true };
  return fc.double(range);
}

function objects(schema: JsonSchema): fc.Arbitrary<unknown> {
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(([key, field]) => {
    const value = arbitraryOf(field);
    // Most requests leave most fields out.
    const freq = required.has(key) ? 50 : 0.15;
    return [key, fc.option(value, { nil: undefined, freq: Math.max(1, freq) })] as const;
  });
  const known = fc.record(Object.fromEntries(fields), {
    requiredKeys: [...required].filter((key) => schema.properties?.[key]),
  });
  if (typeof schema.additionalProperties !== 'object') return known;
  return fc.dictionary(
    fc.oneof(fc.nat(300).map(String), fc.string()),
    arbitraryOf(schema.additionalProperties),
    { maxKeys: 4 },
  );
}

function typed(type: string, schema: JsonSchema): fc.Arbitrary<unknown> {
  switch (type) {
    case 'integer':
      return integers(schema);
    case 'number':
      return numbers(schema);
    case 'boolean':
      return fc.boolean();
    case 'string':
      return fc.string({ unit: 'binary', maxLength: 20 });
    case 'array':
      return fc.array(arbitraryOf(schema.items ?? {}), {
        minLength: Math.min(schema.minItems ?? 0, 2),
        maxLength: 4,
      });
    case 'object':
      return objects(schema);
    default:
      return fc.constant(null);
  }
}

function validFor(schema: JsonSchema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return fc.oneof(...options.map(arbitraryOf));
  if (schema.type === undefined) return fc.jsonValue({ maxDepth: 2 });
  return fc.oneof(...[schema.type].flat().map((type) => typed(type, schema)));
}

/** Mostly valid values of the schema; one in thirty of all nested values is wild. */
export function arbitraryOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 29, arbitrary: validFor(schema) }, { weight: 1, arbitrary: wild });
}
