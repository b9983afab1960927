import type { StoredId } from '../../infra/accounts/ids.ts';
import { MINUTE_MS } from '../../infra/durations.ts';
import type { DeviceId } from '../../ingest/event.ts';
import { SAME_TIME } from '../rows.ts';
import { addSlot, addVisitor, countersOf, visitorKeyOf } from './counting.ts';
import { deviceKeyOf } from './device-key.ts';
import { intern, runOf } from './interned.ts';
import { seeSession } from './live.ts';
import { RowPieces } from './row-pieces.ts';
import { leaveTexts, retainedSession } from './session.ts';
import { SessionBlocks } from './session-blocks.ts';
import { firstOfDeviceAt, linkToDeviceAt, nextOfDevice, unlinkFromDevice } from './session-devices.ts';
import {
  ENDED,
  ENTRY_IS_VIEW,
  EXIT_IS_VIEW,
  freeSlot,
  MIXED,
  NAMED,
  orderByTouch,
  takeSlot,
} from './session-table.ts';
import { minuteAt } from './site-counters.ts';
import { holdsRow } from './slice.ts';
import type { SliceState } from './slice-state.ts';
import type { SessionFields } from './stored-session.ts';
import { visitorHash } from './visitor.ts';

/**
 * The parts that are restored from rows, in this order:
 * - `sessions`: the newest states, in any order, as blocks with `SESSION_BLOCK_COLUMNS`; the other parts are RowBinary;
 * - `visitors`: for each visitor of the minutes, once or several times, `projectId`, `deviceId`, `sessionId` (16 bytes), the profile, and
 *   the minutes as an Array(UInt32) of minutes since 1970;
 * - `event-ids`: `projectId`, `deviceId`, `eventId`, `sessionId` (16 bytes) and `receivedAt`, the oldest first.
 */
export type RestoredPart = 'sessions' | 'visitors' | 'event-ids';

/** When a session was last seen, as the store has it. */
export interface StoredSeen {
  readonly projectId: StoredId;
  readonly deviceId: DeviceId;
  readonly sessionId: string;
  readonly atMs: number;
}

/** One minute of one site, as the store has it. Revenue: pairs of currency and minor units as decimal text. */
export interface StoredMinute {
  readonly projectId: StoredId;
  readonly minuteMs: number;
  readonly screenViews: number;
  readonly otherEvents: number;
  readonly sessions: number;
  readonly bounces: number;
  readonly durationMs: number;
  readonly revenue: readonly (readonly [currency: string, minorUnits: string])[];
}

const ID_BYTES = 16;

/** Restores a state from the rows of a store. They come in pieces that may end within a row. */
export class Restorer {
  readonly #state: SliceState;
  readonly #sessions: SessionBlocks;
  #rows = new RowPieces();

  /** It passes over the rows of devices that belong to another slice. */
  constructor(state: SliceState) {
    this.#state = state;
    this.#sessions = new SessionBlocks(state.slice);
  }

  /** Takes the next rows of a part; no bytes end the part. */
  take(part: RestoredPart, bytes: Buffer): void {
    if (bytes.length === 0) this.#end(part);
    else if (part === 'sessions') this.#takeSessions(bytes);
    else this.#takeRows(bytes, part === 'visitors' ? this.#readVisitor : this.#readEventId);
  }

  #end(part: RestoredPart): void {
    if (part === 'sessions') {
      this.#sessions.end();
      orderByTouch(this.#state.sessions);
    } else this.#rows = new RowPieces();
  }

  #takeSessions(bytes: Buffer): void {
    const row = this.#sessions;
    row.add(bytes);
    while (row.next()) {
      const slot = placeSession(this.#state, row);
      if (slot !== 0) seeSession(this.#state, countersOf(this.#state, row.site), slot, row.endMs);
    }
  }

  #takeRows(bytes: Buffer, read: () => void): void {
    this.#rows.add(bytes);
    while (this.#rows.next(read)) {
      // `read` has restored the row.
    }
  }

  readonly #readVisitor = (): void => {
    const state = this.#state;
    const rows = this.#rows;
    const rowStart = rows.offset;
    const siteStart = rows.skipText();
    const siteEnd = rows.offset;
    const deviceStart = rows.skipText();
    const deviceEnd = rows.offset;
    const idStart = rows.take(ID_BYTES);
    const profileStart = rows.skipText();
    const profileEnd = rows.offset;
    const count = rows.varint();
    const minutes = rows.take(4 * count);
    const { bytes } = rows;
    if (!holdsRow(state.slice, bytes, rowStart, deviceEnd)) return;
    const site = bytes.toString('latin1', siteStart, siteEnd);
    const counters = countersOf(state, site);
    const siteId = state.sites.idByText.get(site);
    const inSession = !isNoId(bytes, idStart);
    let slot = 0;
    if (siteId !== undefined && inSession) {
      slot = firstOfDeviceAt(state, siteId, bytes, deviceStart, deviceEnd);
      while (slot !== 0 && !hasId(state, slot, bytes, idStart)) slot = nextOfDevice(state.sessions, slot);
    }
    const hash =
      profileStart === profileEnd
        ? visitorHash(bytes, deviceStart, deviceEnd)
        : visitorHash(bytes, profileStart, profileEnd);
    const key = inSession ? visitorKeyOf(bytes, idStart) : hash;
    for (let index = 0; index < count; index += 1) {
      const minuteMs = bytes.readUInt32LE(minutes + 4 * index) * MINUTE_MS;
      const minute = minuteAt(counters, minuteMs, state.clockMs);
      if (minute === undefined) continue;
      if (slot !== 0) addSlot(state, minute, slot);
      else addVisitor(state, minute, key, hash);
    }
  };

  readonly #readEventId = (): void => {
    const state = this.#state;
    const rows = this.#rows;
    const rowStart = rows.offset;
    const siteStart = rows.skipText();
    const siteEnd = rows.offset;
    const deviceStart = rows.skipText();
    const deviceEnd = rows.offset;
    const eventStart = rows.skipText();
    const eventEnd = rows.offset;
    const idStart = rows.take(ID_BYTES);
    const atMs = rows.time();
    const { bytes } = rows;
    const hasDevice = deviceStart < deviceEnd;
    if (
      !holdsRow(state.slice, bytes, rowStart, deviceEnd, hasDevice ? 0 : eventStart, hasDevice ? 0 : eventEnd)
    )
      return;
    const site = bytes.toString('latin1', siteStart, siteEnd);
    const eventId = bytes.toString('latin1', eventStart, eventEnd);
    const sessionId = isNoId(bytes, idStart) ? '' : bytes.toString('hex', idStart, idStart + ID_BYTES);
    state.eventIds.set(site, eventId, { atMs, sessionId });
  };
}

/** Restores the last-seen times of sessions whose own times differ: credit does not move a session's end. */
export function restoreSeen(state: SliceState, seen: readonly StoredSeen[]): void {
  for (const { projectId, deviceId, sessionId, atMs } of seen) {
    const slot = slotOf(state, projectId, deviceId, sessionId);
    if (slot !== 0) seeSession(state, countersOf(state, runOf(projectId)), slot, atMs);
  }
}

/** Restores counted minutes, without their visitors. Counts of all slices are added up, so the first one has them all. */
export function restoreMinutes(state: SliceState, minutes: readonly StoredMinute[]): void {
  if (state.slice.index > 0) return;
  for (const stored of minutes) {
    const minute = minuteAt(countersOf(state, runOf(stored.projectId)), stored.minuteMs, state.clockMs);
    if (minute === undefined) continue;
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

/**
 * Adds the session of a stored row to the table. If a session has two states, the higher version counts. Returns its slot, or 0 for the
 * older state.
 */
export function placeSession(state: SliceState, row: SessionFields): number {
  const { sessions } = state;
  const { bytes, deviceStart, deviceEnd } = row;
  const site = state.sites.idByText.get(row.site) ?? intern(state.sites, row.site);
  const added = takeSlot(sessions);
  linkToDeviceAt(state, added, site, bytes, deviceStart, deviceEnd);
  let known = nextOfDevice(sessions, added);
  while (known !== 0 && !hasId(state, known, bytes, row.idStart)) known = nextOfDevice(sessions, known);
  if (known !== 0) {
    unlinkFromDevice(state, added);
    freeSlot(sessions, added);
    if ((sessions.version[known] ?? 0) >= row.version) return 0;
    leaveTexts(state, known);
  }
  const slot = known === 0 ? added : known;
  sessions.version[slot] = row.version;
  for (let index = 0; index < ID_BYTES; index += 1)
    sessions.ids[slot * ID_BYTES + index] = bytes[row.idStart + index] ?? 0;
  sessions.profile[slot] = intern(state.profiles, row.profile);
  sessions.visitor[slot] =
    row.profileStart === row.profileEnd
      ? visitorHash(bytes, deviceStart, deviceEnd)
      : visitorHash(bytes, row.profileStart, row.profileEnd);
  sessions.startMs[slot] = row.startMs;
  sessions.endMs[slot] = row.endMs;
  sessions.touchedMs[slot] = row.touchedMs;
  sessions.screenViews[slot] = row.screenViews;
  sessions.otherEvents[slot] = row.otherEvents;
  if (row.revenue.size > 0) state.revenueBySlot.set(slot, row.revenue);
  if (row.creditedMs > 0) state.creditedBySlot.set(slot, row.creditedMs);
  sessions.entryMs[slot] = row.entryMs === SAME_TIME ? row.startMs : row.entryMs;
  sessions.exitMs[slot] = row.exitMs === SAME_TIME ? row.endMs : row.exitMs;
  sessions.flags[slot] =
    ((sessions.flags[slot] ?? 0) & NAMED) |
    (row.entryIsView ? ENTRY_IS_VIEW : 0) |
    (row.exitIsView ? EXIT_IS_VIEW : 0) |
    (row.ended ? ENDED : 0) |
    (row.mixed ? MIXED : 0);
  sessions.exitPage[slot] = intern(state.pages, row.exitPage);
  sessions.entryPage[slot] = intern(state.pages, row.entryPage);
  sessions.source[slot] = intern(state.sources, row.source);
  sessions.environment[slot] = intern(state.environments, row.environment);
  return slot;
}

/** The slot of a retained session; 0 when it is not retained. */
function slotOf(state: SliceState, projectId: StoredId, deviceId: DeviceId, sessionId: string): number {
  return retainedSession(state, deviceKeyOf(projectId, deviceId), {
    bytes: Buffer.from(sessionId, 'hex'),
    hintStart: 0,
  });
}

function hasId({ sessions }: SliceState, slot: number, bytes: Uint8Array, start: number): boolean {
  for (let index = 0; index < ID_BYTES; index += 1)
    if (sessions.ids[slot * ID_BYTES + index] !== bytes[start + index]) return false;
  return true;
}

/** True if the 16 bytes are zero, which means no session. */
function isNoId(bytes: Uint8Array, start: number): boolean {
  for (let index = start; index < start + ID_BYTES; index += 1) if (bytes[index] !== 0) return false;
  return true;
}
