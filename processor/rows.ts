import { ENVIRONMENT_COLUMNS, EVENT_COLUMNS, LOCALE_COLUMNS, SOURCE_COLUMNS } from '../ingest/event.ts';

/**
 * CONTRACT between the processor, which writes the tables of the store, and all readers. A test compares these lists with `schema/*.sql`.
 *
 * `partition`, the number of a lane, and `flushNumber` name the flush that wrote a row. Flush numbers of a lane rise by one and start at 1.
 * Ids are 16 bytes in the store and 32 hexadecimal digits everywhere else; 16 zero bytes mean none.
 */
/** The last hour that the type DateTime holds, in hours since 1970. */
const LAST_HOUR = 1_193_046;
/** A flush number that no flush exceeds. */
export const EVERY_FLUSH = 4_294_967_295;

export const EVENTS_TABLE = 'events';
export const SESSIONS_TABLE = 'sessions';

/** Columns that the fold puts before an event's row as the collector encoded it. */
export const EVENT_FRONT_COLUMNS = ['partition', 'flushNumber', 'id', 'sessionId'] as const;

export const EVENTS_COLUMNS = [...EVENT_FRONT_COLUMNS, ...EVENT_COLUMNS] as const;

/**
 * One row for each flushed state of a session: `sign` +1 when it became true, -1 when a later flush replaced it, with
 * every other column equal. Sums over `sign` therefore count each session once, merged or not.
 *
 * Each flush also replaces one marker row: `projectId` is empty, `id` holds the lane's number, `version` the flush number.
 * A question that reads the marker and the sessions in one scan learns which flushes it has seen.
 */
export const SESSIONS_COLUMNS = [
  'sign',
  'version',
  'partition',
  'flushNumber',
  'projectId',
  'deviceId',
  'id',
  'profileId',
  'startedAt',
  'endedAt',
  // When the newest event of the session was received; a restart goes by it.
  'touchedAt',
  'screenViews',
  // Events other than screen views.
  'otherEvents',
  // Minor units by currency.
  'revenue',
  // Times of the entry and of the exit event, and whether they are screen views. A late event is compared with them. 1970:
  // the time of `startedAt` and of `endedAt` (SAME_TIME), as of most sessions, which takes no room.
  'entryAt',
  'exitAt',
  'entryIsView',
  'exitIsView',
  'exitOrigin',
  'exitPath',
  'entryOrigin',
  'entryPath',
  ...SOURCE_COLUMNS,
  ...ENVIRONMENT_COLUMNS,
  // 1: `session_end` was written before this state, because the session had been evicted.
  'ended',
  // 1: events of it name another profile than `profileId`, or none. Then their visitor is looked up here.
  'mixed',
  // Time of the newest event that was only credited, which may be after `endedAt`; 1970 for none.
  'creditedAt',
] as const;

/** The value of `entryAt` and `exitAt` that means the time of `startedAt` and of `endedAt`, in milliseconds since 1970. */
export const SAME_TIME = 0;

/**
 * The rollup tables by dimension, with their columns: each has a row for each combination of values of the sessions
 * that began on a day. A dimension is added here and to its table in `schema/*.sql`; a test compares both, and
 * statements follow this list.
 */
export const ROLLUP_DIMENSIONS = {
  daily_sources: SOURCE_COLUMNS,
  daily_places: ['country', 'region', 'city'],
  daily_devices: ['device', 'brand', 'model', 'browser', 'browserVersion', 'os', 'osVersion'],
  daily_locales: LOCALE_COLUMNS,
} as const;

/** The rollup table with a row for each site, day in UTC and name of events: how many `events` of the day have that name. */
export const NAMES_ROLLUP = 'daily_names';

/**
 * Rollup tables of which announced days may lack the rows. A further table belongs here: a release that does not know it announces days
 * without writing to it. So a reader takes a day from such a table only if it has rows of the announced block; a day with nothing to roll up
 * for the site has none, and costs little to read from rows.
 */
export const ADDED_ROLLUP_TABLES: readonly string[] = ['daily_locales', NAMES_ROLLUP] satisfies (
  | keyof typeof ROLLUP_DIMENSIONS
  | typeof NAMES_ROLLUP
)[];

/**
 * Retention of rollups of hours by page, in days from the beginning of the hour; the TTL of `hourly_pages` says the same. Rows may stay a
 * month longer, or may never have been written. Readers allow a day for clocks that differ, and read older hours from days or from rows.
 */
export const HOURLY_PAGES_DAYS = 100;

/** The 48 bits of a hash that rollups have. */
export const HASH_MASK = 281_474_976_710_655;

/**
 * The hash by which rollups distinguish visitors and sessions, as text of a statement: the lower 48 bits of sipHash64. Sets of hashes take
 * most of the room of rollups, and six bytes are less than eight.
 *
 * Two of n visitors collide with a chance of n² / 2⁴⁹: an answer about a hundred thousand is off by one twice in 100,000 times; one about
 * ten million is expected to be off by 0.2.
 */
export function hashText(expression: string): string {
  return `bitAnd(sipHash64(${expression}), ${HASH_MASK})`;
}

/** The visitor of a session, as text of a statement over `sessions`: its profile, else its device. */
export const SESSION_VISITOR = "if(profileId != '', profileId, deviceId)";

/** The hash of a session's visitor, 0 for none; by default the hash of rollups. */
export function sessionVisitorHash(hash = hashText(SESSION_VISITOR)): string {
  return `if(profileId = '' AND deviceId = '', 0, ${hash})`;
}

/**
 * The visitor of an event, as text of a statement over `events` that `ANY LEFT JOIN`s `sessionProfiles`: the profile of
 * its session, else its own profile, else its device; empty for none.
 */
export const EVENT_VISITOR = `if(sessionProfile != '', sessionProfile, ${SESSION_VISITOR})`;

/**
 * A query for the profiles (`sessionProfile`) of stored mixed sessions (`sessionId`, `projectId`): all other events have their session's
 * profile themselves. `conditions` select the sessions; a session that meets several is counted several times, which changes nothing.
 */
export function sessionProfiles(...conditions: readonly string[]): string {
  const rows = conditions.map(
    (condition) => `
        SELECT projectId, id, profileId, version, sign
        FROM ${SESSIONS_TABLE}
        WHERE mixed = 1 AND ${condition}`,
  );
  return profilesOfStates(`(${rows.join('\n        UNION ALL')}
    )`);
}

/** The same for a subquery of states of sessions. */
export function profilesOfStates(states: string): string {
  return `
    SELECT projectId, id AS sessionId, argMaxIf(profileId, version, sign > 0) AS sessionProfile
    FROM ${states}
    GROUP BY projectId, id
    HAVING sum(sign) > 0`;
}

/**
 * Conditions on events: from `from` on, and before `to`; names of parameters in milliseconds since 1970. Events are sorted by site and
 * hour, and then by session and time. The time itself excludes nothing in the store's index, so a hint names the hours; it costs nothing
 * for each row.
 */
export function happenedSince(from: string, column = 'createdAt'): string {
  return `(${column} >= fromUnixTimestamp64Milli({${from}:Int64}, 'UTC')
            AND indexHint(toStartOfHour(${column}) >= ${hourOf(from)}))`;
}

/** The same with an end. */
export function happenedBetween(from: string, to: string, column = 'createdAt'): string {
  return `(${happenedSince(from, column)}
            AND ${column} < fromUnixTimestamp64Milli({${to}:Int64}, 'UTC')
            AND indexHint(toStartOfHour(${column}) <= ${hourOf(to)}))`;
}

/** The hour of a parameter, or the nearest that the type DateTime holds. */
function hourOf(name: string): string {
  return `toDateTime(toUInt32(least(greatest(intDiv({${name}:Int64}, 3600000), 0), ${LAST_HOUR}) * 3600), 'UTC')`;
}

/**
 * Conditions for `sessionProfiles`: mixed sessions that have events in one of `hours`, an Array(UInt32) of their
 * beginnings in seconds. Few sessions last more than a day. Those that ended before the first hour have no events in any.
 */
export function mixedInHours(hours: string): readonly [string, string] {
  const lastHour = `toDateTime64(arrayMax(${hours}) + 3600, 3, 'UTC')`;
  const isReaching = `mixedUntil >= toDateTime64(arrayMin(${hours}), 3, 'UTC')`;
  const hoursOfDay = `arrayMap(back -> toUInt32(greatest(toInt64(hour) - back * 3600, 0)), range(toInt64(25)))`;
  return [
    `${isReaching} AND toStartOfHour(startedAt) IN (
            SELECT toDateTime(arrayJoin(arrayDistinct(arrayFlatten(arrayMap(hour -> ${hoursOfDay}, ${hours})))), 'UTC'))`,
    `mixedLong = 1 AND startedAt < ${lastHour} AND ${isReaching}`,
  ];
}

/**
 * Figures of search engines about a site's pages by day; see `schema/119_search_console.sql`. The query room writes imports, and the
 * processor writes the rows it fetches. A row with a position below 0 was taken back and counts nowhere.
 */
export const SEARCH_CONSOLE_TABLE = 'search_console';
export const SEARCH_CONSOLE_COLUMNS = [
  'projectId',
  'date',
  'query',
  'page',
  'country',
  'device',
  'clicks',
  'impressions',
  'position',
  'importedAt',
] as const;

/** ClickHouse types of the columns, for reading RowBinary rows that are not in a table yet. */
export const COLUMN_TYPES: Readonly<Record<string, string>> = {
  sign: 'Int8',
  version: 'UInt32',
  partition: 'UInt16',
  flushNumber: 'UInt32',
  id: 'FixedString(16)',
  sessionId: 'FixedString(16)',
  projectId: 'String',
  deviceId: 'String',
  profileId: 'String',
  eventId: 'String',
  revenue: 'Int64',
  currency: 'String',
  orderId: 'String',
  createdAt: "DateTime64(3, 'UTC')",
  receivedAt: "DateTime64(3, 'UTC')",
  startedAt: "DateTime64(3, 'UTC')",
  endedAt: "DateTime64(3, 'UTC')",
  touchedAt: "DateTime64(3, 'UTC')",
  entryAt: "DateTime64(3, 'UTC')",
  exitAt: "DateTime64(3, 'UTC')",
  screenViews: 'UInt32',
  otherEvents: 'UInt32',
  entryIsView: 'UInt8',
  exitIsView: 'UInt8',
  ended: 'UInt8',
  mixed: 'UInt8',
  creditedAt: "DateTime64(3, 'UTC')",
  date: 'Date',
  clicks: 'UInt32',
  impressions: 'UInt32',
  position: 'Float64',
  importedAt: "DateTime64(3, 'UTC')",
  longitude: 'Float32',
  latitude: 'Float32',
  groups: 'Array(String)',
  properties: 'Map(String, String)',
};

export type RowsTable = 'events' | 'sessions';

/** The ClickHouse type of a column of rows. A session's `revenue` is a map, an event's a number. */
export function columnTypeOf(table: RowsTable, column: string): string {
  if (table === 'sessions' && column === 'revenue') return 'Map(String, Int64)';
  return COLUMN_TYPES[column] ?? 'String';
}

/** Structure text of a table's columns for the `format` table function. */
export function structureOf(table: RowsTable): string {
  return structureText(table, (column) => columnTypeOf(table, column));
}

/** Texts without a dictionary in the table: they have too many values. */
const WITHOUT_DICTIONARY: ReadonlySet<string> = new Set([
  ...['deviceId', 'profileId', 'eventId', 'orderId'],
  ...['query', 'hash', 'referrer'],
]);

/**
 * The same for rows that are united with stored ones: texts have the dictionaries of the table (`LowCardinality`). Without them, a union
 * would write out the stored texts of all rows.
 */
export function unionStructureOf(table: RowsTable): string {
  return structureText(table, (column) => {
    const type = columnTypeOf(table, column);
    return type === 'String' && !WITHOUT_DICTIONARY.has(column) ? 'LowCardinality(String)' : type;
  });
}

function structureText(table: RowsTable, typeOf: (column: string) => string): string {
  const columns: readonly string[] = table === 'events' ? EVENTS_COLUMNS : SESSIONS_COLUMNS;
  return columns.map((column) => `${column} ${typeOf(column)}`).join(', ');
}
