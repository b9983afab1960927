import { EVENT_COLUMNS } from '../../ingest/event.ts';

/**
 * The field names of filters and the column of each. Columns come only from the tables in this file, so a name in a
 * request never becomes SQL.
 */

/**
 * How the values of a field are read. `text`, `id` (32 hexadecimal digits), `list` and `property` are strings; `time`,
 * `coordinate` and `amount` (major units of the row's currency) are numbers.
 */
export type ColumnKind = 'text' | 'id' | 'list' | 'time' | 'coordinate' | 'amount';

/** The owner of a field: the event, its profile, or any of its groups. */
export type Owner = 'event' | 'profile' | 'group';

/** The field that a filter tests. */
export type Field =
  | { readonly kind: ColumnKind; readonly owner: Owner; readonly column: string }
  | { readonly kind: 'property'; readonly owner: Owner; readonly key: string };

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
]);

const PROPERTIES: readonly (readonly [prefix: string, owner: Owner])[] = [
  ['properties.', 'event'],
  ['profile.properties.', 'profile'],
  ['group.properties.', 'group'],
];

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

/** Whether the values of a field are numbers or times, which have no substrings. */
export function isNumeric({ kind }: Field): boolean {
  return kind === 'time' || kind === 'coordinate' || kind === 'amount';
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
