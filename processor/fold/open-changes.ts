import { SESSION_GAP_MS } from '../../ingest/event.ts';
import {
  type OpenSessionsEntries,
  OpenSessionsWriter,
  STANDING_DOUBTFUL,
  STANDING_NONE,
  slotOf,
  standingOfSlot,
} from '../../ingest/open-sessions.ts';
import { ensureSlot, lookAtDevice, lookAtSession, noteDue, type OpenDevices } from './open-devices.ts';
import { deviceKeyOfSlot, firstOfDevice, nextOfDevice } from './session-devices.ts';
import type { SliceState } from './slice-state.ts';

/**
 * A session is doubtful from this long before its end may come until this long after it: collectors hold a list that is
 * some seconds old, their clocks differ, and events are on their way.
 *
 *      last event                            + gap
 *     ─────┼───────────────────────┼────────────┼────────────┼─────▶ time
 *          └──────── open ─────────┘└── doubtful: ask ──────┘└ none
 */
const END_MARGIN_MS = 60_000;
/** After a restart, sessions are listed in pieces of this many, so that the thread folds in between. */
const FIRST_LOOKS_MAX = 50_000;

/** Changes to send to collectors. */
export interface OpenChanges {
  readonly entries: OpenSessionsEntries;
  /** Every device that has an entry by the rules is listed. */
  readonly complete: boolean;
}

/**
 * Looks at the changes, and returns the entries to send to the collectors. `nowMs`: by the owner's clock, in which the sessions grow old.
 */
export function takeOpenChanges(state: SliceState, open: OpenDevices, nowMs: number): OpenChanges {
  noteDue(open, nowMs);
  noteFirstLooks(state, open, nowMs);
  const writer = new OpenSessionsWriter(open.changedSlots.size + open.changedDevices.size);
  for (const slot of open.changedSlots) look(state, open, writer, deviceKeyOfSlot(state, slot), nowMs);
  open.changedSlots.clear();
  for (const deviceKey of open.changedDevices) look(state, open, writer, deviceKey, nowMs);
  open.changedDevices.clear();
  return { entries: writer.take(), complete: isComplete(open) };
}

/** The whole list as the collectors should have it now. */
export function openSnapshot(open: OpenDevices): OpenChanges {
  const writer = new OpenSessionsWriter(open.listed.size);
  open.listed.visit((high, low, standing) => writer.add(high, low, standing));
  return { entries: writer.take(), complete: isComplete(open) };
}

function isComplete(open: OpenDevices): boolean {
  return open.nextFirstLook === 0 && !open.overflowed;
}

/** Restored sessions were never noted as changed. Those that ended long ago are no entries. */
function noteFirstLooks({ sessions }: SliceState, open: OpenDevices, nowMs: number): void {
  if (open.nextFirstLook === 0) return;
  const end = Math.min(sessions.used, open.nextFirstLook + FIRST_LOOKS_MAX);
  for (let slot = open.nextFirstLook; slot < end; slot += 1) {
    if ((sessions.endMs[slot] ?? 0) + SESSION_GAP_MS + END_MARGIN_MS >= nowMs) open.changedSlots.add(slot);
  }
  open.nextFirstLook = end < sessions.used ? end : 0;
}

function look(
  state: SliceState,
  open: OpenDevices,
  writer: OpenSessionsWriter,
  deviceKey: string,
  nowMs: number,
): void {
  const standing = standingOf(state, open, deviceKey, nowMs);
  const [siteRun, deviceRun] = runsOf(deviceKey);
  const { high, low } = open.hash.ofRuns(siteRun, deviceRun);
  if (open.listed.get(high, low) === standing) return;
  if (standing === STANDING_NONE) {
    open.listed.delete(high, low);
    if (open.listed.size === 0) open.overflowed = false;
  } else if (!open.listed.set(high, low, standing)) {
    open.overflowed = true;
    return;
  }
  writer.add(high, low, standing);
}

/** The device's entry for an event that comes now: the slot of its open session, none, or doubtful. Plans when to look again. */
function standingOf(state: SliceState, open: OpenDevices, deviceKey: string, nowMs: number): number {
  const { sessions } = state;
  const { startMs, endMs, ids } = sessions;
  const first = firstOfDevice(state, deviceKey);
  let reaching = 0;
  let reachingCount = 0;
  let hasIdOfNow = false;
  for (let slot = first; slot !== 0; slot = nextOfDevice(sessions, slot)) {
    ensureSlot(open, slot);
    open.settled[slot] = 0;
    const overMs = (endMs[slot] ?? 0) + SESSION_GAP_MS + END_MARGIN_MS;
    if (overMs >= nowMs) {
      reaching = slot;
      reachingCount += 1;
      lookAtSession(open, slot, overMs + 1);
    } else if (derivedSlotOf(ids, slot) === slotOf(nowMs)) {
      // Its id must not be derived for another session while that is possible.
      hasIdOfNow = true;
      lookAtSession(open, slot, (slotOf(nowMs) + 1) * SESSION_GAP_MS);
    }
  }
  if (reachingCount === 0)
    return hasIdOfNow || isGranted(state, open, deviceKey, nowMs) ? STANDING_DOUBTFUL : STANDING_NONE;
  const derivedSlot = derivedSlotOf(ids, reaching);
  const doubtfulMs = (endMs[reaching] ?? 0) + SESSION_GAP_MS - END_MARGIN_MS;
  if (reachingCount > 1 || nowMs >= doubtfulMs) return STANDING_DOUBTFUL;
  const isDerived =
    derivedSlot >= slotOf(startMs[reaching] ?? 0) && derivedSlot <= slotOf(endMs[reaching] ?? 0) + 1;
  if (!isDerived) return STANDING_DOUBTFUL;
  open.settled[reaching] = 1;
  lookAtSession(open, reaching, doubtfulMs);
  return standingOfSlot(derivedSlot);
}

/** True if the device was granted an id for an event of about now, which is not folded yet. */
function isGranted(state: SliceState, open: OpenDevices, deviceKey: string, nowMs: number): boolean {
  const grant = state.grants.get(deviceKey);
  if (grant === undefined) return false;
  const overMs = grant.lastMs + SESSION_GAP_MS + END_MARGIN_MS;
  if (overMs < nowMs) return false;
  lookAtDevice(open, deviceKey, overMs + 1);
  return true;
}

/**
 * The slot of a session's id if it is derived from that slot only, else -1. An id of another origin is mistaken for one with a chance of
 * less than one in 2^32, and the caller compares the slot with the session's times.
 */
function derivedSlotOf(ids: Uint8Array, slot: number): number {
  const at = slot * 16;
  if (((ids[at + 4] ?? 0) | (ids[at + 5] ?? 0) | (ids[at + 6] ?? 0) | (ids[at + 7] ?? 0)) !== 0) return -1;
  return (
    (ids[at] ?? 0) * 0x100_0000 +
    (((ids[at + 1] ?? 0) << 16) | ((ids[at + 2] ?? 0) << 8) | (ids[at + 3] ?? 0))
  );
}

/** Site and device of a key, each without its length. */
function runsOf(deviceKey: string): readonly [site: string, device: string] {
  const [siteStart, siteEnd] = runAt(deviceKey, 0);
  const [deviceStart, deviceEnd] = runAt(deviceKey, siteEnd);
  return [deviceKey.slice(siteStart, siteEnd), deviceKey.slice(deviceStart, deviceEnd)];
}

function runAt(key: string, offset: number): readonly [start: number, end: number] {
  let length = 0;
  let start = offset;
  for (let shift = 0; ; shift += 7) {
    const byte = key.charCodeAt(start);
    start += 1;
    length |= (byte & 0x7f) << shift;
    if (!(byte >= 0x80)) return [start, start + length];
  }
}
