/**
 * Holds values against JSON Schema 2020-12, with the keywords that our description of the API uses. A keyword or format
 * that is not known here is an error and never passed over: a check that does not check would look like one that passed.
 */

type Schema = Readonly<Record<string, unknown>>;

/** Schemas by the name behind `#/components/schemas/`. */
export type NamedSchemas = Readonly<Record<string, unknown>>;

/** Where a value breaks a schema: `data.0.id: expected string`; the whole value is `value`. Throws on unknown keywords. */
export function schemaBreaches(value: unknown, schema: unknown, named: NamedSchemas): string[] {
  return check({ value, place: 'value', named }, schema);
}

interface Checked {
  readonly value: unknown;
  readonly place: string;
  readonly named: NamedSchemas;
}

/** Says nothing about a value. `discriminator` only tells readers where to look. */
const ANNOTATIONS = ['description', 'default', 'discriminator', 'title', 'deprecated'];
const REFERENCE = '#/components/schemas/';

function check(checked: Checked, schema: unknown): string[] {
  if (schema === true) return [];
  if (schema === false) return breach(checked, 'nothing is allowed here');
  if (!isObject(schema)) throw new Error(`no schema: ${JSON.stringify(schema)}`);
  return Object.entries(schema).flatMap(([keyword, argument]) => {
    if (ANNOTATIONS.includes(keyword)) return [];
    const rule = Object.hasOwn(RULES, keyword) ? RULES[keyword] : undefined;
    if (rule === undefined) throw new Error(`the keyword ${keyword} is not known here`);
    return rule(checked, argument, schema);
  });
}

type Rule = (checked: Checked, argument: unknown, schema: Schema) => string[];

const RULES: Readonly<Record<string, Rule>> = {
  $ref: (checked, reference) => check(checked, referred(reference, checked.named)),
  type: (checked, types) => {
    const allowed = Array.isArray(types) ? types : [types];
    return allowed.some((type) => isOfType(checked.value, String(type)))
      ? []
      : breach(checked, `expected ${allowed.join(' or ')}`);
  },
  const: (checked, wanted) =>
    isSame(checked.value, wanted) ? [] : breach(checked, `expected ${JSON.stringify(wanted)}`),
  enum: (checked, choices) =>
    listOf(choices).some((choice) => isSame(checked.value, choice))
      ? []
      : breach(checked, `expected one of ${JSON.stringify(choices)}`),
  format: (checked, format) => {
    const pattern =
      typeof format === 'string' && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
    if (pattern === undefined) throw new Error(`the format ${format} is not known here`);
    const { value } = checked;
    return typeof value !== 'string' || pattern.test(value) ? [] : breach(checked, `expected a ${format}`);
  },
  minimum: numeric((value, bound) => value >= bound, 'at least'),
  maximum: numeric((value, bound) => value <= bound, 'at most'),
  exclusiveMinimum: numeric((value, bound) => value > bound, 'more than'),
  exclusiveMaximum: numeric((value, bound) => value < bound, 'less than'),
  minLength: sized(charactersOf, (size, bound) => size >= bound, 'at least'),
  maxLength: sized(charactersOf, (size, bound) => size <= bound, 'at most'),
  minItems: sized(elementsOf, (size, bound) => size >= bound, 'at least'),
  maxItems: sized(elementsOf, (size, bound) => size <= bound, 'at most'),
  items: (checked, schema) =>
    Array.isArray(checked.value)
      ? checked.value.flatMap((element, index) => check(inside(checked, index, element), schema))
      : [],
  required: (checked, names) => {
    const { value } = checked;
    if (!isObject(value)) return [];
    return listOf(names).flatMap((name) =>
      Object.hasOwn(value, String(name)) ? [] : breach(checked, `${name} is missing`),
    );
  },
  properties: (checked, schemas) => {
    const { value } = checked;
    if (!isObject(value) || !isObject(schemas)) return [];
    return Object.entries(schemas).flatMap(([name, schema]) =>
      Object.hasOwn(value, name) ? check(inside(checked, name, value[name]), schema) : [],
    );
  },
  additionalProperties: (checked, schema, { properties }) => {
    const { value } = checked;
    if (!isObject(value)) return [];
    const known = isObject(properties) ? properties : {};
    return Object.entries(value).flatMap(([name, inner]) =>
      Object.hasOwn(known, name) ? [] : check(inside(checked, name, inner), schema),
    );
  },
  anyOf: (checked, schemas) => {
    const tried = listOf(schemas).map((schema) => check(checked, schema));
    return tried.some((breaches) => breaches.length === 0)
      ? []
      : breach(checked, `fits none of ${tried.length} (${tried.flat().slice(0, 4).join('; ')})`);
  },
  oneOf: (checked, schemas) => {
    const fitting = listOf(schemas).filter((schema) => check(checked, schema).length === 0).length;
    return fitting === 1 ? [] : breach(checked, `fits ${fitting} schemas where it should fit one`);
  },
};

const FORMATS: Readonly<Record<string, RegExp>> = {
  'date-time':
    /^\d{4}-(?:0\d|1[0-2])-(?:[0-2]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/,
  date: /^\d{4}-(?:0\d|1[0-2])-(?:[0-2]\d|3[01])$/,
  uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
};

function numeric(holds: (value: number, bound: number) => boolean, word: string): Rule {
  return (checked, bound) =>
    typeof checked.value !== 'number' || holds(checked.value, Number(bound))
      ? []
      : breach(checked, `expected ${word} ${bound}`);
}

/** `sizeOf` gives undefined for what has no such size. */
function sized(
  sizeOf: (value: unknown) => number | undefined,
  holds: (size: number, bound: number) => boolean,
  word: string,
): Rule {
  return (checked, bound) => {
    const size = sizeOf(checked.value);
    return size === undefined || holds(size, Number(bound))
      ? []
      : breach(checked, `has ${size}, expected ${word} ${bound}`);
  };
}

/** Code points, as the standard counts them. */
function charactersOf(value: unknown): number | undefined {
  return typeof value === 'string' ? [...value].length : undefined;
}

function elementsOf(value: unknown): number | undefined {
  return Array.isArray(value) ? value.length : undefined;
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type;
    default:
      throw new Error(`the type ${type} is not known here`);
  }
}

/** The schema that a reference names. Throws where there is none. */
export function referred(reference: unknown, named: NamedSchemas): unknown {
  const name = String(reference).startsWith(REFERENCE) ? String(reference).slice(REFERENCE.length) : '';
  if (!Object.hasOwn(named, name)) throw new Error(`the reference ${reference} leads nowhere`);
  return named[name];
}

function inside({ place, named }: Checked, name: string | number, value: unknown): Checked {
  return { value, place: place === 'value' ? String(name) : `${place}.${name}`, named };
}

function breach({ place }: Checked, what: string): string[] {
  return [`${place}: ${what}`];
}

/** Of texts, numbers, truth values and null: no schema of ours compares anything else. */
function isSame(value: unknown, wanted: unknown): boolean {
  if (typeof wanted === 'object' && wanted !== null) throw new Error('only plain values are compared here');
  return value === wanted;
}

function listOf(argument: unknown): readonly unknown[] {
  if (!Array.isArray(argument)) throw new Error(`expected a list: ${JSON.stringify(argument)}`);
  return argument;
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
