import { EVENT_COLUMNS } from '../../ingest/event.ts';

/**
 * The names that a filter can have, and where each is found. Columns come from the tables of this file and nowhere else,
 * so a name of a request is never part of a statement.
 */

/**
 * How the values of a field are read. `text`, `id` (32 hexadecimal digits), `list` and `property` are texts; `time`,
 * `coordinate` and `amount` (major units of the row's currency) are numbers.
 */
export type ColumnKind = 'text' | 'id' | 'list' | 'time' | 'coordinate' | 'amount';

/** Whose field it is: the event's own, its profile's, or that of any of its groups. */
export type Owner = 'event' | 'profile' | 'group';

/** What a filter looks at. */
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
  // The ids are on the event itself, also of those whose record is not there.
  ...named('profile.id', { owner: 'event', kind: 'text', column: 'profileId' }),
  ...columnsOf('group', 'group.', GROUP_COLUMNS),
  ...named('group.id', { owner: 'event', kind: 'list', column: 'groups' }),
]);

const PROPERTIES: readonly (readonly [prefix: string, owner: Owner])[] = [
  ['properties.', 'event'],
  ['profile.properties.', 'profile'],
  ['group.properties.', 'group'],
];

/** The field that `name` means, in snake or in camel case; undefined when it means none. */
export function fieldOf(name: string): Field | undefined {
  const field = FIELDS.get(name);
  if (field !== undefined) return field;
  for (const [prefix, owner] of PROPERTIES) {
    const key = name.slice(prefix.length);
    if (name.startsWith(prefix) && key !== '') return { owner, kind: 'property', key };
  }
  return undefined;
}

/** Whether the values of a field are numbers or times, for which there is no part of a text. */
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
