import { majorUnits } from '../../../infra/money.ts';
import type { EventColumn, Row } from '../../testing/row-writer.ts';
import type { ModelVisit } from '../../testing/visits.ts';

/** A filter as a request contains it. */
export interface RequestedFilter {
  readonly name: string;
  readonly operator: string;
  readonly value: readonly (string | number | boolean)[];
}

/** The record of a profile or group, by the columns of its table. */
export interface KnownEntity {
  readonly id: string;
  readonly columns: Readonly<Record<string, string>>;
  readonly properties: Readonly<Record<string, string>>;
  readonly groups: readonly string[];
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** An event, the current state of its session, and the existing records. */
export interface Scene {
  readonly event: Row<EventColumn>;
  /** Undefined for an event without a session. */
  readonly visit: ModelVisit | undefined;
  readonly profiles: readonly KnownEntity[];
  readonly groups: readonly KnownEntity[];
}

type FieldValue = string | number;

const TIMES = ['createdAt', 'receivedAt', 'updatedAt'];
/** Facts of a session: an event without one passes no filter on them, negated or not. */
const FACTS = ['entryPath', 'exitPath', 'entryHostname', 'isBounce', 'duration', 'screenViews'];
const NUMBER = /^-?\d{1,100}(\.\d{1,100})?(e[+-]?\d{1,2})?$/i;

/** True if an event passes all filters: the contract evaluated literally, row by row. */
export function isSelected(filters: readonly RequestedFilter[], scene: Scene): boolean {
  return filters.every((filter) => passes(filter, scene));
}

function passes({ name, operator, value }: RequestedFilter, scene: Scene): boolean {
  if (FACTS.includes(camelCase(name)) && scene.visit === undefined) return false;
  const found = valuesOf(camelCase(name), scene);
  const some = (fits: (one: FieldValue, wanted: string) => boolean) =>
    found.some((one) => value.some((wanted) => fits(one, String(wanted))));
  switch (operator) {
    case 'is':
      return some((one, wanted) => isEqual(one, wanted, name));
    case 'isNot':
      return !some((one, wanted) => isEqual(one, wanted, name));
    case 'contains':
      return some(containsText);
    case 'doesNotContain':
      return !some(containsText);
    case 'startsWith':
      return some((one, wanted) => String(one).startsWith(wanted));
    case 'endsWith':
      return some((one, wanted) => String(one).endsWith(wanted));
    case 'regex':
      return some((one, wanted) => new RegExp(wanted, 'su').test(String(one)));
    case 'isNull':
      return found.every((one) => one === '');
    case 'isNotNull':
      return found.some((one) => one !== '');
    case 'gt':
      return some((one, wanted) => numberOf(one) > boundOf(wanted, name));
    case 'gte':
      return some((one, wanted) => numberOf(one) >= boundOf(wanted, name));
    case 'lt':
      return some((one, wanted) => numberOf(one) < boundOf(wanted, name));
    case 'lte':
      return some((one, wanted) => numberOf(one) <= boundOf(wanted, name));
    default:
      throw new Error(`no operator ${operator}`);
  }
}

function containsText(one: FieldValue, wanted: string): boolean {
  return String(one).toLowerCase().includes(wanted.toLowerCase());
}

function isEqual(one: FieldValue, wanted: string, name: string): boolean {
  return typeof one === 'number' ? one === boundOf(wanted, name) : one === wanted;
}

/** NaN for text that is not a number; it compares with nothing. */
function numberOf(one: FieldValue): number {
  if (typeof one === 'number') return one;
  return NUMBER.test(one) ? Number(one) : Number.NaN;
}

function boundOf(wanted: string, name: string): number {
  if (/(_at|At)$/.test(name)) return Date.parse(wanted);
  return name === 'longitude' || name === 'latitude' ? Math.fround(Number(wanted)) : Number(wanted);
}

/** All values of a field in a row; one empty string for a missing text. */
function valuesOf(name: string, { event, visit, profiles, groups }: Scene): FieldValue[] {
  if (visit !== undefined && FACTS.includes(name)) return [factOf(name, visit)];
  const memberships = textsOf(event.groups);
  if (name === 'profile.id') return [String(event.profileId ?? '')];
  if (name === 'group.id') return orEmpty(memberships);
  if (name.startsWith('profile.')) {
    return recordValues(
      name.slice('profile.'.length),
      profiles.filter(({ id }) => id === event.profileId),
    );
  }
  if (name.startsWith('group.')) {
    return recordValues(
      name.slice('group.'.length),
      groups.filter(({ id }) => memberships.includes(id)),
    );
  }
  return eventValues(name, event);
}

function factOf(name: string, { startedAtMs, endedAtMs, screenViews, texts }: ModelVisit): FieldValue {
  if (name === 'isBounce') return screenViews > 1 ? 'false' : 'true';
  if (name === 'duration') return (endedAtMs - startedAtMs) / 1000;
  if (name === 'screenViews') return screenViews;
  if (name === 'entryHostname') return texts.entryOrigin ? new URL(texts.entryOrigin).hostname : '';
  return (name === 'entryPath' ? texts.entryPath : texts.exitPath) ?? '';
}

function recordValues(name: string, records: readonly KnownEntity[]): FieldValue[] {
  if (name === 'createdAt') return records.map(({ createdAt }) => createdAt);
  if (name === 'updatedAt') return records.map(({ updatedAt }) => updatedAt);
  if (name === 'groups') return orEmpty(records.flatMap(({ groups }) => orEmpty(groups)));
  const key = name.startsWith('properties.') ? name.slice('properties.'.length) : undefined;
  return orEmpty(
    records.map(({ properties, columns }) => (key === undefined ? columns[name] : properties[key]) ?? ''),
  );
}

function eventValues(name: string, event: Row<EventColumn>): FieldValue[] {
  if (name.startsWith('properties.')) {
    const flat = textsOf(event.properties);
    const at = flat.findIndex((key, index) => index % 2 === 0 && key === name.slice('properties.'.length));
    return [at === -1 ? '' : (flat[at + 1] ?? '')];
  }
  if (name === 'groups') return orEmpty(textsOf(event.groups));
  if (TIMES.includes(name)) return [Number(event[name === 'createdAt' ? 'createdAt' : 'receivedAt'] ?? 0)];
  if (name === 'longitude' || name === 'latitude') {
    const isSomewhere = Number(event.longitude ?? 0) !== 0 || Number(event.latitude ?? 0) !== 0;
    return isSomewhere ? [Math.fround(Number(event[name] ?? 0))] : [];
  }
  if (name === 'revenue') {
    const currency = String(event.currency ?? '');
    return currency === '' ? [] : [majorUnits(BigInt(Number(event.revenue ?? 0)), currency)];
  }
  const text = String(Object.entries(event).find(([column]) => column === name)?.[1] ?? '');
  if (name !== 'id' && name !== 'sessionId') return [text];
  return [/^0*$/.test(text) ? '' : text.padStart(32, '0')];
}

function textsOf(value: Row<EventColumn>[EventColumn]): readonly string[] {
  return Array.isArray(value) ? value : [];
}

function orEmpty(texts: readonly string[]): string[] {
  return texts.length === 0 ? [''] : [...texts];
}

/** Property keys are unchanged. */
function camelCase(name: string): string {
  if (name.includes('properties.')) return name;
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
