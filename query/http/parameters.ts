import { z } from 'zod';
import { RejectError } from '../reject.ts';
import type { ForeignParameter, ForeignParameters } from './foreign-parameters.ts';
import { isListPart, jsonIn, jsonListOf, partsByName, type QueryPart, textsOf } from './query-string.ts';
import { readBy } from './read-by.ts';

/** Parameters whose text is a JSON array, in every endpoint that has them. */
export const JSON_LISTS = ['filters', 'series', 'breakdowns', 'steps'] as const;
export type JsonList = (typeof JSON_LISTS)[number];

const NAMES_SHOWN = 10;
const NAME_SHOWN_MAX = 100;
/** The longest text of a parameter that is no JSON, such as a value of a filter. */
const TEXT_MAX_CHARACTERS = 4_096;
/** The most texts of a list. */
const TEXTS_MAX = 1_000;
const NO_FOREIGN: ForeignParameters = {};

/** One value, a list of texts, or a list of JSON values. */
export type ParameterKind = 'one' | 'texts' | 'json';
type Kinds = ReadonlyMap<string, ParameterKind>;

/**
 * Reads the query string by `schema`. Throws a `RejectError` that names every unknown parameter, or the first invalid
 * one. An empty parameter counts as absent.
 */
export function readParameters<Parameters>(
  query: string,
  schema: z.ZodType<Parameters>,
  foreign: ForeignParameters = NO_FOREIGN,
): Parameters {
  const kinds = parameterKinds(schema);
  const parts = partsByName(query);
  rejectUnknown(parts, kinds, foreign);
  return readBy(schema, valuesOf(withoutForeign(parts, kinds, foreign), kinds), 'query');
}

const kindsBySchema = new WeakMap<z.ZodType, Kinds>();

/** The parameters of a schema, in its order. Throws for a schema that is not one of an object. */
export function parameterKinds(schema: z.ZodType): Kinds {
  const known = kindsBySchema.get(schema);
  if (known !== undefined) return known;
  const { properties } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  if (properties === undefined) throw new Error('the parameters of an endpoint are not an object');
  const kinds = new Map(
    Object.entries(properties).map(([name, property]) => [name, kindOf(name, property)] as const),
  );
  kindsBySchema.set(schema, kinds);
  return kinds;
}

function kindOf(name: string, property: z.core.JSONSchema.JSONSchema | boolean): ParameterKind {
  if (JSON_LISTS.some((list) => list === name)) return 'json';
  if (typeof property === 'boolean') return 'one';
  const forms = [property, ...(property.anyOf ?? [])];
  return forms.some((form) => typeof form === 'object' && form.type === 'array') ? 'texts' : 'one';
}

function rejectUnknown(
  parts: ReadonlyMap<string, readonly QueryPart[]>,
  kinds: Kinds,
  foreign: ForeignParameters,
): void {
  const unknown = [...parts].flatMap(([name, ofName]) =>
    ofName.filter((part) => !isKnown(part, kinds, foreignNamed(name, kinds, foreign))),
  );
  if (unknown.length === 0) return;
  const names = [...new Set(unknown.map(({ raw }) => raw))];
  const shown = names.slice(0, NAMES_SHOWN).map((name) => name.slice(0, NAME_SHOWN_MAX) || '""');
  const more = names.length > NAMES_SHOWN ? ` and ${names.length - NAMES_SHOWN} more` : '';
  const expected = [...kinds.keys()].join(', ') || 'none';
  throw new RejectError('invalid', `${shown.join(', ')}${more}: no such parameter; expected ${expected}`);
}

/** The foreign meaning of a name, unless the endpoint has the name itself. */
function foreignNamed(name: string, kinds: Kinds, foreign: ForeignParameters): ForeignParameter | undefined {
  return kinds.has(name) || !Object.hasOwn(foreign, name) ? undefined : foreign[name];
}

/** The first brackets must be of a list; only elements of JSON lists have further ones. */
function isKnown(part: QueryPart, kinds: Kinds, foreign: ForeignParameter | undefined): boolean {
  if (foreign?.kind === 'filters') return part.path.length <= 1;
  const name = foreign?.kind === 'same-as' ? foreign.name : part.name;
  const kind = foreign === undefined || foreign.kind === 'same-as' ? kinds.get(name) : 'one';
  if (kind === undefined) return false;
  return isListPart(part) && (part.path.length <= 1 || kind === 'json');
}

/** The same parts with our names instead of foreign ones. */
function withoutForeign(
  parts: ReadonlyMap<string, readonly QueryPart[]>,
  kinds: Kinds,
  foreign: ForeignParameters,
): ReadonlyMap<string, readonly QueryPart[]> {
  const ours = new Map<string, readonly QueryPart[]>();
  const filters: object[] = [];
  for (const [name, ofName] of parts) {
    const meaning = foreignNamed(name, kinds, foreign);
    switch (meaning?.kind) {
      case undefined:
        ours.set(name, ofName);
        break;
      case 'same-as':
        if (parts.has(meaning.name))
          throw new RejectError('invalid', `${name}: cannot be combined with ${meaning.name}`);
        ours.set(meaning.name, ofName);
        break;
      case 'filter':
        filters.push(...filtersOn(meaning.field, onlyValue(name, ofName)));
        break;
      case 'filters':
        filters.push(...filtersBelow(meaning.prefix, name, ofName));
        break;
      case 'no-effect':
        break;
    }
  }
  if (filters.length > 0) ours.set('filters', [withFilters(ours.get('filters') ?? [], filters)]);
  return ours;
}

function filtersOn(field: string, value: string): object[] {
  return value === '' ? [] : [{ name: field, operator: 'is', value: [value] }];
}

function filtersBelow(prefix: string, name: string, parts: readonly QueryPart[]): object[] {
  return parts.flatMap(({ path: [key], value }) => {
    if (key !== undefined) return filtersOn(prefix + key, value);
    if (value === '') return [];
    const object = z.record(z.string(), z.string()).safeParse(jsonIn(value));
    if (!object.success) throw new RejectError('invalid', `${name}: expected a JSON object of texts`);
    return Object.entries(object.data).flatMap(([inner, text]) => filtersOn(prefix + inner, text));
  });
}

/** The given filters and these. Given ones that are no list stay as they are, for the schema to reject. */
function withFilters(given: readonly QueryPart[], added: readonly object[]): QueryPart {
  const filled = given.filter(({ value }) => value !== '');
  const text = filled.length === 0 ? '[]' : jsonListOf(filled);
  const list = jsonIn(text);
  const value = Array.isArray(list) ? JSON.stringify([...list, ...added]) : text;
  return { raw: 'filters', name: 'filters', path: [], value };
}

function valuesOf(
  parts: ReadonlyMap<string, readonly QueryPart[]>,
  kinds: Kinds,
): Readonly<Record<string, unknown>> {
  const values: [string, unknown][] = [];
  for (const [name, ofName] of parts) {
    const kind = kinds.get(name);
    const filled = ofName.filter(({ value }) => value !== '');
    if (kind === 'one') {
      const value = onlyValue(name, ofName);
      if (value !== '') values.push([name, boundedText(name, value)]);
    } else if (filled.length > 0)
      values.push([name, kind === 'json' ? jsonListOf(filled) : boundedTexts(name, filled)]);
  }
  return Object.fromEntries(values);
}

/** Checked here, because a schema transforms and refines a text before it rejects one that is too long. */
function boundedText(name: string, text: string): string {
  if (text.length <= TEXT_MAX_CHARACTERS) return text;
  throw new RejectError('invalid', `${name}: expected at most ${TEXT_MAX_CHARACTERS} characters`);
}

function boundedTexts(name: string, parts: readonly QueryPart[]): string[] {
  const texts = textsOf(parts);
  if (texts.length > TEXTS_MAX)
    throw new RejectError('invalid', `${name}: expected at most ${TEXTS_MAX} values`);
  for (const text of texts) boundedText(name, text);
  return texts;
}

function onlyValue(name: string, parts: readonly QueryPart[]): string {
  if (parts.length > 1) throw new RejectError('invalid', `${name}: expected one value, not ${parts.length}`);
  if (parts.some(({ path }) => path.length > 0))
    throw new RejectError('invalid', `${name}: expected one value, not a list`);
  return parts[0]?.value ?? '';
}
