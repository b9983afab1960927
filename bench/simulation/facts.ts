import type { Event } from '../../ingest/event.ts';
import type { ReferenceResult, ReferenceSession } from '../../processor/testing/reference.ts';
import type { StoredRow } from '../../processor/testing/stored-rows.ts';

type Values = StoredRow['values'];

const NO_SESSION = '0'.repeat(32);

/**
 * The contents of rows and of the reference, as comparable texts: events by everything that places them, sessions by all their
 * counts.
 */
export interface Facts {
  /** Sorted, so duplicates stay visible. */
  readonly events: readonly string[];
  /** By site, device and id of the session. */
  readonly sessions: readonly (readonly [key: string, state: string])[];
}

/** The row of an event, starts and ends of sessions included. */
export function eventFact(row: Values): string {
  const session = row.sessionId === NO_SESSION ? '' : row.sessionId;
  const path = isSynthetic(row.name) ? '' : row.path;
  return [row.projectId, row.deviceId, row.name, row.createdAt, path, session].join(' ');
}

function isSynthetic(name: unknown): boolean {
  return name === 'session_start' || name === 'session_end';
}

/** Key of the session that a row belongs to. */
export function sessionKey({ projectId, deviceId, id }: Values): string {
  return `${projectId} ${deviceId} ${id}`;
}

/** The state of a session. */
export function sessionFact(row: Values): string {
  return [
    row.profileId,
    row.startedAt,
    row.endedAt,
    row.touchedAt,
    row.screenViews,
    row.otherEvents,
    amounts(row.revenue as [string, bigint][]),
    row.entryPath,
    row.exitPath,
  ].join('|');
}

/** The facts of one site, or of all sites. */
export function factsOf(result: ReferenceResult, site?: string): Facts {
  const isOf = (one: { readonly projectId: string }) => site === undefined || one.projectId === site;
  const events = result.events
    .filter(({ event }) => isOf(event))
    .map(({ event, sessionId }) =>
      [event.projectId, event.deviceId, event.name, event.occurredAtMs, event.path, sessionId].join(' '),
    );
  const synthetic = result.synthetic
    .filter(isOf)
    .map(({ projectId, deviceId, name, createdAtMs, sessionId }) =>
      [projectId, deviceId, name, createdAtMs, '', sessionId].join(' '),
    );
  const sessions = result.sessions
    .filter(isOf)
    .map((one) => [`${one.projectId} ${one.deviceId} ${one.id}`, referenceFact(one)] as const);
  return { events: [...events, ...synthetic].sort(), sessions };
}

function referenceFact(session: ReferenceSession): string {
  return [
    session.profileId,
    session.startedAtMs,
    session.endedAtMs,
    session.touchedAtMs,
    session.screenViews,
    session.otherEvents,
    amounts(Object.entries(session.revenue)),
    (session.entry as Event).path,
    (session.exit as Event).path,
  ].join('|');
}

function amounts(revenue: readonly (readonly [string, bigint])[]): string {
  return revenue
    .map(([currency, amount]) => `${currency}:${amount}`)
    .sort()
    .join(',');
}

/** The differences between two sorted lists, in both directions; for messages. */
export function difference(found: readonly string[], expected: readonly string[]): string {
  const left = [...expected];
  const more = found.filter((one) => {
    const place = left.indexOf(one);
    if (place !== -1) left.splice(place, 1);
    return place === -1;
  });
  const shown = (name: string, list: readonly string[]) =>
    list.length === 0 ? [] : [`${name} ${list.length}: ${list.slice(0, 3).join('; ')}`];
  return [...shown('too many', more), ...shown('missing', left)].join('; ');
}
