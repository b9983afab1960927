import type { Row } from './rows.ts';

/** A filter as it is sent. */
export interface AskedFilter {
  readonly name: string;
  readonly operator: string;
  readonly value?: readonly (string | number)[];
}

/** The service's data of a profile or a group. */
export interface KnownEntity {
  readonly fields: Readonly<Record<string, string>>;
  readonly properties: Readonly<Record<string, string>>;
  readonly groups: readonly string[];
}

export interface KnownEntities {
  readonly profiles: ReadonlyMap<string, KnownEntity>;
  readonly groups: ReadonlyMap<string, KnownEntity>;
}

/** Fields of an event that describe the whole visit: its source, its place, and its device. */
const OF_SOURCE = [
  'referrer',
  'referrerName',
  'referrerType',
  'utmSource',
  'utmMedium',
  'utmCampaign',
  'utmTerm',
  'utmContent',
  'channel',
];
const OF_SETTING = [
  'country',
  'region',
  'city',
  'longitude',
  'latitude',
  'browser',
  'browserVersion',
  'os',
  'osVersion',
  'device',
  'brand',
  'model',
  'language',
  'timezone',
  'screen',
];
export const SESSION_FIELDS: readonly string[] = [...OF_SOURCE, ...OF_SETTING];

const TIMES = ['createdAt', 'receivedAt', 'updatedAt'];
const NUMBER = /^-?\d{1,100}(\.\d{1,100})?(e[+-]?\d{1,2})?$/i;

export function isAboutSession({ name }: AskedFilter): boolean {
  return SESSION_FIELDS.includes(camelCase(name));
}

/** True if all filters match a row, by the words of the contract. */
export function holds(filters: readonly AskedFilter[], row: Row, records: KnownEntities): boolean {
  return filters.every((filter) => isKept(filter, row, records));
}

type Value = string | number;

function isKept({ name, operator, value = [] }: AskedFilter, row: Row, records: KnownEntities): boolean {
  const field = camelCase(name);
  const found = valuesOf(field, row, records);
  const some = (fits: (one: Value, asked: string) => boolean) =>
    found.some((one) => value.some((asked) => fits(one, String(asked))));
  const order = (compare: (one: number, bound: number) => boolean) =>
    some((one, asked) => compare(numberOf(one), boundOf(asked, field)));
  const equals = (one: Value, asked: string) =>
    typeof one === 'number' ? one === boundOf(asked, field) : one === asked;
  const contains = (one: Value, asked: string) => String(one).toLowerCase().includes(asked.toLowerCase());
  switch (operator) {
    case 'is':
      return some(equals);
    case 'isNot':
      return !some(equals);
    case 'contains':
      return some(contains);
    case 'doesNotContain':
      return !some(contains);
    case 'startsWith':
      return some((one, asked) => String(one).startsWith(asked));
    case 'endsWith':
      return some((one, asked) => String(one).endsWith(asked));
    case 'regex':
      return some((one, asked) => new RegExp(asked, 'su').test(String(one)));
    case 'isNull':
      return found.every((one) => one === '');
    case 'isNotNull':
      return found.some((one) => one !== '');
    case 'gt':
      return order((one, bound) => one > bound);
    case 'gte':
      return order((one, bound) => one >= bound);
    case 'lt':
      return order((one, bound) => one < bound);
    case 'lte':
      return order((one, bound) => one <= bound);
    default:
      throw new Error(`no operator ${operator}`);
  }
}

/** A text that is no number matches no comparison. */
export function numberOf(one: Value): number {
  if (typeof one === 'number') return one;
  return NUMBER.test(one) ? Number(one) : Number.NaN;
}

function boundOf(asked: string, field: string): number {
  const name = field.split('.').at(-1) ?? '';
  if (TIMES.includes(name) && !field.includes('properties.')) return Date.parse(asked);
  return field === 'longitude' || field === 'latitude' ? Math.fround(Number(asked)) : Number(asked);
}

/** All values of a field in a row; an empty text where there is none, and no number at all. */
export function valuesOf(field: string, { event }: Row, { profiles, groups }: KnownEntities): Value[] {
  if (field === 'profile.id') return [event.profileId];
  if (field === 'groups' || field === 'group.id') return orEmpty(event.groups);
  if (field.startsWith('profile.')) return recordValues(field.slice(8), known(profiles, [event.profileId]));
  if (field.startsWith('group.')) return recordValues(field.slice(6), known(groups, event.groups));
  if (field.startsWith('properties.')) return [textOf(event.properties, field.slice(11))];
  if (field === 'createdAt') return [Date.parse(event.createdAt)];
  if (field === 'receivedAt') return [Date.parse(event.meta.receivedAt)];
  if (field === 'longitude' || field === 'latitude') {
    const degrees = event[field];
    return degrees === null ? [] : [Math.fround(degrees)];
  }
  if (field === 'revenue') return event.revenue === null ? [] : [event.revenue];
  const columns: Readonly<Record<string, unknown>> = Object.hasOwn(event.meta, field) ? event.meta : event;
  const text = columns[field];
  if (typeof text !== 'string') throw new Error(`an event has no ${field}`);
  return [text];
}

function known(records: ReadonlyMap<string, KnownEntity>, ids: readonly string[]): KnownEntity[] {
  return ids.flatMap((id) => records.get(id) ?? []);
}

function recordValues(field: string, found: readonly KnownEntity[]): Value[] {
  if (TIMES.includes(field)) return found.map(({ fields }) => Date.parse(fields[field] ?? ''));
  if (field === 'groups') return orEmpty(found.flatMap(({ groups }) => orEmpty(groups)));
  const key = field.startsWith('properties.') ? field.slice(11) : undefined;
  return orEmpty(
    found.map(({ fields, properties }) =>
      key === undefined ? textOf(fields, field) : textOf(properties, key),
    ),
  );
}

function textOf(texts: Readonly<Record<string, string>>, key: string): string {
  return Object.hasOwn(texts, key) ? (texts[key] ?? '') : '';
}

function orEmpty(texts: readonly string[]): string[] {
  return texts.length === 0 ? [''] : [...texts];
}

/** Keys of properties stay as they are. */
export function camelCase(name: string): string {
  if (name.includes('properties.')) return name;
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
