import type { Store } from '../../infra/store/store.ts';
import { type RollupUnit, UNITS } from '../rollups/units.ts';
import { EVENTS_COLUMNS, NAMES_ROLLUP, ROLLUP_DIMENSIONS, SESSIONS_COLUMNS } from '../rows.ts';
import { inOrder, type PlainRollup, type RollupsByTable } from './rollups-recount.ts';
import { readRows, type StoredRow } from './stored-rows.ts';

const PAGES = ['origin', 'path', 'title', 'screenViews', 'sessionsWithin', 'sessions'];
const FIGURES = ['begun', 'bounced', 'lastedMs', 'revenue', 'visitors'];
const DAILY = Object.entries(ROLLUP_DIMENSIONS).map(
  ([table, columns]) => [table, [...columns, 'viewed']] as const,
);

/** All rollup tables, and the columns that are compared. */
const TABLES: Readonly<
  Record<RollupUnit, readonly (readonly [table: string, columns: readonly string[]])[]>
> = {
  hour: [
    ['hourly_totals', ['screenViews', ...FIGURES]],
    ['hourly_pages', [...PAGES, ...FIGURES]],
  ],
  day: [
    ['daily_pages', [...PAGES, ...FIGURES]],
    ...DAILY.map(([table, columns]) => [table, [...columns, ...FIGURES]] as const),
    [NAMES_ROLLUP, ['name', 'events']],
  ],
};

/** The rollup tables and the tables of announcements. */
export const ROLLUP_TABLES: readonly string[] = [
  ...Object.values(UNITS).map(({ announced }) => announced),
  ...Object.values(TABLES).flatMap((tables) => tables.map(([table]) => table)),
];

/** The last announcement of an hour or day of a site. */
export interface AnnouncedRollup {
  readonly projectId: string;
  readonly startMs: number;
  readonly block: number;
  readonly flushed: readonly number[];
}

/** The last announcement of each hour or day of these sites, without invalidations. */
export async function announcedRollups(
  store: Store,
  unit: RollupUnit,
  sites: readonly string[],
): Promise<readonly AnnouncedRollup[]> {
  const { announced, column } = UNITS[unit];
  const rows = await store.query<{ projectId: string; start: number; block: number; flushed: number[] }>(
    `SELECT projectId, toUnixTimestamp(${column}) AS start, block, flushed FROM ${announced} ORDER BY block`,
  );
  const last = new Map<string, AnnouncedRollup>();
  for (const { projectId, start, block, flushed } of rows)
    for (const site of projectId === '' ? sites : [projectId])
      last.set(`${site} ${start}`, { projectId: site, startMs: start * 1000, block, flushed });
  return [...last.values()].filter(({ flushed }) => flushed.length > 0);
}

/** The rows of announced rollups by table, with names instead of hashes. */
export async function announcedRows(
  store: Store,
  unit: RollupUnit,
  announced: readonly AnnouncedRollup[],
  names: ReadonlyMap<string, string>,
): Promise<RollupsByTable> {
  const blocks = new Map(
    announced.map(({ projectId, startMs, block }) => [`${projectId} ${startMs}`, block]),
  );
  const { column } = UNITS[unit];
  const found: Record<string, readonly PlainRollup[]> = {};
  for (const [table, columns] of TABLES[unit]) {
    const rows = await store.query<Record<string, unknown>>(
      `SELECT projectId, toUnixTimestamp(${column}) * 1000 AS start, block, ${columns.map(selected).join(', ')} FROM ${table}`,
    );
    found[table] = inOrder(
      rows
        .filter(({ projectId, start, block }) => blocks.get(`${projectId} ${start}`) === block)
        .map(({ block, ...row }) => ({ ...row, ...named(row, names) })),
    );
  }
  return found;
}

function selected(column: string): string {
  if (column === 'visitors' || column === 'sessions')
    return `arrayMap(hash -> toString(hash), ${column}) AS ${column}`;
  if (column !== 'revenue') return column;
  return 'mapApply((currency, amount) -> (currency, toString(amount)), revenue) AS revenue';
}

function named(row: PlainRollup, names: ReadonlyMap<string, string>): PlainRollup {
  const namesOf = (hashes: unknown) =>
    (hashes as string[]).map((hash) => names.get(hash) ?? `no row has ${hash}`).sort();
  if (row.visitors === undefined) return {};
  const amounts = Object.entries(row.revenue as Record<string, string>).filter(
    ([, amount]) => amount !== '0',
  );
  return {
    visitors: namesOf(row.visitors),
    ...(row.sessions === undefined ? {} : { sessions: namesOf(row.sessions) }),
    revenue: Object.fromEntries(amounts.sort()),
  };
}

/** The visitor or session of each hash in the rollups, for all visitors and sessions of these rows. */
export async function namesOfHashes(
  store: Store,
  rows: readonly StoredRow[],
): Promise<ReadonlyMap<string, string>> {
  const visitors = rows.flatMap(({ values }) => [String(values.profileId), String(values.deviceId)]);
  const sessions = rows.flatMap(({ values }) =>
    values.sessionId === undefined ? [] : [String(values.sessionId)],
  );
  const hashes = await store.query<{ name: string; hash: string }>(
    `SELECT name, toString(sipHash64(text) % 281474976710656) AS hash
     FROM
     (
         SELECT arrayJoin({visitors:Array(String)}) AS name, name AS text
         UNION ALL
         SELECT arrayJoin({sessions:Array(String)}) AS name, unhex(name) AS text
     )`,
    { visitors: [...new Set(visitors)], sessions: [...new Set(sessions)] },
  );
  return new Map(hashes.map(({ name, hash }) => [hash, name]));
}

/** All rows of the store, read by a decoder of the tests' own. */
export async function storedRows(store: Store): Promise<{ events: StoredRow[]; sessions: StoredRow[] }> {
  const read = async (columns: readonly string[], table: string) => {
    const pieces: Buffer[] = [];
    const sql = `SELECT ${columns.join(', ')} FROM ${table} FORMAT RowBinary`;
    for await (const piece of store.bytes(sql)) pieces.push(piece);
    return Buffer.concat(pieces);
  };
  return {
    events: readRows('events', await read(EVENTS_COLUMNS, 'events')),
    sessions: readRows('sessions', await read(SESSIONS_COLUMNS, 'sessions')),
  };
}
