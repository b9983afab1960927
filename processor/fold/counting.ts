import { MINUTE_MS } from '../../infra/durations.ts';
import { FLAG_REVENUE, FLAG_SCREEN_VIEW } from '../../ingest/event.ts';
import { durationMsOf, isBounce } from '../figures.ts';
import type { EventView } from './event-view.ts';
import { evictCounters } from './evict-sites.ts';
import { textOf } from './interned.ts';
import { expireNamed, leaveLive, seeSession } from './live.ts';
import {
  createSiteCounters,
  dropMinutesBefore,
  expireMinutes,
  type Minute,
  minuteAt,
  type SiteCounters,
} from './site-counters.ts';
import type { SliceState } from './slice-state.ts';
import { visitorHash, visitorHashAt } from './visitor.ts';

const ID_BYTES = 16;

/** The fields of a session that the minute counters need. */
export interface SessionSummary {
  readonly site: number;
  readonly startMs: number;
  readonly durationMs: number;
  readonly bounce: boolean;
}

export function summaryOf(state: SliceState, slot: number): SessionSummary {
  const { sessions } = state;
  const startMs = sessions.startMs[slot] ?? 0;
  return {
    site: sessions.site[slot] ?? 0,
    startMs,
    durationMs: durationMsOf(startMs, sessions.endMs[slot] ?? 0),
    bounce: isBounce(sessions.screenViews[slot] ?? 0),
  };
}

/** Counts an event in its minute, and its visitor as live. `slot` is its session, 0 for none. */
export function countEvent(state: SliceState, event: EventView, slot: number): void {
  const counters = countersOf(state, event.bytes.toString('latin1', event.projectStart, event.projectEnd));
  if (slot !== 0) seeSession(state, counters, slot, event.occurredAtMs);
  const minute = minuteAt(counters, event.occurredAtMs, state.clockMs);
  if (minute === undefined) return;
  if ((event.flags & FLAG_SCREEN_VIEW) !== 0) minute.screenViews += 1;
  else minute.otherEvents += 1;
  if ((event.flags & FLAG_REVENUE) !== 0) {
    const currency = event.bytes.toString('latin1', event.currencyStart, event.currencyEnd);
    const minorUnits = event.bytes.readBigInt64LE(event.revenueStart);
    minute.revenue.set(currency, (minute.revenue.get(currency) ?? 0n) + minorUnits);
  }
  if (slot !== 0) addSlot(state, minute, slot);
  else {
    const visitor = visitorHashAt(event);
    addVisitor(state, minute, visitor, visitor);
  }
  if (state.minuteVisitors > state.limits.minuteVisitorsMax) makeRoom(state, counters);
}

/** Adds the session in `slot` to a minute in which it has an event. */
export function addSlot(state: SliceState, minute: Minute, slot: number): void {
  if (minute.slots.add(slot)) state.minuteVisitors += 1;
}

/**
 * Adds the visitor with this hash (0: none) to a minute, for a session that is not retained or an event without session. `key`: the hash of
 * the session's id, or of the visitor.
 */
export function addVisitor(state: SliceState, minute: Minute, key: number, visitor: number): void {
  if (visitor !== 0 && minute.visitors.set(key, visitor)) state.minuteVisitors += 1;
}

/** The key of a session's visitor in the minutes: a hash of the 16 bytes of its id that begin at `start`. */
export function visitorKeyOf(ids: Uint8Array, start: number): number {
  return visitorHash(ids, start, start + ID_BYTES);
}

/** Notes that the session in `slot` is evicted: its minutes keep its visitor, who is no longer live by it. */
export function leaveCounters(state: SliceState, slot: number): void {
  leaveLive(state, slot);
  const key = visitorKeyOf(state.sessions.ids, slot * ID_BYTES);
  for (const minute of minutesOfSession(state, slot)) {
    if (!minute.slots.delete(slot)) continue;
    state.minuteVisitors -= 1;
    addVisitor(state, minute, key, state.sessions.visitor[slot] ?? 0);
  }
}

/** Notes that the session in `slot` is retained again: its minutes follow its visitor again. */
export function rejoinCounters(state: SliceState, slot: number): void {
  const key = visitorKeyOf(state.sessions.ids, slot * ID_BYTES);
  for (const minute of minutesOfSession(state, slot)) {
    if (!minute.visitors.delete(key)) continue;
    state.minuteVisitors -= 1;
    addSlot(state, minute, slot);
  }
}

/** Moves a session's contribution from its former state (undefined: the session is new) to its present one. */
export function countSessionChange(
  state: SliceState,
  before: SessionSummary | undefined,
  after: SessionSummary,
): void {
  const counters = countersOf(state, state.sites.textById[after.site] ?? '');
  if (before !== undefined) addSession(counters, before, -1, state.clockMs);
  addSession(counters, after, 1, state.clockMs);
}

/** The counters of a site, created when the site is first seen. */
export function countersOf(state: SliceState, site: string): SiteCounters {
  const known = state.counters.get(site);
  if (known !== undefined) {
    known.touchedMs = state.clockMs;
    return known;
  }
  if (state.counters.size >= state.limits.sitesMax) evictCounters(state);
  const created = createSiteCounters(state.clockMs, state.evictedMinutesBeforeMs);
  state.counters.set(site, created);
  return created;
}

/** Evicts the minutes that are too old to be answered from memory. */
export function expireCounters(state: SliceState): void {
  for (const counters of state.counters.values()) {
    state.minuteVisitors -= expireMinutes(counters, state.clockMs);
    expireNamed(state, counters);
  }
}

function addSession(counters: SiteCounters, session: SessionSummary, amount: 1 | -1, clockMs: number): void {
  const minute = minuteAt(counters, session.startMs, clockMs);
  if (minute === undefined) return;
  minute.sessions += amount;
  minute.durationMs += amount * session.durationMs;
  if (session.bounce) minute.bounces += amount;
}

/** Over the cap, the oldest half of the minutes is no longer answered from memory. */
function makeRoom(state: SliceState, counters: SiteCounters): void {
  expireCounters(state);
  if (state.minuteVisitors <= state.limits.minuteVisitorsMax) return;
  const minutes = [...counters.minutes.keys()].sort((a, b) => a - b);
  const middle = minutes[Math.floor(minutes.length / 2)] ?? 0;
  state.minuteVisitors -= dropMinutesBefore(counters, Math.max(middle, (minutes[0] ?? 0) + MINUTE_MS));
}

/** The known minutes in which the session may have events. */
function minutesOfSession(state: SliceState, slot: number): Iterable<Minute> {
  const { sessions } = state;
  const minutes = state.counters.get(textOf(state.sites, sessions.site[slot] ?? 0))?.minutes;
  if (minutes === undefined) return [];
  // Credited events may lie on either side of the session's times.
  if (state.creditedBySlot.has(slot)) return minutes.values();
  return minutesWithin(minutes, sessions.startMs[slot] ?? 0, sessions.endMs[slot] ?? 0);
}

/** The known minutes from the minute of `startMs` to the minute of `endMs`. */
function* minutesWithin(minutes: Map<number, Minute>, startMs: number, endMs: number): Iterable<Minute> {
  const firstMs = Math.floor(startMs / MINUTE_MS) * MINUTE_MS;
  // Few minutes are known, and a session may be long.
  if ((endMs - firstMs) / MINUTE_MS > minutes.size) {
    for (const [minuteMs, minute] of minutes) if (minuteMs >= firstMs && minuteMs <= endMs) yield minute;
    return;
  }
  for (let minuteMs = firstMs; minuteMs <= endMs; minuteMs += MINUTE_MS) {
    const minute = minutes.get(minuteMs);
    if (minute !== undefined) yield minute;
  }
}
