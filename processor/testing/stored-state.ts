import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { storedId } from '../../infra/testing/ids.ts';
import type { NamedSession } from '../fold/ended-sessions.ts';
import type { StoredMinute, StoredSeen } from '../fold/restore.ts';
import type { StoredRow } from './stored-rows.ts';

/**
 * The store's answers to a lane that restores its state, from rows in memory: the statements of `lane/load-state.ts`, as slowly and plainly
 * as possible.
 */
const BYTES_MAX = 67_108_864;
const NO_SESSION = '0'.repeat(32);

/** The newest stored states of these sessions, as RowBinary. */
export function newestRows(sessions: readonly StoredRow[], named: readonly NamedSession[]): Buffer {
  const newest = named.map(({ projectId, deviceId, sessionId }) =>
    sessions
      .filter(({ values }) => values.sign === 1 && values.projectId === projectId)
      .filter(({ values }) => values.deviceId === deviceId && values.id === sessionId)
      .sort((a, b) => Number(a.values.version) - Number(b.values.version))
      .at(-1),
  );
  return Buffer.concat(newest.flatMap((row) => (row === undefined ? [] : [row.bytes])));
}

/** The newest states of the sessions that had an event since `fromMs`. */
export function retainedSessions(sessions: readonly StoredRow[], fromMs: number): StoredRow[] {
  const newest = new Map<string, StoredRow>();
  for (const row of sessions) {
    const { sign, projectId, id, version, touchedAt } = row.values;
    if (sign !== 1 || projectId === '' || Number(touchedAt) < fromMs) continue;
    const key = `${projectId} ${id}`;
    if (Number(newest.get(key)?.values.version ?? 0) < Number(version)) newest.set(key, row);
  }
  // In any order, as a store without ORDER BY.
  return [...newest.values()].sort((a, b) => (String(a.values.id) < String(b.values.id) ? -1 : 1));
}

/** One by one: each event and each session as a minute of its own. */
export function storedMinutes(events: readonly StoredRow[], rows: readonly StoredRow[]): StoredMinute[] {
  const sessions = currentSessions(rows);
  const minutes: StoredMinute[] = sessions.map((session) => ({
    ...emptyMinute(session.projectId, session.startedAt),
    sessions: 1,
    bounces: Number(session.screenViews) <= 1 ? 1 : 0,
    durationMs: Number(session.endedAt) - Number(session.startedAt),
  }));
  for (const { values } of events) {
    if (values.name === 'session_start' || values.name === 'session_end') continue;
    minutes.push({
      ...emptyMinute(values.projectId, values.createdAt),
      screenViews: values.name === 'screen_view' ? 1 : 0,
      otherEvents: values.name === 'screen_view' ? 0 : 1,
      revenue: values.currency === '' ? [] : [[String(values.currency), String(values.revenue)]],
    });
  }
  return minutes;
}

/** One by one, as the minutes. */
export function storedVisitors(events: readonly StoredRow[], rows: readonly StoredRow[]): Buffer {
  const writer = new RowBinaryWriter(BYTES_MAX);
  const sessions = currentSessions(rows);
  for (const { values } of events) {
    if (values.name === 'session_start' || values.name === 'session_end') continue;
    const { deviceId, sessionId, projectId } = values;
    const session = sessions.find(
      (found) => found.projectId === projectId && found.deviceId === deviceId && found.id === sessionId,
    );
    writer.string(String(projectId));
    writer.string(String(deviceId));
    writer.hex(String(session === undefined ? NO_SESSION : sessionId));
    writer.string(String(session?.profileId || values.profileId));
    writer.varint(1);
    writer.u32(Math.floor(Number(values.createdAt) / 60_000));
  }
  return writer.take();
}

/** Every event with revenue. */
export function storedSeen(events: readonly StoredRow[]): StoredSeen[] {
  return events
    .filter((row) => row.values.currency !== '')
    .map(({ values }) => ({
      projectId: storedId(String(values.projectId)),
      deviceId: String(values.deviceId),
      sessionId: String(values.sessionId),
      atMs: Number(values.createdAt),
    }));
}

/** Every event with an id of its own. */
export function storedEventIds(events: readonly StoredRow[]): Buffer {
  const writer = new RowBinaryWriter(BYTES_MAX);
  for (const { values } of events) {
    if (values.eventId === '') continue;
    writer.string(String(values.projectId));
    writer.string(String(values.deviceId));
    writer.string(String(values.eventId));
    writer.hex(String(values.sessionId || NO_SESSION));
    writer.dateTime64Ms(Number(values.receivedAt));
  }
  return writer.take();
}

/** The sessions that rows add up to: every state that became true and was not replaced. */
export function currentSessions(rows: readonly StoredRow[]): Record<string, unknown>[] {
  const keyOf = ({ values }: StoredRow) =>
    [values.projectId, values.id, values.version, values.touchedAt].join(' ');
  const replaced = new Map<string, number>();
  for (const row of rows) {
    if (row.values.sign === -1) replaced.set(keyOf(row), (replaced.get(keyOf(row)) ?? 0) + 1);
  }
  return rows
    .filter((row) => {
      if (row.values.sign !== 1 || row.values.projectId === '') return false;
      const left = replaced.get(keyOf(row)) ?? 0;
      replaced.set(keyOf(row), left - 1);
      return left <= 0;
    })
    .map((row) => ({ ...row.values }));
}

function emptyMinute(projectId: unknown, atMs: unknown): StoredMinute {
  return {
    projectId: storedId(String(projectId)),
    minuteMs: Math.floor(Number(atMs) / 60_000) * 60_000,
    screenViews: 0,
    otherEvents: 0,
    sessions: 0,
    bounces: 0,
    durationMs: 0,
    revenue: [],
  };
}
