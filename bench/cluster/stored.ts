import type { ClickHouseClient } from '@clickhouse/client';
import { SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { EVENTS_TABLE, SESSIONS_TABLE } from '../../processor/rows.ts';

/** The columns of the `events` table that an audit needs; ids are 32 hexadecimal digits. */
export interface StoredEvent {
  readonly id: string;
  readonly eventId: string;
  readonly sessionId: string;
  readonly deviceId: string;
  readonly name: string;
  readonly path: string;
  readonly createdAtMs: number;
}

/** A session as the sum of its rows. */
export interface StoredSession {
  readonly id: string;
  readonly deviceId: string;
  readonly profileId: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly screenViews: number;
  readonly otherEvents: number;
  readonly entryPath: string;
  readonly exitPath: string;
  /**
   * The number of rows with this content, counted by sign: 1 for each session, unless a row was written twice or not at
   * all.
   */
  readonly states: number;
}

const EVENTS_SQL = `SELECT lower(hex(id)) AS id, eventId, lower(hex(sessionId)) AS sessionId, deviceId, name, path,
    toFloat64(toUnixTimestamp64Milli(createdAt)) AS createdAtMs
  FROM ${EVENTS_TABLE} WHERE projectId = {site:String}`;

const SESSIONS_SQL = `SELECT lower(hex(id)) AS id, deviceId, profileId,
    toFloat64(toUnixTimestamp64Milli(startedAt)) AS startedAtMs,
    toFloat64(toUnixTimestamp64Milli(endedAt)) AS endedAtMs,
    screenViews, otherEvents, entryPath, exitPath, toInt32(sum(sign)) AS states
  FROM ${SESSIONS_TABLE} WHERE projectId = {site:String}
  GROUP BY id, deviceId, profileId, startedAtMs, endedAtMs, screenViews, otherEvents, entryPath, exitPath
  HAVING states != 0`;

const COUNTS_SQL = `SELECT
    toUInt32((SELECT count() FROM ${EVENTS_TABLE}
      WHERE projectId = {site:String} AND name NOT IN ('${SESSION_START}', '${SESSION_END}'))) AS events,
    toInt32((SELECT sum(sign * (toInt64(screenViews) + toInt64(otherEvents))) FROM ${SESSIONS_TABLE}
      WHERE projectId = {site:String})) AS inSessions`;

/** All event rows of a site, synthetic ones included. */
export function storedEvents(store: ClickHouseClient, site: string): Promise<StoredEvent[]> {
  return rows<StoredEvent>(store, EVENTS_SQL, site);
}

export function storedSessions(store: ClickHouseClient, site: string): Promise<StoredSession[]> {
  return rows<StoredSession>(store, SESSIONS_SQL, site);
}

/** The number of clients' events in either table. A flush writes the events first, so the two may differ meanwhile. */
export async function storedCounts(
  store: ClickHouseClient,
  site: string,
): Promise<{ readonly events: number; readonly inSessions: number }> {
  const [counts] = await rows<{ events: number; inSessions: number }>(store, COUNTS_SQL, site);
  return counts ?? { events: 0, inSessions: 0 };
}

export function isSynthetic(event: StoredEvent): boolean {
  return event.name === SESSION_START || event.name === SESSION_END;
}

async function rows<Row>(store: ClickHouseClient, query: string, site: string): Promise<Row[]> {
  const answer = await store.query({ query, query_params: { site }, format: 'JSONEachRow' });
  return await answer.json<Row>();
}
