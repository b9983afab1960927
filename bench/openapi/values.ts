import { array, type JsonNode, object, plain } from '../../ingest/testing/json-text.ts';
import type { SeededRandom } from '../../ingest/testing/random.ts';
import type { JsonSchema } from '../../query/openapi/json-schema.ts';
import { type NamedSchemas, referred } from './schemas.ts';

/** The sources of values. */
export interface ValueSources {
  readonly random: SeededRandom;
  readonly named: NamedSchemas;
  /** A meaningful value for a field of that name; undefined where any value will do. */
  readonly known: (name: string) => string | undefined;
}

const OPTIONAL_SHARE = 0.4;
const DEPTH_MAX = 6;

/** A value that fits a schema, sometimes at its bounds. */
export function madeValue(sources: ValueSources, schema: JsonSchema, depth = 0): unknown {
  const { random, named } = sources;
  const inner = (next: JsonSchema) => madeValue(sources, next, depth + 1);
  if (schema.$ref !== undefined) return madeValue(sources, referred(schema.$ref, named) as JsonSchema, depth);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return oneOf(random, schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return inner(oneOf(random, choices));
  const type =
    typeof schema.type === 'string' ? schema.type : oneOf(random, schema.type ?? ['string', 'number']);
  switch (type) {
    case 'object':
      return objectOf(sources, schema, depth);
    case 'array': {
      const { items = {}, minItems = 0, maxItems = 1000 } = schema;
      const length = Math.min(maxItems, minItems + (depth < DEPTH_MAX ? random.below(3) : 0));
      return Array.from({ length }, () => inner(items));
    }
    case 'string':
      return textOf(random, schema);
    case 'integer':
    case 'number':
      return numberOf(random, schema, type);
    case 'boolean':
      return random.chance(0.5);
    default:
      return null;
  }
}

function objectOf(sources: ValueSources, schema: JsonSchema, depth: number): Record<string, unknown> {
  const { random, known } = sources;
  const { properties = {}, required = [], additionalProperties } = schema;
  const made: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(properties)) {
    if (!required.includes(name) && (depth > DEPTH_MAX || !random.chance(OPTIONAL_SHARE))) continue;
    made[name] = (isText(field) ? known(name) : undefined) ?? madeValue(sources, field, depth + 1);
  }
  if (additionalProperties === true || (typeof additionalProperties === 'object' && random.chance(0.5)))
    for (let index = random.below(3); index > 0; index -= 1)
      made[`k${random.below(9)}`] = oneOf(random, ['v', 'ü', 7, true]);
  return made;
}

function isText({ type }: JsonSchema): boolean {
  return type === 'string' || (Array.isArray(type) && type.includes('string'));
}

const LETTERS = [
  'a',
  'b',
  'Z',
  '0',
  ' ',
  '-',
  '.',
  'é',
  '漢',
  '😀',
  '"',
  '\\',
  '<',
  '&',
  '\u2028',
  '%',
] as const;

function textOf(random: SeededRandom, { format, minLength = 0, maxLength = 60 }: JsonSchema): string {
  if (format === 'uuid')
    return '00000000-0000-4000-8000-000000000000'.replaceAll('0', () => random.below(16).toString(16));
  if (format === 'date') return new Date(1_700_000_000_000 + random.below(5e10)).toISOString().slice(0, 10);
  if (format === 'date-time') return new Date(1_700_000_000_000 + random.below(5e10)).toISOString();
  const length = random.chance(0.1)
    ? maxLength
    : minLength + random.below(Math.min(12, maxLength - minLength + 1));
  // The service counts UTF-16 units, and the standard characters; one unit for each satisfies both.
  const isPlain = random.chance(0.6);
  let text = '';
  while (text.length < length)
    text += isPlain ? String.fromCharCode(97 + random.below(26)) : random.one(LETTERS);
  return text.length > length ? text.slice(0, length - 1).padEnd(length, 'x') : text;
}

function numberOf(random: SeededRandom, schema: JsonSchema, type: 'integer' | 'number'): number {
  const { minimum, maximum, exclusiveMinimum } = schema;
  const low = minimum ?? (exclusiveMinimum === undefined ? 0 : exclusiveMinimum + 1);
  const high = maximum ?? low + 1000;
  if (random.chance(0.1)) return random.chance(0.5) ? low : high;
  const value = random.integer(low, Math.min(high, low + 50));
  return type === 'number' && random.chance(0.3) ? Math.min(high, value + 0.25) : value;
}

/** A value as JSON that can be mutated. */
export function nodeOf(value: unknown): JsonNode {
  if (Array.isArray(value)) return array(value.map(nodeOf));
  if (typeof value === 'object' && value !== null)
    return object(Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, nodeOf(inner)])));
  return plain(value as string | number | boolean | null);
}

/** One of `values`, with equal chances; there is at least one. */
export function oneOf<Value>(random: SeededRandom, values: readonly Value[]): Value {
  const value = values[random.below(values.length)];
  if (value === undefined) throw new Error('nothing to choose from');
  return value;
}
