/**
 * The two relations that statements read: the events and the sessions of a site as of the question, each of them once. `snapshot/seam.ts`
 * explains where history ends and hot rows begin; no other text names a flush or hot rows.
 *
 * A statement of `sql/` writes in brackets what it reads:
 *
 *     FROM $EVENTS[
 *         SELECT sessionId, name = {screenView:String} AS isScreenView
 *         WHERE $IN_SPAN$ AND ($FILTER$)
 *         STORED WHERE $IN_HOURS$
 *     ]$
 *
 * Stored and hot rows are read with the same columns and conditions. Conditions after `STORED WHERE` limit only what is read in the store:
 * every hot row meets them. `$SESSIONS[…]$` is written alike, and so is `$SCANNED_SESSIONS[…]$`: the sessions, divided by what the scan itself
 * finds in the store.
 */

/** Marks text for hot rows, which is left out when there are none. Such parts may be nested. */
export const IF_HOT = '$IF_HOT$';
export const END_HOT = '$END_HOT$';
export const HOT_EVENTS = '$HOT_EVENTS$';
export const HOT_SESSIONS = '$HOT_SESSIONS$';

/** Matches text that reads hot rows, or the states that `withHotStates` makes of them. */
export const READS_HOT_ROWS = /\$HOT_(?:EVENTS|SESSIONS)\$|\bFROM hot\b/;

/** The columns and rows to read of a relation. */
export interface RelationReading {
  /** The columns, as after `SELECT`. */
  readonly columns: string;
  /** Conditions on stored and hot rows; all rows when absent. */
  readonly where?: string;
  /** Conditions that every hot row meets. With several, rows that meet several of them are read several times. */
  readonly storedWhere?: string | readonly string[];
}

const OF_SITE = 'projectId = {site:String}';
/** Events of the store up to the seam: all later ones are hot. */
const IS_HISTORY = 'flushNumber <= {flushed:Array(UInt32)}[partition + 1]';
/** Rows of flushes after the ones that a process has in memory; `behindLeast` is the first of them, for the index. */
const IS_BEHIND =
  'flushNumber > {behindLeast:UInt32} AND flushNumber > {behind:Array(UInt32)}[partition + 1]';
const HAS_NO_HOT_STATE = `${IF_HOT} AND id NOT IN (SELECT id FROM hot) ${END_HOT}`;
const IS_STORED_OR_LATER = '(hotFlush = 0 OR hotFlush > inStore)';

/** Placeholders that have another text for hot rows. */
const OF_HOT_ROWS: Readonly<Record<string, string>> = {
  $FILTER$: '$HOT_FILTER$',
  $COLUMNS$: '$HOT_COLUMNS$',
};

/** The newest state of each hot session. It replaces everything in the store about the session. */
const HOT_STATES = `hot AS
(
    SELECT *
    FROM ${HOT_SESSIONS}
    WHERE ${OF_SITE} AND sign > 0
    ORDER BY version DESC
    LIMIT 1 BY id
)`;

/** The events: of the store up to the seam, and hot ones. `where` may end in a `GROUP BY` or `LIMIT` for each of the two. */
export function events(reading: RelationReading): string {
  const { columns, where = '' } = reading;
  return union(
    storedRows('events', reading, `${OF_SITE} AND ${IS_HISTORY}`),
    `SELECT ${ofHotRows(columns)} FROM ${HOT_EVENTS} WHERE ${all(OF_SITE, ofHotRows(where))}`,
  );
}

/**
 * The states of the sessions, with `sign`: sums over it count each session once, in its current state. A session with hot rows has one
 * state, its newest.
 */
export function sessions(reading: RelationReading): string {
  const { columns, where = '' } = reading;
  return union(
    storedRows('sessions', reading, OF_SITE, HAS_NO_HOT_STATE),
    hotSessions({ columns, where: where || '1' }),
  );
}

/** The hot sessions, each in its newest state. Only for parts of a statement that are left out without hot rows. */
export function hotSessions({
  columns,
  where,
}: {
  readonly columns: string;
  readonly where: string;
}): string {
  return `SELECT ${columns} FROM hot WHERE ${where}`;
}

/**
 * The states of the sessions as of the flush that the scan itself finds in the store, and of later hot flushes (`snapshot/seam.ts`). It
 * compares no ids, so they need not be read.
 */
export function scannedSessions(reading: RelationReading): string {
  return `(
    SELECT * EXCEPT (hotFlush, isMarker, partition, flushNumber, inStore)
    FROM
    (
        SELECT *, maxIf(flushNumber, isMarker AND sign > 0) OVER (PARTITION BY partition) AS inStore
        FROM ${scanned(reading)}
    )
    WHERE NOT isMarker AND ${IS_STORED_OR_LATER}
)`;
}

/** The same states, added up by some of their columns. In `sums`, rows that are no states have `isMarker`. */
export function scannedSums({
  keys,
  sums,
  ...reading
}: RelationReading & { readonly keys: string; readonly sums: string }): string {
  return `(
    SELECT *
    FROM
    (
        SELECT *, max(marker) OVER (PARTITION BY partition) AS inStore
        FROM
        (
            SELECT partition, hotFlush, ${keys}, maxIf(flushNumber, isMarker AND sign > 0) AS marker, ${sums}
            FROM ${scanned(reading)}
            GROUP BY partition, hotFlush, ${keys}
        )
    )
    WHERE ${IS_STORED_OR_LATER}
)`;
}

function scanned(reading: RelationReading): string {
  const { columns, where = '' } = reading;
  return union(
    storedRows(
      'sessions',
      {
        ...reading,
        columns: `0 AS hotFlush, partition, projectId = '' AS isMarker, flushNumber, sign, ${columns}`,
      },
      `projectId = '' OR ${OF_SITE}`,
    ),
    `SELECT flushNumber AS hotFlush, partition, 0 AS isMarker, flushNumber, sign, ${columns}
    FROM ${HOT_SESSIONS}
    WHERE ${all(OF_SITE, where)}`,
  );
}

function storedRows(
  table: string,
  { columns, where = '', storedWhere = '' }: RelationReading,
  first: string,
  last = '',
): string {
  const conditions = [storedWhere].flat();
  return conditions
    .map((condition) => `SELECT ${columns} FROM ${table} WHERE ${all(first, condition, where)} ${last}`)
    .join('\n    UNION ALL\n    ');
}

function union(history: string, hot: string): string {
  return `(
    ${history}
    ${IF_HOT}
    UNION ALL
    ${hot}
    ${END_HOT}
)`;
}

function all(...conditions: readonly string[]): string {
  return conditions.filter((condition) => condition !== '').join(' AND ');
}

function ofHotRows(text: string): string {
  return Object.entries(OF_HOT_ROWS).reduce((made, [of, hot]) => made.replaceAll(of, hot), text);
}

const RELATIONS = { EVENTS: events, SESSIONS: sessions, SCANNED_SESSIONS: scannedSessions };
const IN_BRACKETS = /\$(EVENTS|SESSIONS|SCANNED_SESSIONS)\[(.*?)\]\$/gs;

/**
 * A statement of `sql/` with its relations.
 * @throws {Error} when a relation is not written as described above
 */
export function withRelations(sql: string): string {
  const text = sql
    .replaceAll(IN_BRACKETS, (whole, name: keyof typeof RELATIONS, inner: string) => {
      const [read = '', storedWhere = '', ...more] = inner.split('STORED WHERE');
      const [select = '', ...where] = read.split('WHERE');
      const columns = select.trim();
      if (!columns.startsWith('SELECT') || more.length > 0)
        throw new Error(`expected SELECT … WHERE … STORED WHERE …: ${whole}`);
      return RELATIONS[name]({
        columns: columns.slice('SELECT'.length).trim(),
        where: where.join('WHERE').trim(),
        storedWhere: storedWhere.trim(),
      });
    })
    .replaceAll('$IS_HISTORY$', () => IS_HISTORY)
    .replaceAll('$IS_BEHIND$', () => IS_BEHIND);
  if (/\$\w+\[|\]\$/.test(text)) throw new Error(`an unknown relation, or one without an end: ${text}`);
  return text;
}

/** The statement with the hot states, if it reads them. */
export function withHotStates(sql: string): string {
  if (!/\bFROM hot\b/.test(sql)) return sql;
  const begin = /^(?:\s+|--[^\n]*\n)*/.exec(sql)?.[0].length ?? 0;
  const statement = sql.slice(begin);
  const rest = statement.startsWith('WITH') ? `,${statement.slice('WITH'.length)}` : `\n${statement}`;
  return `${sql.slice(0, begin)}WITH ${HOT_STATES}${rest}`;
}
