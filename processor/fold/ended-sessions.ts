import type { StoredId } from '../../infra/accounts/ids.ts';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import type { DeviceId } from '../../ingest/event.ts';
import {
  EVENT_HEADER_BYTES,
  FLAG_CREDIT,
  FLAG_IN_SESSION,
  MESSAGE_HEADER_BYTES,
} from '../../ingest/event.ts';
import type { Batch } from './batch.ts';
import { rejoinCounters } from './counting.ts';
import { deviceKeyAt, deviceKeyOf } from './device-key.ts';
import { type EventView, projectIdOf } from './event-view.ts';
import { placeSession } from './restore.ts';
import { changeSession, retainedSession } from './session.ts';
import { deviceKeyOfSlot } from './session-devices.ts';
import { writeSessionRow } from './session-rows.ts';
import { ENDED } from './session-table.ts';
import { sitesSetAside } from './set-aside.ts';
import { holdsEvent } from './slice.ts';
import type { SliceState } from './slice-state.ts';
import { StoredSession } from './stored-session.ts';

/**
 * A late payment is credited to the session that it names (`FLAG_CREDIT`), which may have ended. Such a session is
 * reopened from its newest state:
 *
 *     retained ──silent──▶ evicted ──flush──▶ in the store ──named, and loaded before its message is folded──▶ retained
 *
 * The fold does not wait: it stops before a message whose named session is neither retained nor loaded, and reports it.
 * A session evicted by the open batch is loaded only after the flush of this batch. Therefore a flush replayed after a
 * crash, from the same state and the same messages, finds every session in the same state: a named but
 * unretained session was evicted in an earlier flush.
 */
const SESSION_ROW_MAX_BYTES = 4_194_304;

/** A session, its device and its site. */
export interface NamedSession {
  readonly projectId: StoredId;
  readonly deviceId: DeviceId;
  /** 32 hexadecimal digits. */
  readonly sessionId: string;
}

/**
 * True if a message may name a session that has ended. It reads only the flags of the events, so it costs next to nothing; for an
 * unreadable message, either answer will do.
 */
export function mayNameEnded(message: Uint8Array): boolean {
  const bytes = new DataView(message.buffer, message.byteOffset, message.byteLength);
  let offset = MESSAGE_HEADER_BYTES;
  while (offset + 4 + EVENT_HEADER_BYTES <= bytes.byteLength) {
    if ((bytes.getUint8(offset + 4) & FLAG_CREDIT) !== 0) return true;
    offset += 4 + bytes.getUint32(offset, true);
  }
  return false;
}

/**
 * Returns the sessions to load before a checked message can be folded. It also records which sessions the message names, so that a session
 * evicted within the message is still found.
 */
export function missingSessions(
  state: SliceState,
  sequence: number,
  bytes: Buffer,
  batch: Batch,
  view: EventView,
): NamedSession[] {
  const aside = sitesSetAside(state.setAside, sequence);
  const missing: NamedSession[] = [];
  const count = bytes.readUInt32LE(MESSAGE_HEADER_BYTES - 4);
  let offset = MESSAGE_HEADER_BYTES;
  for (let index = 0; index < count; index += 1) {
    offset = view.read(bytes, offset);
    if (!namesEnded(view) || !holdsEvent(state.slice, view)) continue;
    // An event that is set aside needs no session. Its session may end within the flush that is repeated without it, and then cannot be
    // loaded.
    if (aside?.has(projectIdOf(view)) === true) continue;
    const deviceKey = deviceKeyAt(view);
    const key = endedKeyAt(view, deviceKey);
    if (retainedSession(state, deviceKey, view) !== 0) state.ended.set(key, undefined);
    else if (batch.evicted.has(deviceKey) || !state.ended.has(key)) missing.push(nameOf(view));
  }
  return missing;
}

/** Takes the answer to a question for missing sessions: a session of `asked` without a row does not exist. */
export function keepEnded(state: SliceState, asked: readonly NamedSession[], rows: Buffer): void {
  for (const { projectId, deviceId, sessionId } of asked) {
    state.ended.set(
      endedKeyOf(deviceKeyOf(projectId, deviceId), Buffer.from(sessionId, 'hex'), 0),
      undefined,
    );
  }
  const stored = new StoredSession();
  stored.add(rows);
  while (stored.next())
    state.ended.set(endedKeyOf(stored.deviceKey, stored.bytes, stored.idStart), stored.row);
}

/** Saves the state of a session that is about to be evicted, if the messages at hand name it. */
export function retainNamed(state: SliceState, slot: number): void {
  const key = endedKeyOf(deviceKeyOfSlot(state, slot), state.sessions.ids, slot * 16);
  if (!state.ended.has(key)) return;
  const writer = new RowBinaryWriter(SESSION_ROW_MAX_BYTES);
  writeSessionRow(writer, state, slot, 1, 0);
  state.ended.set(key, writer.take());
}

/** True if the event names a session that has ended and can be reopened. */
export function canReopen(state: SliceState, event: EventView, deviceKey: string): boolean {
  return namesEnded(event) && state.ended.get(endedKeyAt(event, deviceKey)) !== undefined;
}

/** Reopens the session that the event names, with its end marked as written. Returns its slot, 0 for none. */
export function reopenSession(state: SliceState, event: EventView, batch: Batch): number {
  const row = namesEnded(event) ? state.ended.get(endedKeyAt(event, deviceKeyAt(event))) : undefined;
  if (row === undefined) return 0;
  const stored = new StoredSession();
  stored.add(row);
  stored.next();
  const slot = placeSession(state, stored);
  rejoinCounters(state, slot);
  // The -1 row must take back the state as the store has it, so it is written before anything changes.
  changeSession(state, slot, batch);
  state.sessions.flags[slot] = (state.sessions.flags[slot] ?? 0) | ENDED;
  return slot;
}

function namesEnded({ flags }: EventView): boolean {
  return (flags & FLAG_CREDIT) !== 0 && (flags & FLAG_IN_SESSION) !== 0;
}

function nameOf(event: EventView): NamedSession {
  const { bytes } = event;
  return {
    projectId: projectIdOf(event),
    deviceId: bytes.toString('utf8', event.deviceStart, event.deviceEnd),
    sessionId: bytes.toString('hex', event.hintStart, event.hintStart + 16),
  };
}

function endedKeyAt(event: EventView, deviceKey: string): string {
  return endedKeyOf(deviceKey, event.bytes, event.hintStart);
}

/** A device's key and the 16 bytes of a session's id that begin at `start`. */
function endedKeyOf(deviceKey: string, bytes: Uint8Array, start: number): string {
  return deviceKey + Buffer.from(bytes.buffer, bytes.byteOffset + start, 16).toString('latin1');
}
