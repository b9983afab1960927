import type { Store } from '../../../infra/store/store.ts';
import { SESSION_END, SESSION_START } from '../../../ingest/event.ts';
import { EVENTS_TABLE } from '../../../processor/rows.ts';

/**
 * The floor: the cost of the same questions as plain SQL over a plain table of the same events in the same engine, by the same
 * road. No hot rows, no sessions that grow, no rollups, no profiles: it says less than the answers, and shows the minimum cost of
 * a statement.
 */
const COLUMNS = `name, createdAt, sessionId, deviceId, profileId, origin, path, title, referrerName, country, browser,
  revenue, currency, id`;

/** Makes the table from the store's present rows. */
export async function makeFloor(store: Store, site: string): Promise<void> {
  await store.command('DROP TABLE IF EXISTS floor_events');
  await store.command(
    `CREATE TABLE floor_events ENGINE = MergeTree ORDER BY createdAt AS
     SELECT ${COLUMNS} FROM ${EVENTS_TABLE}
     WHERE projectId = {site:String} AND name NOT IN ('${SESSION_START}', '${SESSION_END}')`,
    { site },
  );
  await store.command('OPTIMIZE TABLE floor_events FINAL');
}

const DAYS_30 = 'createdAt >= now() - INTERVAL 30 DAY';
const VIEWS = "countIf(name = 'screen_view') AS views";
const VISITORS = "uniqExact(if(profileId != '', profileId, deviceId)) AS visitors";
const SESSIONS = 'uniqExact(sessionId) AS sessions';

/** By the title of the question in the result. */
export const FLOOR_STATEMENTS: Readonly<Record<string, string>> = {
  'metrics today': `SELECT toStartOfHour(createdAt) AS at, ${VIEWS}, ${VISITORS}, ${SESSIONS}, sum(revenue) AS earned
    FROM floor_events WHERE createdAt >= today() GROUP BY at`,
  'metrics 30d': `SELECT toDate(createdAt) AS at, ${VIEWS}, ${VISITORS}, ${SESSIONS}, sum(revenue) AS earned
    FROM floor_events WHERE ${DAYS_30} GROUP BY at`,
  'metrics 30d, one country': `SELECT toDate(createdAt) AS at, ${VIEWS}, ${VISITORS}, ${SESSIONS}, sum(revenue) AS earned
    FROM floor_events WHERE ${DAYS_30} AND country = 'DE' GROUP BY at`,
  'pages 30d': `SELECT origin, path, max(title) AS lastTitle, ${VIEWS}, ${VISITORS}, ${SESSIONS} FROM floor_events
    WHERE ${DAYS_30} AND name = 'screen_view' GROUP BY origin, path ORDER BY sessions DESC LIMIT 10`,
  'entry_exit 30d': `SELECT entry, count() AS sessions FROM (SELECT sessionId, argMin(path, createdAt) AS entry FROM floor_events
    WHERE ${DAYS_30} GROUP BY sessionId) GROUP BY entry ORDER BY sessions DESC LIMIT 10`,
  'country 30d': `SELECT country, ${SESSIONS}, ${VIEWS}, ${VISITORS} FROM floor_events WHERE ${DAYS_30}
    GROUP BY country ORDER BY sessions DESC LIMIT 10`,
  'referrer_name 30d': `SELECT referrerName, ${SESSIONS}, ${VIEWS}, ${VISITORS} FROM floor_events WHERE ${DAYS_30}
    GROUP BY referrerName ORDER BY sessions DESC LIMIT 10`,
  'active_users 30d': `SELECT toDate(createdAt) AS at, ${VISITORS} FROM floor_events WHERE ${DAYS_30} GROUP BY at`,
  'events 30d': `SELECT lower(hex(id)) AS id, name, path, createdAt FROM floor_events WHERE ${DAYS_30} ORDER BY createdAt DESC LIMIT 10`,
  'events/names 30d': `SELECT name, count() AS events FROM floor_events WHERE ${DAYS_30} GROUP BY name ORDER BY events DESC`,
  'sessions 30d': `SELECT lower(hex(sessionId)) AS id, min(createdAt) AS startedAt, ${VIEWS} FROM floor_events WHERE ${DAYS_30}
    GROUP BY sessionId ORDER BY startedAt DESC LIMIT 10`,
};
