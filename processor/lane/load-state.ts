import type { Store } from '../../infra/store/store.ts';
import type { NamedSession } from '../fold/ended-sessions.ts';
import { EVENT_ID_MEMORY_MS } from '../fold/partition.ts';
import type { StoredEventId, StoredMinute, StoredSeen } from '../fold/restore.ts';
import { LIVE_WINDOW_MS } from '../fold/site-counters.ts';
import { EVENTS_TABLE, SESSIONS_COLUMNS, SESSIONS_TABLE, sessionProfiles } from '../rows.ts';
import type { Shards } from './shards.ts';

const MINUTES_LOADED_MS = 7_500_000;
const IDS_A_TASK = 20_000;

/** The flush and the clock that a partition is restored to. */
export interface RestorePoint {
  readonly partition: number;
  /** See `LaneOptions`. */
  readonly isAlone: boolean;
  readonly flushNumber: number;
  readonly clockMs: number;
  readonly sessionRetainMs: number;
}

/** Which rows a lane restores: its own and, if it is alone, those of partitions of earlier releases. */
function ownRows({ isAlone }: RestorePoint): string {
  return isAlone ? '1' : 'partition = {partition:UInt16}';
}

/** The same up to the flush of the restore point. Flushes of earlier partitions are complete. */
function ownFlushes({ isAlone }: RestorePoint): string {
  const flushed = 'partition = {partition:UInt16} AND flushNumber <= {flushNumber:UInt32}';
  return isAlone ? `(partition != {partition:UInt16} OR ${flushed})` : flushed;
}

/** The number of the last flush of a partition that is complete in the store; 0 when there is none. */
export async function storedFlushNumber(store: Store, partition: number): Promise<number> {
  // Sessions are inserted last, and the marker is in one part with them.
  const rows = await store.query<{ flushNumber: number }>(
    `SELECT max(flushNumber) AS flushNumber FROM ${SESSIONS_TABLE}
     WHERE projectId = '' AND partition = {partition:UInt16} AND sign = 1`,
    { partition },
  );
  return Number(rows[0]?.flushNumber ?? 0);
}

/**
 * Gives the shards what a lane knew at a flush: its retained sessions, the event ids of the last day, the minutes
 * that are answered from memory, and which devices were seen lately. A restart therefore equals no restart.
 */
export async function loadState(store: Store, shards: Shards, point: RestorePoint): Promise<void> {
  if (point.flushNumber === 0 && !point.isAlone) return;
  await loadSessions(store, shards, point);
  await loadEventIds(store, shards, point);
  await loadMinutes(store, shards, point);
  await loadSeen(store, shards, point);
}

/**
 * The newest stored states of these sessions, as rows with the columns of `SESSIONS_COLUMNS`. A session that the store
 * does not have is missing, and so is a state that is not flushed yet.
 */
export async function storedSessions(store: Store, named: readonly NamedSession[]): Promise<Buffer> {
  const columns = SESSIONS_COLUMNS.join(', ');
  const pieces: Buffer[] = [];
  const rows = store.bytes(
    `SELECT ${columns} FROM ${SESSIONS_TABLE}
     WHERE sign = 1 AND projectId IN {projectIds:Array(String)}
       AND deviceId IN {deviceIds:Array(String)} AND lower(hex(id)) IN {sessionIds:Array(String)}
     ORDER BY version DESC LIMIT 1 BY projectId, deviceId, id FORMAT RowBinary`,
    {
      projectIds: [...new Set(named.map(({ projectId }) => projectId))],
      deviceIds: [...new Set(named.map(({ deviceId }) => deviceId))],
      sessionIds: [...new Set(named.map(({ sessionId }) => sessionId))],
    },
  );
  for await (const piece of rows) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function loadSessions(store: Store, shards: Shards, point: RestorePoint): Promise<void> {
  const columns = SESSIONS_COLUMNS.join(', ');
  // The newest state of a session is the one with the highest version, whatever the store has merged so far.
  const pieces = store.bytes(
    `SELECT ${columns} FROM (
       SELECT ${columns} FROM ${SESSIONS_TABLE}
       WHERE ${ownRows(point)} AND projectId != '' AND sign = 1
         AND touchedAt >= fromUnixTimestamp64Milli({fromMs:Int64}, 'UTC')
       ORDER BY version DESC LIMIT 1 BY projectId, id
     ) ORDER BY touchedAt, id FORMAT RowBinary`,
    { partition: point.partition, fromMs: Math.max(0, point.clockMs - point.sessionRetainMs) },
  );
  for await (const piece of pieces) await shards.restoreSessions(piece);
}

async function loadEventIds(store: Store, shards: Shards, point: RestorePoint): Promise<void> {
  const rows = await store.query<Omit<StoredEventId, 'atMs'> & { atMs: string | number }>(
    `SELECT projectId, deviceId, eventId, if(sessionId = toFixedString('', 16), '', lower(hex(sessionId))) AS sessionId,
            toUnixTimestamp64Milli(receivedAt) AS atMs
     FROM ${EVENTS_TABLE}
     WHERE ${ownFlushes(point)} AND eventId != ''
       AND receivedAt >= fromUnixTimestamp64Milli({fromMs:Int64}, 'UTC')
     ORDER BY receivedAt`,
    {
      partition: point.partition,
      flushNumber: point.flushNumber,
      fromMs: Math.max(0, point.clockMs - EVENT_ID_MEMORY_MS),
    },
  );
  for (let start = 0; start < rows.length; start += IDS_A_TASK) {
    const ids = rows.slice(start, start + IDS_A_TASK).map((row) => ({ ...row, atMs: Number(row.atMs) }));
    await shards.restoreEventIds(ids);
  }
}

async function loadMinutes(store: Store, shards: Shards, point: RestorePoint): Promise<void> {
  const parameters = {
    partition: point.partition,
    flushNumber: point.flushNumber,
    fromMs: Math.max(0, point.clockMs - MINUTES_LOADED_MS),
  };
  const events = await store.query<StoredMinute>(
    `SELECT projectId, minuteMs, screenViews, otherEvents, visitors, 0 AS sessions, 0 AS bounces, 0 AS durationMs,
            arrayMap((currency, amount) -> (currency, toString(amount)), mapKeys(byCurrency), mapValues(byCurrency))
              AS revenue
     FROM (
       SELECT projectId, toUnixTimestamp(toStartOfMinute(createdAt)) * 1000 AS minuteMs,
              countIf(name = 'screen_view') AS screenViews, countIf(name != 'screen_view') AS otherEvents,
              sumMapIf(map(currency, revenue), revenue != 0) AS byCurrency,
              groupUniqArray((deviceId, if(sessionId = toFixedString('', 16), '', lower(hex(sessionId))),
                              if(sessionProfile != '', sessionProfile, profileId))) AS visitors
       FROM (
         SELECT projectId, createdAt, name, revenue, currency, sessionId, profileId, deviceId FROM ${EVENTS_TABLE}
         WHERE ${ownFlushes(point)}
           AND createdAt >= fromUnixTimestamp64Milli({fromMs:Int64}, 'UTC')
           AND name NOT IN ('session_start', 'session_end')
       ) AS happened
       ANY LEFT JOIN (${sessionProfiles(
         `projectId != '' AND ${ownRows(point)}
            AND mixedUntil >= fromUnixTimestamp64Milli({fromMs:Int64}, 'UTC')`,
       )}) AS named USING (projectId, sessionId)
       GROUP BY projectId, minuteMs
     )`,
    parameters,
  );
  const sessions = await store.query<StoredMinute>(
    `SELECT projectId, toUnixTimestamp(toStartOfMinute(startedAt)) * 1000 AS minuteMs,
            0 AS screenViews, 0 AS otherEvents, sum(sign) AS sessions, sumIf(sign, views <= 1) AS bounces,
            sum(sign * (toUnixTimestamp64Milli(endedAt) - toUnixTimestamp64Milli(startedAt))) AS durationMs,
            [] AS revenue, [] AS visitors
     FROM (SELECT sign, projectId, startedAt, endedAt, screenViews AS views FROM ${SESSIONS_TABLE}
           WHERE ${ownRows(point)} AND projectId != ''
             AND startedAt >= fromUnixTimestamp64Milli({fromMs:Int64}, 'UTC'))
     GROUP BY projectId, minuteMs`,
    parameters,
  );
  const minutes = [...events, ...sessions].map((minute) => ({
    ...minute,
    minuteMs: Number(minute.minuteMs),
    screenViews: Number(minute.screenViews),
    otherEvents: Number(minute.otherEvents),
    sessions: Number(minute.sessions),
    bounces: Number(minute.bounces),
    durationMs: Number(minute.durationMs),
  }));
  await shards.restoreMinutes(minutes);
}

/** When devices were last seen by credited events, which leave the end of their session as it is. */
async function loadSeen(store: Store, shards: Shards, point: RestorePoint): Promise<void> {
  const seen = await store.query<StoredSeen>(
    `SELECT projectId, deviceId, lower(hex(sessionId)) AS sessionId,
            max(toUnixTimestamp64Milli(createdAt)) AS atMs
     FROM ${EVENTS_TABLE}
     WHERE ${ownFlushes(point)} AND currency != ''
       AND createdAt >= fromUnixTimestamp64Milli({fromMs:Int64}, 'UTC')
       AND sessionId != toFixedString('', 16)
     GROUP BY projectId, deviceId, sessionId`,
    {
      partition: point.partition,
      flushNumber: point.flushNumber,
      fromMs: Math.max(0, point.clockMs - LIVE_WINDOW_MS),
    },
  );
  await shards.restoreSeen(seen.map((device) => ({ ...device, atMs: Number(device.atMs) })));
}
