// JSON schemas as grammars. Members come in the schema's order, and a schema that lists properties without saying
// anything about others allows no others. Keywords that would be silently ignored are refused.
import { z } from 'zod';
import { GrammarError } from './grammar-error.ts';
import {
  either,
  type Grammar,
  type GrammarNode,
  literal,
  NOTHING,
  repeat,
  rule,
  sequence,
} from './grammar-node.ts';
import { arrayOf, jsonRules, objectOf, SPACE } from './json-grammar.ts';
import {
  asSchema,
  DEEPEST,
  KEYWORDS,
  KNOWN,
  MOST_COUNTED,
  map,
  NOTES,
  type Schema,
  TYPES,
} from './schema-keywords.ts';

const count = z.int().min(0).max(MOST_COUNTED);
const names = z.array(z.string());
const list = z.array(z.unknown());

class SchemaCompiler {
  readonly #root: Schema;
  readonly #rules: Grammar = jsonRules();
  #depth = 0;
  #made = 0;

  constructor(root: Schema) {
    this.#root = root;
  }

  compile(): Grammar {
    this.#rules.set('root', this.#ruleFor(this.#root, '#'));
    return this.#rules;
  }

  /** Each schema becomes a rule of its own, so that it can be referred to, also by itself. */
  #ruleFor(schema: Schema, pointer: string): GrammarNode {
    const name = `schema:${pointer}`;
    if (!this.#rules.has(name)) {
      this.#rules.set(name, NOTHING);
      this.#depth += 1;
      if (this.#depth > DEEPEST) throw new GrammarError('the schema is nested too deeply');
      this.#rules.set(name, this.#node(schema, pointer));
      this.#depth -= 1;
    }
    return rule(name);
  }

  #node(schema: Schema, pointer: string): GrammarNode {
    if (schema === true) return rule('value');
    if (schema === false) throw new GrammarError(`nothing is allowed at ${pointer}`);
    if (schema['$ref'] !== undefined) return this.#reference(schema, pointer);
    if (schema['const'] !== undefined) return literal(JSON.stringify(schema['const']));
    if (schema['enum'] !== undefined) {
      const values = this.#read(list.min(1), schema, 'enum', pointer);
      return either(...values.map((value) => literal(JSON.stringify(value))));
    }
    for (const keyword of ['anyOf', 'oneOf', 'allOf']) {
      if (schema[keyword] !== undefined) return this.#combination(schema, keyword, pointer);
    }
    this.#refuse(schema, KNOWN, pointer);
    const types = this.#types(schema, pointer);
    return either(...types.map((type) => this.#typed(type, schema, pointer)));
  }

  #reference(schema: Readonly<Record<string, unknown>>, pointer: string): GrammarNode {
    this.#refuse(schema, new Set(['$ref']), pointer);
    const target = this.#read(z.string(), schema, '$ref', pointer);
    if (!target.startsWith('#')) throw new GrammarError(`$ref ${target} is not within the schema`);
    let found: unknown = this.#root;
    for (const part of target.split('/').slice(1)) {
      const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
      const inside = found !== null && typeof found === 'object' && Object.hasOwn(found, key);
      if (!inside) throw new GrammarError(`$ref ${target} points nowhere`);
      found = Reflect.get(found as object, key);
    }
    return this.#ruleFor(asSchema(found, target), target);
  }

  #combination(
    schema: Readonly<Record<string, unknown>>,
    keyword: string,
    pointer: string,
  ): GrammarNode {
    const options = this.#read(list.min(1), schema, keyword, pointer);
    this.#refuse(schema, new Set([keyword, 'type']), pointer);
    if (keyword === 'allOf' && options.length > 1) {
      throw new GrammarError(`allOf of several schemas at ${pointer} is not supported`);
    }
    const nodes = options.map((option, index) => {
      const where = `${pointer}/${keyword}/${index}`;
      return this.#ruleFor(asSchema(option, where), where);
    });
    return either(...nodes);
  }

  #types(schema: Readonly<Record<string, unknown>>, pointer: string): (typeof TYPES)[number][] {
    const type = z.enum(TYPES);
    if (schema['type'] !== undefined) {
      return [this.#read(z.union([type, z.array(type).min(1)]), schema, 'type', pointer)].flat();
    }
    // Without a type, keywords say which one is meant; without any, every value is.
    const meant = TYPES.filter((each) =>
      KEYWORDS[each].some((keyword) => schema[keyword] !== undefined),
    );
    return meant.length > 0 ? meant : TYPES.filter((each) => each !== 'integer');
  }

  #typed(
    type: (typeof TYPES)[number],
    schema: Readonly<Record<string, unknown>>,
    pointer: string,
  ): GrammarNode {
    switch (type) {
      case 'object':
        return this.#object(schema, pointer);
      case 'array':
        return this.#array(schema, pointer);
      case 'string':
        return this.#string(schema, pointer);
      default:
        return rule(type);
    }
  }

  #string(schema: Readonly<Record<string, unknown>>, pointer: string): GrammarNode {
    const [least, most] = this.#bounds(schema, 'Length', pointer);
    if (least === 0 && most === Number.POSITIVE_INFINITY) return rule('string');
    return sequence(literal('"'), repeat(rule('character'), least, most), literal('"'));
  }

  #array(schema: Readonly<Record<string, unknown>>, pointer: string): GrammarNode {
    if (schema['prefixItems'] !== undefined) {
      throw new GrammarError(`prefixItems at ${pointer} is not supported`);
    }
    const [least, most] = this.#bounds(schema, 'Items', pointer);
    const where = `${pointer}/items`;
    const item =
      schema['items'] === undefined
        ? rule('value')
        : this.#ruleFor(asSchema(schema['items'], where), where);
    return arrayOf(item, least, most);
  }

  #object(schema: Readonly<Record<string, unknown>>, pointer: string): GrammarNode {
    const properties = Object.entries(
      schema['properties'] === undefined ? {} : this.#read(map, schema, 'properties', pointer),
    );
    const required = new Set(
      schema['required'] === undefined ? [] : this.#read(names, schema, 'required', pointer),
    );
    const rest = schema['additionalProperties'];
    if (properties.length === 0) {
      if (required.size > 0)
        throw new GrammarError(`required members at ${pointer} are not described`);
      const [least, most] = this.#bounds(schema, 'Properties', pointer);
      if (rest === false) return objectOf(rule('value'), 0, 0);
      const where = `${pointer}/additionalProperties`;
      const value =
        rest === undefined ? rule('value') : this.#ruleFor(asSchema(rest, where), where);
      return objectOf(value, least, most);
    }
    for (const keyword of ['minProperties', 'maxProperties']) {
      if (schema[keyword] !== undefined)
        throw new GrammarError(`${keyword} beside properties at ${pointer} is not supported`);
    }
    if (rest !== undefined && typeof rest !== 'boolean') {
      throw new GrammarError(
        `a schema for additionalProperties beside properties at ${pointer} is not supported`,
      );
    }
    const known = new Set(properties.map(([key]) => key));
    for (const key of required) {
      if (!known.has(key))
        throw new GrammarError(
          `the required member ${JSON.stringify(key)} at ${pointer} is not described`,
        );
    }
    return sequence(
      literal('{'),
      SPACE,
      this.#members(properties, required, pointer),
      literal('}'),
    );
  }

  /** Members in order; a rule for each one says what may follow, once with and once without a comma before it. */
  #members(
    properties: [string, unknown][],
    required: ReadonlySet<string>,
    pointer: string,
  ): GrammarNode {
    this.#made += 1;
    const prefix = `members:${this.#made}`;
    const follow = (index: number, comma: boolean) => rule(`${prefix}:${index}:${comma}`);
    properties.forEach(([key, schema], index) => {
      const where = `${pointer}/properties/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      const value = this.#ruleFor(asSchema(schema, where), where);
      const member = sequence(
        literal(JSON.stringify(key)),
        SPACE,
        literal(':'),
        SPACE,
        value,
        SPACE,
        follow(index + 1, true),
      );
      for (const comma of [false, true]) {
        const written = comma ? sequence(literal(','), SPACE, member) : member;
        const node = required.has(key) ? written : either(written, follow(index + 1, comma));
        this.#rules.set(`${prefix}:${index}:${comma}`, node);
      }
    });
    for (const comma of [false, true])
      this.#rules.set(`${prefix}:${properties.length}:${comma}`, NOTHING);
    return follow(0, false);
  }

  #bounds(
    schema: Readonly<Record<string, unknown>>,
    what: string,
    pointer: string,
  ): [number, number] {
    const least =
      schema[`min${what}`] === undefined ? 0 : this.#read(count, schema, `min${what}`, pointer);
    const most =
      schema[`max${what}`] === undefined
        ? Number.POSITIVE_INFINITY
        : this.#read(count, schema, `max${what}`, pointer);
    if (least > most) throw new GrammarError(`min${what} exceeds max${what} at ${pointer}`);
    return [least, most];
  }

  #read<Value>(
    kind: z.ZodType<Value>,
    schema: Readonly<Record<string, unknown>>,
    keyword: string,
    pointer: string,
  ): Value {
    const parsed = kind.safeParse(schema[keyword]);
    if (parsed.success) return parsed.data;
    throw new GrammarError(`${keyword} at ${pointer} is not valid or not supported`);
  }

  #refuse(
    schema: Readonly<Record<string, unknown>>,
    known: ReadonlySet<string>,
    pointer: string,
  ): void {
    const unknown = Object.keys(schema).find(
      (keyword) => !known.has(keyword) && !NOTES.has(keyword),
    );
    if (unknown !== undefined)
      throw new GrammarError(`${unknown.slice(0, 60)} at ${pointer} is not supported`);
  }
}

/** The JSON texts that the schema allows; GrammarError names what is wrong or not supported. */
export function schemaGrammar(schema: unknown): Grammar {
  return new SchemaCompiler(asSchema(schema, 'the schema')).compile();
}

/** Any JSON object. */
export function anyObjectGrammar(): Grammar {
  return jsonRules().set('root', rule('object'));
}
