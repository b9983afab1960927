import { addToStoredSum } from '../../infra/money.ts';
import { FLAG_SCREEN_VIEW, SESSION_GAP_MS } from '../../ingest/event.ts';
import { type Batch, endRow, noteChange } from './batch.ts';
import { leaveCounters } from './counting.ts';
import type { EventView } from './event-view.ts';
import { intern, release } from './interned.ts';
import { noteEvicted } from './open-devices.ts';
import {
  deviceKeyOfSlot,
  firstOfDevice,
  linkToDevice,
  nextOfDevice,
  unlinkFromDevice,
} from './session-devices.ts';
import { writeSessionRow } from './session-rows.ts';
import {
  ENTRY_IS_VIEW,
  EXIT_IS_VIEW,
  freeSlot,
  type SessionTable,
  takeSlot,
  touch,
} from './session-table.ts';
import type { SliceState } from './slice-state.ts';
import { nameSession, noteHours, profileAt, visitorHashAt } from './visitor.ts';

/** The largest number of the columns that count events. */
const COUNT_MAX = 0xffff_ffff;

/** A session id inside a message: the offset of its 16 bytes. */
export interface IdAt {
  readonly bytes: Uint8Array;
  readonly hintStart: number;
}

/**
 * The session of the device that an event at `occurredAtMs` joins; 0 when none reaches it. Among the sessions within a
 * gap of the event, the one with the answered id (`answered`, if given) has priority. Otherwise:
 *
 *        ├──── A ────┤                ├──── B ────┤
 *                    └──── gap ────┘     └ a time in here joins B, the session that started last before it
 *                                └ a time in here joins A; one within a gap before B only, joins B
 *
 * A late event between A and B joins one of them, and the other stays: both ids were answered. Between sessions with
 * the same start, the greater id counts as the later start, so the result does not depend on their order in the table.
 * A session evicted before the lane's clock shows `clockMs` does not count.
 */
export function sessionFor(
  state: SliceState,
  deviceKey: string,
  occurredAtMs: number,
  answered: IdAt | undefined,
  clockMs = state.clockMs,
): number {
  const { startMs, ids, touchedMs } = state.sessions;
  let running = 0;
  let following = 0;
  for (let slot = firstOfDevice(state, deviceKey); slot !== 0; slot = nextOfDevice(state.sessions, slot)) {
    if (!reaches(state, slot, occurredAtMs)) continue;
    if (clockMs - (touchedMs[slot] ?? 0) > state.limits.sessionRetainMs) continue;
    const start = startMs[slot] ?? 0;
    if (answered !== undefined && hasId(ids, slot, answered)) return slot;
    if (start <= occurredAtMs) {
      if (running === 0 || startsBefore(state.sessions, running, slot)) running = slot;
    } else if (following === 0 || startsBefore(state.sessions, slot, following)) following = slot;
  }
  return running === 0 ? following : running;
}

function startsBefore({ startMs, ids }: SessionTable, one: number, other: number): boolean {
  const apartMs = (startMs[one] ?? 0) - (startMs[other] ?? 0);
  if (apartMs !== 0) return apartMs < 0;
  for (let index = 0; index < 16; index += 1) {
    const apart = (ids[one * 16 + index] ?? 0) - (ids[other * 16 + index] ?? 0);
    if (apart !== 0) return apart < 0;
  }
  return false;
}

/** The device's session with this id, at any distance from the event; 0 when it is not retained. */
export function retainedSession(state: SliceState, deviceKey: string, named: IdAt): number {
  const { sessions } = state;
  let slot = firstOfDevice(state, deviceKey);
  while (slot !== 0 && !hasId(sessions.ids, slot, named)) slot = nextOfDevice(sessions, slot);
  return slot;
}

/** True if a time is at most a gap before or after the session. */
export function reaches(state: SliceState, slot: number, atMs: number): boolean {
  const { startMs, endMs } = state.sessions;
  return isWithinGap(startMs[slot] ?? 0, endMs[slot] ?? 0, atMs);
}

/** True if a time is at most a gap before the first of two times, or after the last. */
export function isWithinGap(firstMs: number, lastMs: number, atMs: number): boolean {
  return atMs <= lastMs + SESSION_GAP_MS && firstMs - atMs <= SESSION_GAP_MS;
}

/** The id of the session in the slot, in hexadecimal. */
export function sessionIdOfSlot({ ids }: SessionTable, slot: number): string {
  return Buffer.from(ids.buffer, slot * 16, 16).toString('hex');
}

function hasId(ids: Uint8Array, slot: number, { bytes, hintStart }: IdAt): boolean {
  for (let index = 0; index < 16; index += 1) {
    if (ids[slot * 16 + index] !== bytes[hintStart + index]) return false;
  }
  return true;
}

/** Opens the session that the event's hint names, without the event itself. */
export function openSession(
  state: SliceState,
  event: EventView,
  deviceKey: string,
  site: number,
  batch: Batch,
): number {
  const { sessions } = state;
  const slot = takeSlot(sessions);
  linkToDevice(state, slot, site, deviceKey);
  endGrant(state, deviceKey);
  sessions.ids.set(event.bytes.subarray(event.hintStart, event.hintStart + 16), slot * 16);
  sessions.startMs[slot] = event.occurredAtMs;
  sessions.endMs[slot] = event.occurredAtMs;
  setEntry(state, slot, event);
  setExit(state, slot, event);
  sessions.profile[slot] = intern(state.profiles, profileAt(event));
  sessions.visitor[slot] = visitorHashAt(event);
  touch(sessions, slot, state.clockMs);
  sessions.version[slot] = 1;
  batch.changed.push(slot);
  sessions.changedPlace[slot] = batch.changed.length;
  return slot;
}

/** Removes a grant for one event, which is folded now. A grant for events of several times stays until its session is evicted. */
function endGrant({ grants }: SliceState, deviceKey: string): void {
  const grant = grants.get(deviceKey);
  if (grant !== undefined && grant.firstMs === grant.lastMs) grants.delete(deviceKey);
}

/** Prepares a change of the session: takes back the state that the store has, once per batch. */
export function changeSession(state: SliceState, slot: number, batch: Batch): void {
  const { sessions } = state;
  if (sessions.changedPlace[slot] !== 0) return;
  writeSessionRow(batch.sessions.writer, state, slot, -1, batch.flushNumber);
  endRow(batch.sessions, sessions.site[slot] ?? 0);
  noteChange(batch, sessions.site[slot] ?? 0, sessions.startMs[slot] ?? 0);
  sessions.version[slot] = (sessions.version[slot] ?? 0) + 1;
  batch.changed.push(slot);
  sessions.changedPlace[slot] = batch.changed.length;
}

/** Adds one event to a session: its times, counts, entry, exit and profile. */
export function noteEvent(state: SliceState, slot: number, event: EventView, batch: Batch): void {
  const { sessions } = state;
  const atMs = event.occurredAtMs;
  const isView = (event.flags & FLAG_SCREEN_VIEW) !== 0;
  if (atMs < (sessions.startMs[slot] ?? 0)) sessions.startMs[slot] = atMs;
  if (atMs > (sessions.endMs[slot] ?? 0)) sessions.endMs[slot] = atMs;
  countUp(isView ? sessions.screenViews : sessions.otherEvents, slot);
  const flags = sessions.flags[slot] ?? 0;
  const entryIsView = (flags & ENTRY_IS_VIEW) !== 0;
  if (isView === entryIsView ? atMs < (sessions.entryMs[slot] ?? 0) : isView) {
    setEntry(state, slot, event);
    // Filters on sessions apply to all of their events.
    noteHours(state, slot, batch);
  }
  const exitIsView = (flags & EXIT_IS_VIEW) !== 0;
  if (isView === exitIsView ? atMs >= (sessions.exitMs[slot] ?? 0) : isView) setExit(state, slot, event);
  nameSession(state, slot, event, batch);
}

/** Counts an event in a session that does not reach it: times and pages stay. */
export function noteCredit(state: SliceState, slot: number, event: EventView, batch: Batch): void {
  countUp(state.sessions.otherEvents, slot);
  const creditedMs = state.creditedBySlot.get(slot) ?? 0;
  state.creditedBySlot.set(slot, Math.max(creditedMs, event.occurredAtMs));
  nameSession(state, slot, event, batch);
}

/** A count stays at the largest number of its column; it would begin at 0 again, and the session become a bounce. */
function countUp(counts: Uint32Array, slot: number): void {
  const count = counts[slot] ?? 0;
  if (count !== COUNT_MAX) counts[slot] = count + 1;
}

/** Adds an event's revenue to its session. The sum has a bound, because the store has 64 bits for it. */
export function addRevenue(state: SliceState, slot: number, event: EventView): void {
  const currency = event.bytes.toString('latin1', event.currencyStart, event.currencyEnd);
  let revenue = state.revenueBySlot.get(slot);
  if (revenue === undefined) {
    revenue = new Map();
    state.revenueBySlot.set(slot, revenue);
  }
  const before = revenue.get(currency) ?? 0n;
  const amount = event.bytes.readBigInt64LE(event.revenueStart);
  const sum = addToStoredSum(before, amount);
  if (sum - before !== amount) state.saturatedSums += 1;
  revenue.set(currency, sum);
}

/** Evicts a session. If the store does not have its last state yet, the batch gets it now. */
export function evicted(state: SliceState, slot: number, batch: Batch): void {
  const { sessions } = state;
  const changedPlace = sessions.changedPlace[slot] ?? 0;
  if (changedPlace !== 0) {
    writeSessionRow(batch.sessions.writer, state, slot, 1, batch.flushNumber);
    endRow(batch.sessions, sessions.site[slot] ?? 0);
    noteChange(batch, sessions.site[slot] ?? 0, sessions.startMs[slot] ?? 0);
    batch.changed[changedPlace - 1] = 0;
  }
  const deviceKey = deviceKeyOfSlot(state, slot);
  batch.evicted.add(deviceKey);
  const grant = state.grants.get(deviceKey);
  if (grant !== undefined && grant.sessionId === sessionIdOfSlot(sessions, slot))
    state.grants.delete(deviceKey);
  noteEvicted(state.openDevices, slot, deviceKey);
  leaveCounters(state, slot);
  unlinkFromDevice(state, slot);
  leaveTexts(state, slot);
  freeSlot(sessions, slot);
}

/** Releases the session's data outside of the table. */
export function leaveTexts(state: SliceState, slot: number): void {
  const { sessions } = state;
  state.revenueBySlot.delete(slot);
  state.creditedBySlot.delete(slot);
  release(state.pages, sessions.entryPage[slot] ?? 0);
  release(state.pages, sessions.exitPage[slot] ?? 0);
  release(state.sources, sessions.source[slot] ?? 0);
  release(state.environments, sessions.environment[slot] ?? 0);
  release(state.profiles, sessions.profile[slot] ?? 0);
}

function setEntry(state: SliceState, slot: number, event: EventView): void {
  const { sessions } = state;
  const { bytes } = event;
  const page = intern(state.pages, bytes.toString('latin1', event.pageStart, event.pageEnd));
  const source = intern(state.sources, bytes.toString('latin1', event.sourceStart, event.environmentStart));
  const environment = intern(state.environments, event.environment());
  release(state.pages, sessions.entryPage[slot] ?? 0);
  release(state.sources, sessions.source[slot] ?? 0);
  release(state.environments, sessions.environment[slot] ?? 0);
  sessions.entryPage[slot] = page;
  sessions.source[slot] = source;
  sessions.environment[slot] = environment;
  sessions.entryMs[slot] = event.occurredAtMs;
  const isView = (event.flags & FLAG_SCREEN_VIEW) !== 0;
  sessions.flags[slot] = ((sessions.flags[slot] ?? 0) & ~ENTRY_IS_VIEW) | (isView ? ENTRY_IS_VIEW : 0);
}

function setExit(state: SliceState, slot: number, event: EventView): void {
  const { sessions } = state;
  const page = intern(state.pages, event.bytes.toString('latin1', event.pageStart, event.pageEnd));
  release(state.pages, sessions.exitPage[slot] ?? 0);
  sessions.exitPage[slot] = page;
  sessions.exitMs[slot] = event.occurredAtMs;
  const isView = (event.flags & FLAG_SCREEN_VIEW) !== 0;
  sessions.flags[slot] = ((sessions.flags[slot] ?? 0) & ~EXIT_IS_VIEW) | (isView ? EXIT_IS_VIEW : 0);
}
