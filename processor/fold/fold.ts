import { DecodeError } from '../../infra/bus/decode-error.ts';
import { publisherKeyOf } from '../../infra/process/lane-ends.ts';
import {
  decodeMessageHead,
  FLAG_CERTAIN,
  FLAG_CREDIT,
  FLAG_EVENT_ID,
  FLAG_IN_SESSION,
  FLAG_REVENUE,
  MESSAGE_HEADER_BYTES,
  type MessageHead,
  SESSION_END,
  SESSION_START,
} from '../../ingest/event.ts';
import { type Batch, endRow, noteChange } from './batch.ts';
import { countEvent, countSessionChange, type SessionSummary, summaryOf } from './counting.ts';
import { deviceKeyAt } from './device-key.ts';
import {
  canReopen,
  missingSessions,
  type NamedSession,
  reopenSession,
  retainNamed,
} from './ended-sessions.ts';
import { erase } from './erase.ts';
import { decodeEraseCommands, eraseCommandIdOf } from './erase-command.ts';
import { type EventView, projectIdOf } from './event-view.ts';
import { intern, textOf } from './interned.ts';
import { noteSession } from './open-devices.ts';
import {
  addRevenue,
  changeSession,
  evicted,
  noteCredit,
  noteEvent,
  openSession,
  reaches,
  retainedSession,
  sessionFor,
} from './session.ts';
import { projectIdOfSlot, writeDevice, writeRun } from './session-rows.ts';
import { ENDED, firstToEvict, oldestSlot, touch } from './session-table.ts';
import { endsWithoutRow, SiteError, sitesSetAside } from './set-aside.ts';
import { holdsEvent } from './slice.ts';
import { EVENT_ID_MEMORY_MS, type SliceState } from './slice-state.ts';

// The last byte of an event's id is its lane; a synthetic start has the id of its event with this bit set.
const START_BIT = 0x80;
const LANE_SHIFT = 24;

/** Result of folding one message in one slice. */
export interface Folded {
  readonly events: number;
  /** Events that were recorded before and so changed nothing. */
  readonly repeats: number;
  /** Sessions to load first (`ended-sessions.ts`); while there are any, nothing of the message is folded. */
  readonly missing: readonly NamedSession[];
  /** The batch ends here: its flush is the last one with erased data. */
  readonly isErasing: boolean;
}

const NOTHING_MISSING: readonly NamedSession[] = [];

/**
 * Folds one message: the meaning of the stream. Same state and message, same result; it changes only `state` and
 * `batch`, reads no clock and does no I/O.
 * @throws {DecodeError} for an unreadable message; then nothing has changed
 * @throws {SiteError} when a site's content cannot be folded; then the state is broken
 */
export function foldMessage(
  state: SliceState,
  sequence: number,
  bytes: Buffer,
  batch: Batch,
  view: EventView,
): Folded {
  const { head, flags } = checkMessage(bytes, view);
  const publisher = publisherKeyOf(head.publisherId);
  const isRepeat = isRepeatOf(state, head);
  if ((flags & FLAG_CREDIT) !== 0 && !isRepeat) {
    const missing = missingSessions(state, sequence, bytes, batch, view);
    if (missing.length > 0) return { events: 0, repeats: 0, missing, isErasing: false };
  }
  state.sequence = sequence;
  batch.lastSequence = sequence;
  if (isRepeat) {
    const repeats = state.slice.index === 0 ? head.count : 0;
    return { events: 0, repeats, missing: NOTHING_MISSING, isErasing: false };
  }
  if (head.count === 0) advanceClock(state, head.sentAtMs, batch);
  const commands = head.count === 0 ? decodeEraseCommands(bytes) : undefined;
  for (const command of commands ?? []) erase(state, command, batch);
  if (commands !== undefined) batch.forgettings.push(eraseCommandIdOf(head.publisherId));
  const aside = sitesSetAside(state.setAside, sequence);
  let offset = MESSAGE_HEADER_BYTES;
  let events = 0;
  let repeats = 0;
  try {
    for (let index = 0; index < head.count; index += 1) {
      offset = view.read(bytes, offset);
      if (!holdsEvent(state.slice, view) || aside?.has(projectIdOf(view)) === true)
        advanceClock(state, view.receivedAtMs, batch);
      else if (fold(state, view, index, batch)) events += 1;
      else repeats += 1;
    }
  } catch (error) {
    throw error instanceof SiteError ? error : new SiteError(projectIdOf(view), false, error);
  }
  notePublisher(state, publisher, head.publisherSequence);
  return { events, repeats, missing: NOTHING_MISSING, isErasing: commands !== undefined };
}

/**
 * The sessions to load before a message can be folded; see `missingSessions`.
 * @throws {DecodeError} for a message that cannot be read
 */
export function missingBefore(
  state: SliceState,
  sequence: number,
  bytes: Buffer,
  batch: Batch,
  view: EventView,
): readonly NamedSession[] {
  const { head, flags } = checkMessage(bytes, view);
  if ((flags & FLAG_CREDIT) === 0 || isRepeatOf(state, head)) return NOTHING_MISSING;
  return missingSessions(state, sequence, bytes, batch, view);
}

/** True if the message was folded before: a publisher's numbers only rise. */
function isRepeatOf({ publishers }: SliceState, head: MessageHead): boolean {
  return (publishers.get(publisherKeyOf(head.publisherId))?.sequence ?? 0) >= head.publisherSequence;
}

/** Folds one event, at position `index` of its message. False when it was recorded before. */
export function fold(state: SliceState, event: EventView, index: number, batch: Batch): boolean {
  advanceClock(state, event.receivedAtMs, batch);
  const site = siteOf(state, event);
  const slot = (event.flags & FLAG_IN_SESSION) === 0 ? 0 : findSlot(state, event);
  if ((event.flags & FLAG_EVENT_ID) !== 0 && !noteEventId(state, event, site, slot)) return false;
  const joined =
    slot === 0 && (event.flags & FLAG_IN_SESSION) !== 0 ? openWith(state, event, site, index, batch) : slot;
  if (joined !== 0) extend(state, joined, event, batch);
  countEvent(state, event, joined);
  writeEventRow(batch, state, event, index, joined, site);
  return true;
}

/** Moves the lane's clock forward and evicts the sessions that were silent for too long. */
export function advanceClock(state: SliceState, receivedAtMs: number, batch: Batch): void {
  if (receivedAtMs > state.clockMs) state.clockMs = receivedAtMs;
  const { sessions, limits } = state;
  for (;;) {
    const oldest = oldestSlot(sessions);
    // Over the cap, the session that was silent longest goes early: a later event of it opens a new session.
    const over = sessions.count > limits.sessionsMax;
    if (
      oldest === 0 ||
      (!over && state.clockMs - (sessions.touchedMs[oldest] ?? 0) <= limits.sessionRetainMs)
    )
      break;
    const slot = firstToEvict(sessions);
    try {
      if (((sessions.flags[slot] ?? 0) & ENDED) === 0 && !isEndRefused(state, slot))
        writeSessionEnd(batch, state, slot);
      if (state.ended.size !== 0) retainNamed(state, slot);
      evicted(state, slot, batch);
    } catch (error) {
      throw new SiteError(projectIdOfSlot(state, slot), true, error);
    }
  }
}

function isEndRefused(state: SliceState, slot: number): boolean {
  const { setAside, sequence } = state;
  return setAside.length > 0 && endsWithoutRow(setAside, sequence, projectIdOfSlot(state, slot));
}

/** The retained session that the event is recorded in; 0 when it opens or reopens one. */
function findSlot(state: SliceState, event: EventView): number {
  const deviceKey = deviceKeyAt(event);
  if ((event.flags & FLAG_CREDIT) !== 0) {
    const named = retainedSession(state, deviceKey, event);
    if (named !== 0 || canReopen(state, event, deviceKey)) return named;
  }
  // Answered is stored: a session that was answered for certain and is not retained is yet to open.
  if ((event.flags & FLAG_CERTAIN) !== 0) return retainedSession(state, deviceKey, event);
  const reaching = sessionFor(state, deviceKey, event.occurredAtMs, event);
  // The events between the answered session and this one came through another collector and arrive later.
  return reaching === 0 ? retainedSession(state, deviceKey, event) : reaching;
}

/** Opens or reopens the event's session. A newly opened session gets a synthetic start before the event. */
function openWith(state: SliceState, event: EventView, site: number, index: number, batch: Batch): number {
  const reopened = (event.flags & FLAG_CREDIT) === 0 ? 0 : reopenSession(state, event, batch);
  if (reopened !== 0) return reopened;
  const slot = openSession(state, event, deviceKeyAt(event), site, batch);
  countSessionChange(state, undefined, summaryOf(state, slot));
  writeSessionStart(batch, state, event, index, slot);
  return slot;
}

function extend(state: SliceState, slot: number, event: EventView, batch: Batch): void {
  const before: SessionSummary = summaryOf(state, slot);
  changeSession(state, slot, batch);
  const isCredit = (event.flags & FLAG_CREDIT) !== 0 && !reaches(state, slot, event.occurredAtMs);
  if (isCredit) noteCredit(state, slot, event, batch);
  else noteEvent(state, slot, event, batch);
  if ((event.flags & FLAG_REVENUE) !== 0) addRevenue(state, slot, event);
  touch(state.sessions, slot, state.clockMs);
  noteSession(state.openDevices, slot);
  countSessionChange(state, before, summaryOf(state, slot));
}

/** Remembers the event's id; false when it was recorded within the last day. Over the cap, a repeat counts again. */
function noteEventId(state: SliceState, event: EventView, site: number, slot: number): boolean {
  const { eventIds, clockMs } = state;
  const project = textOf(state.sites, site);
  const id = event.bytes.toString('latin1', event.eventIdStart, event.eventIdEnd);
  const seen = eventIds.peek(project, id);
  if (seen !== undefined && !isForgotten(seen.atMs, clockMs)) return false;
  expireIdsOf(state, project);
  eventIds.set(project, id, { atMs: clockMs, sessionId: sessionIdText(state, event, slot) });
  return true;
}

/** Evicts the event ids that are older than a day, of every site. */
export function expireEventIds(state: SliceState): void {
  for (const project of state.eventIds.owners()) expireIdsOf(state, project);
}

function expireIdsOf({ eventIds, clockMs }: SliceState, project: string): void {
  for (let atMs = eventIds.oldestMs(project); atMs !== undefined; atMs = eventIds.oldestMs(project)) {
    if (!isForgotten(atMs, clockMs)) return;
    eventIds.evictOldest(project);
  }
}

function isForgotten(atMs: number, clockMs: number): boolean {
  return clockMs - atMs > EVENT_ID_MEMORY_MS;
}

/** The id of the session that the event will be recorded under: the one it joins, or its hint's. */
function sessionIdText(state: SliceState, event: EventView, slot: number): string {
  if ((event.flags & FLAG_IN_SESSION) === 0) return '';
  if (slot === 0) return event.bytes.toString('hex', event.hintStart, event.hintStart + 16);
  return Buffer.from(state.sessions.ids.buffer, slot * 16, 16).toString('hex');
}

function notePublisher(state: SliceState, publisher: string, sequence: number): void {
  state.publishers.delete(publisher);
  state.publishers.set(publisher, { sequence, atMs: state.clockMs });
  if (state.publishers.size <= state.limits.publishersMax) return;
  // Evict the publisher that was silent longest: a publisher gives up a message within seconds.
  for (const oldest of state.publishers.keys()) {
    state.publishers.delete(oldest);
    break;
  }
}

/** A message that can be folded: its head, and the union of its events' flags. */
export interface CheckedMessage {
  readonly head: MessageHead;
  readonly flags: number;
}

/**
 * Reads a message from end to end.
 * @throws {DecodeError} unless every event of it can be folded and stored
 */
export function checkMessage(bytes: Buffer, view: EventView): CheckedMessage {
  const head = decodeMessageHead(bytes);
  let flags = 0;
  let offset = MESSAGE_HEADER_BYTES;
  for (let index = 0; index < head.count; index += 1) {
    offset = view.read(bytes, offset);
    flags |= view.flags;
    if ((view.flags & FLAG_IN_SESSION) !== 0 && view.deviceStart === view.deviceEnd) {
      throw new DecodeError('an event in a session has no device');
    }
  }
  if (head.count === 0) decodeEraseCommands(bytes);
  else if (offset !== bytes.length) throw new DecodeError('a message has bytes behind its events');
  return { head, flags };
}

function siteOf(state: SliceState, event: EventView): number {
  const text = event.bytes.toString('latin1', event.projectStart, event.projectEnd);
  // Interned once, until `evictQuietSites` finds that nothing refers to it.
  return state.sites.idByText.get(text) ?? intern(state.sites, text);
}

function writeEventRow(
  batch: Batch,
  state: SliceState,
  event: EventView,
  index: number,
  slot: number,
  site: number,
): void {
  const { writer } = batch.events;
  writer.u16(state.lane);
  writer.u32(batch.flushNumber);
  writeEventRowId(batch, event, index, state.lane);
  writer.raw(state.sessions.ids, slot * 16, slot * 16 + 16);
  event.writeRow(writer);
  endRow(batch.events, site);
  noteChange(batch, site, event.occurredAtMs);
}

/**
 * An event's id: its publisher, the publisher's message number, its position in the message, and the lane. It
 * never changes.
 */
function writeEventRowId(batch: Batch, event: EventView, index: number, lane: number): void {
  const { writer } = batch.events;
  writer.raw(event.bytes, 1, 9);
  writer.u32(event.bytes.readDoubleLE(9) >>> 0);
  writer.u32(index | (lane << LANE_SHIFT));
}

function writeSessionStart(
  batch: Batch,
  state: SliceState,
  event: EventView,
  index: number,
  slot: number,
): void {
  const { writer } = batch.events;
  writer.u16(state.lane);
  writer.u32(batch.flushNumber);
  writeEventRowId(batch, event, index, state.lane);
  writer.patchU8(writer.length - 1, START_BIT);
  writeSynthetic(batch, state, slot, SESSION_START, event.occurredAtMs, event.receivedAtMs);
}

function writeSessionEnd(batch: Batch, state: SliceState, slot: number): void {
  const { writer } = batch.events;
  writer.u16(state.lane);
  writer.u32(batch.flushNumber);
  // A session's end is written once, so its row id is the session's id without the four hash bytes that are nearly
  // always zero. The bytes in front sort it after the events of its millisecond, because a publisher's random id hardly
  // ever begins with them.
  const start = slot * 16;
  for (let place = 0; place < 4; place += 1) writer.u8(0xff);
  writer.raw(state.sessions.ids, start, start + 4);
  writer.raw(state.sessions.ids, start + 8, start + 16);
  const endMs = state.sessions.endMs[slot] ?? 0;
  writeSynthetic(batch, state, slot, SESSION_END, endMs, state.clockMs);
  // The hour of a late visit may have had a rollup since the visit's last event.
  noteChange(batch, state.sessions.site[slot] ?? 0, endMs);
}

/** The rest of a synthetic event's row: everything that its session knows, in the order of `EVENT_COLUMNS`. */
function writeSynthetic(
  batch: Batch,
  state: SliceState,
  slot: number,
  name: string,
  createdAtMs: number,
  receivedAtMs: number,
): void {
  const { writer } = batch.events;
  const { sessions } = state;
  const isStart = name === SESSION_START;
  writer.raw(sessions.ids, slot * 16, slot * 16 + 16);
  writeDevice(writer, state, slot);
  writeRun(writer, state.profiles.textById[sessions.profile[slot] ?? 0] ?? '');
  writer.string('');
  writer.i64(0n);
  writer.string('');
  writer.string('');
  writer.string(name);
  writer.dateTime64Ms(createdAtMs);
  writer.dateTime64Ms(receivedAtMs);
  const page = isStart ? sessions.entryPage[slot] : sessions.exitPage[slot];
  writer.latin1(state.pages.textById[page ?? 0] ?? '');
  for (let count = 0; count < 3; count += 1) writer.string('');
  writer.latin1(state.sources.textById[sessions.source[slot] ?? 0] ?? '');
  writer.latin1(state.environments.textById[sessions.environment[slot] ?? 0] ?? '');
  writer.varint(0);
  writer.varint(0);
  writer.string('');
  writer.string('');
  endRow(batch.events, sessions.site[slot] ?? 0);
}
