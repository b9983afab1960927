import { HOUR_MS } from '../../infra/durations.ts';
import { type Batch, noteChange } from './batch.ts';
import type { EventView } from './event-view.ts';
import { intern, release } from './interned.ts';
import { seeNamed } from './live.ts';
import { MIXED } from './session-table.ts';
import type { SliceState } from './slice-state.ts';

/**
 * The visitor of an event is the profile of its session, as named last by one of its events; without one, its own
 * profile; without one, its device. So a login in mid-visit makes the whole visit the profile's:
 *
 *     events of a session      /    /pricing    /login (ada)    /app (ada)
 *     their own visitors     device  device      ada            ada
 *     their visitor           ada     ada        ada            ada
 *
 * Counters in memory refer to sessions and follow. The store keeps events as they were sent. A session with different
 * events is marked (`mixed`), and statements look up its profile (`sessionProfiles` in rows.ts).
 */

/** Sets the session's profile from an event of it, if the event names one. The hours in which it has events change. */
export function nameSession(state: SliceState, slot: number, event: EventView, batch: Batch): void {
  const { sessions } = state;
  const before = sessions.profile[slot] ?? 0;
  if (event.profileEnd === event.profileStart) {
    if (before !== 0) markMixed(state, slot);
    return;
  }
  const named = intern(state.profiles, profileAt(event));
  if (named === before) {
    release(state.profiles, named);
    return;
  }
  markMixed(state, slot);
  if (before === 0) seeNamed(state, slot);
  sessions.profile[slot] = named;
  sessions.visitor[slot] = visitorHash(event.bytes, event.profileStart, event.profileEnd);
  release(state.profiles, before);
  noteHours(state, slot, batch);
}

/** Records that the batch changes every hour in which the session has events: their visitor has changed. */
export function noteHours({ sessions, creditedBySlot }: SliceState, slot: number, batch: Batch): void {
  const endMs = Math.max(sessions.endMs[slot] ?? 0, creditedBySlot.get(slot) ?? 0);
  for (let atMs = sessions.startMs[slot] ?? 0; atMs < endMs + HOUR_MS; atMs += HOUR_MS)
    noteChange(batch, sessions.site[slot] ?? 0, Math.min(atMs, endMs));
}

/** The profile that an event names, as a run of bytes. */
export function profileAt(event: EventView): string {
  return event.bytes.toString('latin1', event.profileStart, event.profileEnd);
}

/** The visitor of an event from its own fields: its profile, else its device. */
export function visitorHashAt(event: EventView): number {
  if (event.profileEnd > event.profileStart)
    return visitorHash(event.bytes, event.profileStart, event.profileEnd);
  return visitorHash(event.bytes, event.deviceStart, event.deviceEnd);
}

/** A 52-bit hash of a visitor's name; never 0, except for the empty name, which means no visitor. */
export function visitorHash(bytes: Uint8Array, start: number, end: number): number {
  if (start === end) return 0;
  let low = 0x811c9dc5;
  let high = 0x9747b28c;
  for (let offset = start; offset < end; offset += 1) {
    const byte = bytes[offset] ?? 0;
    low = Math.imul(low ^ byte, 0x01000193);
    high = Math.imul(high ^ byte, 0x85ebca6b) ^ (high >>> 13);
  }
  low ^= low >>> 15;
  const hash = (high >>> 12) * 4_294_967_296 + (low >>> 0);
  return hash === 0 ? 1 : hash;
}

/** The same of a run of bytes. */
export function visitorHashOf(run: string): number {
  const bytes = Buffer.from(run, 'latin1');
  return visitorHash(bytes, 0, bytes.length);
}

function markMixed({ sessions }: SliceState, slot: number): void {
  sessions.flags[slot] = (sessions.flags[slot] ?? 0) | MIXED;
}
