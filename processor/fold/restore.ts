import { addVisitor, countersOf } from './counting.ts';
import { deviceKeyOf } from './device-key.ts';
import { intern, runOf } from './interned.ts';
import { seeSession } from './live.ts';
import type { PartitionState } from './partition.ts';
import { retainedSession } from './session.ts';
import { linkToDevice } from './session-devices.ts';
import { ENDED, ENTRY_IS_VIEW, EXIT_IS_VIEW, MIXED, takeSlot } from './session-table.ts';
import { holdsDevice, holdsNamed } from './shard.ts';
import { minuteAt } from './site-counters.ts';
import { StoredSession } from './stored-session.ts';
import { visitorHashOf } from './visitor.ts';

/** A recorded event id, as the store has it. */
export interface StoredEventId {
  readonly projectId: string;
  readonly deviceId: string;
  readonly eventId: string;
  readonly sessionId: string;
  readonly atMs: number;
}

/** When a session was last seen, as the store has it. */
export interface StoredSeen {
  readonly projectId: string;
  readonly deviceId: string;
  readonly sessionId: string;
  readonly atMs: number;
}

/**
 * Who has events in a minute: a session of a device, with its profile; or without session (an empty `sessionId`), what
 * the events say.
 */
export type StoredVisitor = readonly [deviceId: string, sessionId: string, profileId: string];

/** One minute of one site, as the store has it. Revenue: pairs of currency and minor units as decimal text. */
export interface StoredMinute {
  readonly projectId: string;
  readonly minuteMs: number;
  readonly screenViews: number;
  readonly otherEvents: number;
  readonly sessions: number;
  readonly bounces: number;
  readonly durationMs: number;
  readonly revenue: readonly (readonly [currency: string, minorUnits: string])[];
  readonly visitors: readonly StoredVisitor[];
}

/**
 * Restores stored sessions, oldest touch first: RowBinary rows with the columns of `SESSIONS_COLUMNS`. Returns how many
 * bytes were complete rows; the rest belongs to the next call.
 */
export function restoreSessions(state: PartitionState, bytes: Buffer): number {
  const row = new StoredSession(bytes);
  while (row.next()) if (holdsDevice(state.shard, row.deviceKey)) restoreSession(state, row);
  return row.consumed;
}

/** Restores recorded event ids, oldest first. */
export function restoreEventIds(state: PartitionState, ids: readonly StoredEventId[]): void {
  for (const { projectId, deviceId, eventId, sessionId, atMs } of ids) {
    if (!holdsNamed(state.shard, { projectId, deviceId, eventId })) continue;
    state.eventIds.set(runOf(projectId), runOf(eventId), { atMs, sessionId });
  }
}

/**
 * Restores when sessions were last seen, where their times do not say so: credit does not move a session's end.
 */
export function restoreSeen(state: PartitionState, seen: readonly StoredSeen[]): void {
  for (const { projectId, deviceId, sessionId, atMs } of seen) {
    const slot = slotOf(state, projectId, deviceId, sessionId);
    if (slot !== 0) seeSession(state, countersOf(state, runOf(projectId)), slot, atMs);
  }
}

/** Restores counted minutes. Counts of a lane's shards are added up, so its first shard has them all. */
export function restoreMinutes(state: PartitionState, minutes: readonly StoredMinute[]): void {
  for (const stored of minutes) {
    const visitors = stored.visitors.filter(([deviceId]) =>
      holdsDevice(state.shard, deviceKeyOf(stored.projectId, deviceId)),
    );
    if (state.shard.index > 0 && visitors.length === 0) continue;
    const minute = minuteAt(countersOf(state, runOf(stored.projectId)), stored.minuteMs, state.clockMs);
    if (minute === undefined) continue;
    for (const [deviceId, sessionId, profileId] of visitors) {
      const slot = sessionId === '' ? 0 : slotOf(state, stored.projectId, deviceId, sessionId);
      addVisitor(state, minute, slot, visitorHashOf(runOf(profileId || deviceId)));
    }
    if (state.shard.index > 0) continue;
    minute.screenViews += stored.screenViews;
    minute.otherEvents += stored.otherEvents;
    minute.sessions += stored.sessions;
    minute.bounces += stored.bounces;
    minute.durationMs += stored.durationMs;
    for (const [currency, minorUnits] of stored.revenue) {
      const key = runOf(currency);
      minute.revenue.set(key, (minute.revenue.get(key) ?? 0n) + BigInt(minorUnits));
    }
  }
}

/** The slot of a retained session; 0 when it is not retained. */
function slotOf(state: PartitionState, projectId: string, deviceId: string, sessionId: string): number {
  return retainedSession(state, deviceKeyOf(projectId, deviceId), {
    bytes: Buffer.from(sessionId, 'hex'),
    hintStart: 0,
  });
}

function restoreSession(state: PartitionState, row: StoredSession): void {
  const slot = placeSession(state, row);
  seeSession(state, countersOf(state, row.site), slot, row.endMs);
}

/** Adds the session of a stored row to the table; returns its slot. */
export function placeSession(state: PartitionState, row: StoredSession): number {
  const { sessions } = state;
  const slot = takeSlot(sessions);
  sessions.version[slot] = row.version;
  const site = state.sites.idByText.get(row.site) ?? intern(state.sites, row.site);
  sessions.ids.set(row.id, slot * 16);
  sessions.profile[slot] = intern(state.profiles, row.profile);
  sessions.visitor[slot] = visitorHashOf(row.profile || row.device);
  sessions.startMs[slot] = row.startMs;
  sessions.endMs[slot] = row.endMs;
  sessions.touchedMs[slot] = row.touchedMs;
  sessions.screenViews[slot] = row.screenViews;
  sessions.otherEvents[slot] = row.otherEvents;
  if (row.revenue.size > 0) state.revenueBySlot.set(slot, row.revenue);
  if (row.creditedMs > 0) state.creditedBySlot.set(slot, row.creditedMs);
  sessions.entryMs[slot] = row.entryMs;
  sessions.exitMs[slot] = row.exitMs;
  sessions.flags[slot] =
    (row.entryIsView ? ENTRY_IS_VIEW : 0) |
    (row.exitIsView ? EXIT_IS_VIEW : 0) |
    (row.ended ? ENDED : 0) |
    (row.mixed ? MIXED : 0);
  linkToDevice(state, slot, site, row.deviceKey);
  sessions.exitPage[slot] = intern(state.pages, row.exitPage);
  sessions.entryPage[slot] = intern(state.pages, row.entryPage);
  sessions.source[slot] = intern(state.sources, row.source);
  sessions.environment[slot] = intern(state.environments, row.environment);
  return slot;
}
