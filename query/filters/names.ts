import { EVENT_COLUMNS } from '../../ingest/event.ts';
import { SESSION_FIELD_LIST, SESSION_FIELDS, type SessionFact } from '../../processor/fields.ts';

/**
 * The field names of filters and the column of each. Columns come only from the tables in this file, so a name in a
 * request never becomes SQL.
 */

/**
 * The types of a field's values. `text`, `id` (32 hexadecimal digits), `list` and `property` are strings; `time`, `coordinate`
 * and `amount` (major units of the row's currency) are numbers.
 */
export type ColumnKind = 'text' | 'id' | 'list' | 'time' | 'coordinate' | 'amount';

/** The owner of a field: the event, its profile, or any of its groups. */
export type Owner = 'event' | 'profile' | 'group';

/** A field of a row of events, or of the record of its profile or group. */
export type RowField =
  | { readonly kind: ColumnKind; readonly owner: Owner; readonly column: string }
  | { readonly kind: 'property'; readonly owner: Owner; readonly key: string };

/** A fact of the session that an event belongs to. */
export interface FactField {
  readonly kind: 'fact';
  readonly owner: 'session';
  readonly fact: SessionFact;
}

/** The field that a filter tests. */
export type Field = RowField | FactField;

/** The facts of a session with their values, for the documentation. */
export function factsText(): string {
  return SESSION_FIELD_LIST.map(
    ([fact, { meaning }]) => `\`${fact}\`${meaning === undefined ? '' : ` (${meaning})`}`,
  ).join(', ');
}

type NamedField = readonly [name: string, field: Field];

const KINDS: Readonly<Record<string, ColumnKind>> = {
  createdAt: 'time',
  receivedAt: 'time',
  updatedAt: 'time',
  longitude: 'coordinate',
  latitude: 'coordinate',
  revenue: 'amount',
  groups: 'list',
};

const PROFILE_COLUMNS = ['firstName', 'lastName', 'email', 'avatar', 'groups', 'createdAt', 'updatedAt'];
const GROUP_COLUMNS = ['type', 'name', 'createdAt', 'updatedAt'];

const FIELDS: ReadonlyMap<string, Field> = new Map([
  ...columnsOf(
    'event',
    '',
    EVENT_COLUMNS.filter((column) => column !== 'properties'),
  ),
  ...named('id', { owner: 'event', kind: 'id', column: 'id' }),
  ...named('sessionId', { owner: 'event', kind: 'id', column: 'sessionId' }),
  ...columnsOf('profile', 'profile.', PROFILE_COLUMNS),
  // The ids are on the event itself, so they also work without a record.
  ...named('profile.id', { owner: 'event', kind: 'text', column: 'profileId' }),
  ...columnsOf('group', 'group.', GROUP_COLUMNS),
  ...named('group.id', { owner: 'event', kind: 'list', column: 'groups' }),
  ...SESSION_FIELD_LIST.flatMap(([fact]) => named(fact, { owner: 'session', kind: 'fact', fact })),
]);

const PROPERTIES: readonly (readonly [prefix: string, owner: Owner])[] = [
  ['properties.', 'event'],
  ['profile.properties.', 'profile'],
  ['group.properties.', 'group'],
];

/** The names of all fields except properties. */
export const FIELD_NAMES: readonly string[] = [...FIELDS.keys()];

/** The field of a name in snake or camel case; undefined if the name is unknown. */
export function fieldOf(name: string): Field | undefined {
  const field = FIELDS.get(name);
  if (field !== undefined) return field;
  for (const [prefix, owner] of PROPERTIES) {
    const key = name.slice(prefix.length);
    if (name.startsWith(prefix) && key !== '') return { owner, kind: 'property', key };
  }
  return undefined;
}

/** True if the values of a field are numbers or times, which have no substrings. */
export function isNumeric(field: Field): boolean {
  if (field.kind === 'fact') return SESSION_FIELDS[field.fact].kind === 'number';
  return field.kind === 'time' || field.kind === 'coordinate' || field.kind === 'amount';
}

/** True if the values of a field are `true` and `false`. */
export function isFlag(field: Field): boolean {
  return field.kind === 'fact' && SESSION_FIELDS[field.fact].kind === 'flag';
}

function columnsOf(owner: Owner, prefix: string, columns: readonly string[]): NamedField[] {
  return columns.flatMap((column) =>
    named(prefix + column, { owner, kind: KINDS[column] ?? 'text', column }),
  );
}

function named(name: string, field: Field): NamedField[] {
  const snakeCase = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return [
    [name, field],
    [snakeCase, field],
  ];
}
