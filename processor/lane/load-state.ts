import type { Store, StoreParameters } from '../../infra/store/store.ts';
import type { DeviceId } from '../../ingest/event.ts';
import { laneOf } from '../../ingest/event.ts';
import { sessionSums } from '../figures.ts';
import type { NamedSession } from '../fold/ended-sessions.ts';
import type { RestoredPart, StoredMinute, StoredSeen } from '../fold/restore.ts';
import { SESSION_BLOCK_COLUMNS } from '../fold/session-blocks.ts';
import { LIVE_WINDOW_MS } from '../fold/site-counters.ts';
import { EVENT_ID_MEMORY_MS } from '../fold/slice-state.ts';
import { EVENTS_TABLE, happenedSince, SESSIONS_COLUMNS, SESSIONS_TABLE, sessionProfiles } from '../rows.ts';
import type { GrownLane } from './lane-record.ts';

const MINUTES_LOADED_MS = 7_500_000;
/** A task for the thread costs as much as reading some hundred rows, so pieces of the store's answer are put together. */
const PIECE_BYTES = 1_048_576;
/** While the thread reads one piece, the next one is put together. */
const PIECES_AHEAD = 2;

/** The flush and the clock that a lane is restored to. */
export interface RestorePoint {
  readonly lane: number;
  /** See `LaneOptions`. */
  readonly isAlone: boolean;
  readonly grown?: GrownLane | undefined;
  readonly storeShards: number;
  readonly flushNumber: number;
  readonly clockMs: number;
  readonly sessionRetainMs: number;
}

/**
 * Receives the restored state; its methods are called in this order. `restore` gets the rows of a part in pieces of any length; no bytes
 * end the part. The bytes have a buffer of their own, which it may move.
 */
export interface RestoreTarget {
  restore(part: RestoredPart, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  restoreMinutes(minutes: readonly StoredMinute[]): Promise<void>;
  restoreSeen(seen: readonly StoredSeen[]): Promise<void>;
}

/**
 * SQL condition for the rows that a lane restores: its own. The only lane of a service has all devices, so it restores all rows: the store
 * may have rows of more lanes from before its bus was lost. In a service that has grown, a lane also reads the rows of lanes which had its
 * devices before, and skips rows of other devices (`Home`).
 */
function ownRows({ isAlone, grown }: RestorePoint): string {
  if (isAlone) return '1';
  const own = 'partition = {lane:UInt16}';
  return grown === undefined ? own : `(${own} OR ${rowsBefore(grown)})`;
}

/** The same up to the flush of the restore point. Flushes of lanes of a lost bus, and flushes before the service grew, are complete. */
function ownFlushes({ isAlone, grown }: RestorePoint): string {
  const flushed = 'partition = {lane:UInt16} AND flushNumber <= {flushNumber:UInt32}';
  if (isAlone) return `(partition != {lane:UInt16} OR ${flushed})`;
  return grown === undefined ? flushed : `(${flushed} OR ${rowsBefore(grown)})`;
}

/** Rows from before the service grew, of all devices of these lanes. */
function rowsBefore({ before }: Pick<GrownLane, 'before'>): string {
  const of = ([lane, flushNumber]: readonly [number, number]) =>
    `(partition = ${lane} AND flushNumber <= ${flushNumber})`;
  return `(${before.map(of).join(' OR ')})`;
}

/** The number of the last flush of a lane that is complete in the store; 0 when there is none. */
export async function storedFlushNumber(store: Store, lane: number): Promise<number> {
  // Sessions are inserted last, and the marker is in one part with them.
  const rows = await store.query<{ flushNumber: number }>(
    `SELECT max(flushNumber) AS flushNumber FROM ${SESSIONS_TABLE}
     WHERE projectId = '' AND partition = {lane:UInt16} AND sign = 1`,
    { lane },
  );
  return Number(rows[0]?.flushNumber ?? 0);
}

/** The same of all lanes that have written anything, by the column `partition`. */
export async function storedFlushNumbers(store: Store): Promise<ReadonlyMap<number, number>> {
  const rows = await store.query<{ partition: number; flushNumber: number }>(
    `SELECT partition, max(flushNumber) AS flushNumber FROM ${SESSIONS_TABLE}
     WHERE projectId = '' AND sign = 1 GROUP BY partition`,
  );
  return new Map(rows.map(({ partition, flushNumber }) => [Number(partition), Number(flushNumber)]));
}

/**
 * Gives the target the state of a lane at a flush: its retained sessions, the minutes that are answered from memory, the recently seen
 * devices, and the event ids of the last day. A restart therefore equals no restart.
 */
export async function loadState(store: Store, target: RestoreTarget, point: RestorePoint): Promise<void> {
  if (point.flushNumber === 0 && !point.isAlone && point.grown === undefined) return;
  const parts = new StoredParts(store);
  let passing = Promise.resolve();
  try {
    // The store prepares the next answers while one is read. An answer that is not read yet keeps one of the places for
    // statements of the store, and waits for nothing but answers that have begun and are read.
    const sessions = parts.open(sessionsOf(point));
    await sessions.begun();
    passing = pass(sessions, target, 'sessions');
    passing.catch(() => undefined); // It is awaited below.
    const [minutes, seen] = await Promise.all([minutesOf(store, point), seenOf(store, point)]);
    const visitors = parts.open(visitorsOf(point));
    await passing;
    await target.restoreMinutes(minutes);
    await visitors.begun();
    const ids = parts.open(eventIdsOf(point));
    await pass(visitors, target, 'visitors');
    await target.restoreSeen(seen);
    await pass(ids, target, 'event-ids');
  } finally {
    parts.close();
    await Promise.allSettled([passing]);
  }
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

/** A statement. */
interface Select {
  readonly sql: string;
  readonly parameters: StoreParameters;
}

/** Answers of the store, requested together. */
class StoredParts {
  readonly #store: Store;
  readonly #ended = new AbortController();
  readonly #opened: StoredPart[] = [];

  constructor(store: Store) {
    this.#store = store;
  }

  /** Sends the request immediately. */
  open({ sql, parameters }: Select): StoredPart {
    const pieces = this.#store.bytes(sql, parameters, {}, this.#ended.signal);
    const part = new StoredPart(pieces);
    this.#opened.push(part);
    return part;
  }

  /** Ends those that were not read to their end. */
  close(): void {
    this.#ended.abort();
    for (const part of this.#opened) part.close();
  }
}

/** One answer, requested immediately. */
class StoredPart {
  readonly #pieces: AsyncGenerator<Buffer, void, void>;
  readonly #first: Promise<IteratorResult<Buffer, void>>;

  constructor(pieces: AsyncGenerator<Buffer, void, void>) {
    this.#pieces = pieces;
    this.#first = pieces.next();
    this.#first.catch(() => undefined); // The reader of the answer gets the error.
  }

  /** Resolves once the first bytes have arrived. */
  async begun(): Promise<void> {
    await this.#first;
  }

  async *pieces(): AsyncGenerator<Buffer, void, void> {
    const first = await this.#first;
    if (first.done === true) return;
    yield first.value;
    yield* this.#pieces;
  }

  close(): void {
    this.#pieces.return().catch(() => undefined); // The rest is not needed.
  }
}

/** Passes an answer on in larger pieces, some of them ahead of the target. */
async function pass(answer: StoredPart, target: RestoreTarget, part: RestoredPart): Promise<void> {
  const ahead: Promise<void>[] = [];
  let pieces: Buffer[] = [];
  let length = 0;
  const send = async () => {
    const bytes = joined(pieces, length);
    pieces = [];
    length = 0;
    if (ahead.length === PIECES_AHEAD) await ahead.shift();
    const passed = target.restore(part, bytes);
    passed.catch(() => undefined); // It is awaited below, or by the next call.
    ahead.push(passed);
  };
  for await (const piece of answer.pieces()) {
    pieces.push(piece);
    length += piece.length;
    if (length >= PIECE_BYTES) await send();
  }
  if (length > 0) await send();
  await Promise.all(ahead);
  await target.restore(part, new Uint8Array(0));
}

function joined(pieces: readonly Buffer[], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const piece of pieces) {
    bytes.set(piece, offset);
    offset += piece.length;
  }
  return bytes;
}

/**
 * The states that were not replaced, whatever the store has merged so far. A session id that was assigned twice has two of them; the one
 * with the higher version is restored.
 */
function sessionsOf(point: RestorePoint): Select {
  const condition = `${ownRows(point)} AND projectId != ''
      AND touchedAt >= fromUnixTimestamp64Milli({fromMs:Int64}, 'UTC')`;
  // Only replaced states that are not merged yet are looked up. Nothing is sorted or grouped: for a million sessions, that took as long as
  // writing them.
  return {
    sql: `SELECT ${SESSION_BLOCK_COLUMNS.join(', ')} FROM ${SESSIONS_TABLE}
    WHERE sign = 1 AND ${condition} AND (id, projectId, version) NOT IN (
      SELECT id, projectId, version FROM ${SESSIONS_TABLE} WHERE sign = -1 AND ${condition})
    FORMAT Native`,
    parameters: { lane: point.lane, fromMs: Math.max(0, point.clockMs - point.sessionRetainMs) },
  };
}

function eventIdsOf(point: RestorePoint): Select {
  return {
    sql: `SELECT projectId, deviceId, eventId, sessionId, receivedAt FROM ${EVENTS_TABLE}
    WHERE ${ownFlushes(point)} AND eventId != ''
      AND receivedAt >= fromUnixTimestamp64Milli({fromMs:Int64}, 'UTC')
    ORDER BY receivedAt FORMAT RowBinary`,
    parameters: {
      lane: point.lane,
      flushNumber: point.flushNumber,
      fromMs: Math.max(0, point.clockMs - EVENT_ID_MEMORY_MS),
    },
  };
}

/** Events of the minutes that are answered from memory, of these flushes. */
function minuteEvents(flushes: string): string {
  return `FROM ${EVENTS_TABLE}
         WHERE ${flushes}
           AND ${happenedSince('fromMs')}
           AND name NOT IN ('session_start', 'session_end')`;
}

function minuteParameters({ lane, flushNumber, clockMs }: RestorePoint): StoreParameters {
  return { lane, flushNumber, fromMs: Math.max(0, clockMs - MINUTES_LOADED_MS) };
}

/**
 * Visitors with events in the minutes. The profile of the session (`sessionProfiles`) takes precedence over the events' own. A visitor may
 * come several times.
 */
function visitorsOf(point: RestorePoint): Select {
  return {
    sql: `SELECT projectId, deviceId, sessionId, if(sessionProfile != '', sessionProfile, profileId) AS profile, minutes
     FROM (
       SELECT projectId, sessionId, deviceId, profileId,
              groupUniqArray(toUInt32(intDiv(toUnixTimestamp(createdAt), 60))) AS minutes
         ${minuteEvents(ownFlushes(point))}
       GROUP BY projectId, sessionId, deviceId, profileId
     ) AS happened
     ANY LEFT JOIN (${sessionProfiles(
       `projectId != '' AND ${ownRows(point)}
          AND mixedUntil >= fromUnixTimestamp64Milli({fromMs:Int64}, 'UTC')`,
     )}) AS named USING (projectId, sessionId)
     FORMAT RowBinary`,
    parameters: minuteParameters(point),
  };
}

/**
 * Counts of all lanes are added up. So each lane restores the events that it wrote itself, even if another lane has their devices now. A state of
 * a session may have been written by one lane and replaced by another, and the store may have merged both rows: so a lane restores the
 * sessions of its devices.
 */
async function minutesOf(store: Store, { grown, ...point }: RestorePoint): Promise<StoredMinute[]> {
  const parameters = minuteParameters(point);
  const events = await store.query<StoredMinute>(
    `SELECT projectId, minuteMs, screenViews, otherEvents, 0 AS sessions, 0 AS bounces, 0 AS durationMs,
            arrayMap((currency, amount) -> (currency, toString(amount)), mapKeys(byCurrency), mapValues(byCurrency))
              AS revenue
     FROM (
       SELECT projectId, toUnixTimestamp(toStartOfMinute(createdAt)) * 1000 AS minuteMs,
              countIf(name = 'screen_view') AS screenViews, countIf(name != 'screen_view') AS otherEvents,
              sumMapIf(map(currency, toInt128(revenue)), revenue != 0) AS byCurrency
         ${minuteEvents(ownFlushes(point))}
       GROUP BY projectId, minuteMs
     )`,
    parameters,
  );
  const own = ownRows(point);
  const sessions = await sessionMinutesOf(
    store,
    grown === undefined ? own : `${own} AND NOT ${rowsBefore(grown)}`,
    parameters,
  );
  const moved = grown === undefined ? [] : await movedMinutesOf(store, point, grown, parameters);
  return [...events, ...sessions, ...moved].map((minute) => ({
    ...minute,
    minuteMs: Number(minute.minuteMs),
    screenViews: Number(minute.screenViews),
    otherEvents: Number(minute.otherEvents),
    sessions: Number(minute.sessions),
    bounces: Number(minute.bounces),
    durationMs: Number(minute.durationMs),
  }));
}

/** Sessions of this lane by minute, from before the service grew. */
async function movedMinutesOf(
  store: Store,
  { lane, storeShards }: RestorePoint,
  { lanes, before }: GrownLane,
  parameters: StoreParameters,
): Promise<StoredMinute[]> {
  const rows = await sessionMinutesOf(store, rowsBefore({ before }), parameters, ['projectId', 'deviceId']);
  return rows.filter(
    ({ projectId, deviceId }) => laneOf(projectId, deviceId, { lanes, storeShards }) === lane,
  );
}

function sessionMinutesOf(
  store: Store,
  condition: string,
  parameters: StoreParameters,
  by: readonly string[] = ['projectId'],
): Promise<(StoredMinute & { readonly deviceId: DeviceId })[]> {
  return store.query(
    `SELECT *, 0 AS screenViews, 0 AS otherEvents, [] AS revenue
     FROM
     (
         SELECT ${by.join(', ')}, toUnixTimestamp(toStartOfMinute(startedAt)) * 1000 AS minuteMs, ${sessionSums('name')}
         FROM ${SESSIONS_TABLE}
         WHERE ${condition} AND projectId != ''
             AND startedAt >= fromUnixTimestamp64Milli({fromMs:Int64}, 'UTC')
         GROUP BY ${by.join(', ')}, minuteMs
     )`,
    parameters,
  );
}

/** When devices were last seen by credited events, which leave the end of their session as it is. */
async function seenOf(store: Store, point: RestorePoint): Promise<StoredSeen[]> {
  const seen = await store.query<StoredSeen>(
    `SELECT projectId, deviceId, lower(hex(sessionId)) AS sessionId,
            max(toUnixTimestamp64Milli(createdAt)) AS atMs
     FROM ${EVENTS_TABLE}
     WHERE ${ownFlushes(point)} AND currency != ''
       AND ${happenedSince('fromMs')}
       AND sessionId != toFixedString('', 16)
     GROUP BY projectId, deviceId, sessionId`,
    {
      lane: point.lane,
      flushNumber: point.flushNumber,
      fromMs: Math.max(0, point.clockMs - LIVE_WINDOW_MS),
    },
  );
  return seen.map((device) => ({ ...device, atMs: Number(device.atMs) }));
}
