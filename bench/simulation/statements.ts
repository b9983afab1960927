import type { StoreParameters } from '../../infra/store/store.ts';
import { storedId } from '../../infra/testing/ids.ts';
import type { NamedSession } from '../../processor/fold/ended-sessions.ts';
import { sessionBlocks } from '../../processor/testing/session-blocks.ts';
import type { StoredRow } from '../../processor/testing/stored-rows.ts';
import {
  newestRows,
  storedEventIds,
  storedMinutes,
  storedSeen,
  storedVisitors,
} from '../../processor/testing/stored-state.ts';

/** The rows that a statement sees. */
export interface StoredTables {
  readonly events: readonly StoredRow[];
  readonly sessions: readonly StoredRow[];
}

const BLOCK_ROWS = 64;

/**
 * Answers the statements of `insertOnce`, `lane/load-state.ts` and `lane/reopen.ts` from rows, recognised by their unique parts.
 * An unknown statement is an error, so none is answered wrongly after it has changed.
 */
export function answerRows(tables: StoredTables, sql: string, parameters: StoreParameters): object[] {
  const { lane, fromMs } = numbersOf(parameters);
  if (sql.startsWith('SELECT 1 AS found FROM')) return isFound(tables, sql, parameters) ? [{ found: 1 }] : [];
  if (sql.includes('SELECT max(flushNumber) AS flushNumber')) {
    const numbers = tables.sessions
      .filter(({ values }) => isMarker(values) && values.partition === lane)
      .map(({ values }) => Number(values.flushNumber));
    return [{ flushNumber: Math.max(0, ...numbers) }];
  }
  const { events, sessions } = ofLane(tables, parameters);
  const recent = events.filter(({ values }) => Number(values.createdAt) >= fromMs);
  if (sql.includes("countIf(name = 'screen_view') AS screenViews")) return storedMinutes(recent, []);
  if (sql.includes('0 AS screenViews, 0 AS otherEvents, [] AS revenue'))
    return storedMinutes(
      [],
      sessions.filter(({ values }) => Number(values.startedAt) >= fromMs),
    );
  if (sql.includes('max(toUnixTimestamp64Milli(createdAt)) AS atMs')) return storedSeen(recent);
  throw new Error(`the simulated store does not know the statement ${sql}`);
}

/** The same for statements whose answer is bytes. */
export function answerBytes(tables: StoredTables, sql: string, parameters: StoreParameters): Buffer {
  const { fromMs } = numbersOf(parameters);
  if (sql.includes('LIMIT 1 BY projectId, deviceId, id FORMAT RowBinary'))
    return newestRows(tables.sessions, namedIn(tables, parameters));
  const { events, sessions } = ofLane(tables, parameters);
  if (sql.includes('FORMAT Native')) return sessionBlocks(notReplaced(sessions, fromMs), BLOCK_ROWS);
  const isRecent = (column: string) => (row: StoredRow) => Number(row.values[column]) >= fromMs;
  if (sql.includes('groupUniqArray(toUInt32(intDiv(toUnixTimestamp(createdAt), 60))) AS minutes'))
    return storedVisitors(events.filter(isRecent('createdAt')), sessions);
  if (sql.includes('SELECT projectId, deviceId, eventId, sessionId, receivedAt FROM events'))
    return storedEventIds(
      events
        .filter(isRecent('receivedAt'))
        .toSorted((one, other) => Number(one.values.receivedAt) - Number(other.values.receivedAt)),
    );
  throw new Error(`the simulated store does not know the statement ${sql}`);
}

interface Numbers {
  readonly lane: number;
  readonly flushNumber: number;
  readonly fromMs: number;
}

function numbersOf(parameters: StoreParameters): Numbers {
  const number = (name: string) => Number(parameters[name] ?? 0);
  return { lane: number('lane'), flushNumber: number('flushNumber'), fromMs: number('fromMs') };
}

/** Rows of a lane: of events up to a flush, of sessions all. */
function ofLane({ events, sessions }: StoredTables, parameters: StoreParameters): StoredTables {
  const { lane, flushNumber } = numbersOf(parameters);
  return {
    events: events.filter(
      ({ values }) => values.partition === lane && Number(values.flushNumber) <= flushNumber,
    ),
    sessions: sessions.filter(({ values }) => values.partition === lane && values.projectId !== ''),
  };
}

function isMarker(values: StoredRow['values']): boolean {
  return values.projectId === '' && values.sign === 1;
}

/** True if rows of a flush exist: any event of it, or its marker. */
function isFound(tables: StoredTables, sql: string, parameters: StoreParameters): boolean {
  const { lane, flushNumber } = numbersOf(parameters);
  const isOfFlush = ({ values }: StoredRow) =>
    values.partition === lane && Number(values.flushNumber) === flushNumber;
  if (sql.includes(' FROM events ')) return tables.events.some(isOfFlush);
  if (sql.includes("projectId = ''"))
    return tables.sessions.some((row) => isOfFlush(row) && isMarker(row.values));
  throw new Error(`the simulated store does not know the statement ${sql}`);
}

/** States of sessions that no other row cancels. */
function notReplaced(sessions: readonly StoredRow[], fromMs: number): StoredRow[] {
  const recent = sessions.filter(({ values }) => Number(values.touchedAt) >= fromMs);
  const stateOf = ({ values }: StoredRow) => `${values.id} ${values.projectId} ${values.version}`;
  const replaced = new Set(recent.filter(({ values }) => values.sign === -1).map(stateOf));
  return recent.filter((row) => row.values.sign === 1 && !replaced.has(stateOf(row)));
}

function namedIn({ sessions }: StoredTables, parameters: StoreParameters): NamedSession[] {
  const list = (name: string) => parameters[name] as readonly string[];
  const known = new Map<string, NamedSession>();
  for (const { values } of sessions) {
    const named = {
      projectId: storedId(String(values.projectId)),
      deviceId: String(values.deviceId),
      sessionId: String(values.id),
    };
    const isAsked =
      list('projectIds').includes(named.projectId) &&
      list('deviceIds').includes(named.deviceId) &&
      list('sessionIds').includes(named.sessionId);
    if (isAsked) known.set(Object.values(named).join(' '), named);
  }
  return [...known.values()];
}
