import { FLAG_REVENUE, FLAG_SCREEN_VIEW } from '../../ingest/event.ts';
import type { EventView } from './event-view.ts';
import { evictCounters } from './evict-sites.ts';
import { textOf } from './interned.ts';
import { expireNamed, leaveLive, seeSession } from './live.ts';
import type { PartitionState } from './partition.ts';
import { isBounce } from './session-table.ts';
import {
  createSiteCounters,
  dropMinutesBefore,
  expireMinutes,
  MINUTE_MS,
  type Minute,
  minuteAt,
  type SiteCounters,
} from './site-counters.ts';
import { visitorHashAt } from './visitor.ts';

/** What the minute counters need to know of a session. */
export interface SessionSummary {
  readonly site: number;
  readonly startMs: number;
  readonly durationMs: number;
  readonly bounce: boolean;
}

export function summaryOf(state: PartitionState, slot: number): SessionSummary {
  const { sessions } = state;
  const startMs = sessions.startMs[slot] ?? 0;
  return {
    site: sessions.site[slot] ?? 0,
    startMs,
    durationMs: (sessions.endMs[slot] ?? 0) - startMs,
    bounce: isBounce(sessions.screenViews[slot] ?? 0),
  };
}

/** Counts an event in its minute, and its visitor as live. `slot` is its session, 0 for none. */
export function countEvent(state: PartitionState, event: EventView, slot: number): void {
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
  addVisitor(state, minute, slot, visitorHashAt(event));
  if (state.minuteVisitors > state.limits.minuteVisitorsMax) makeRoom(state, counters);
}

/** Adds a visitor to a minute: that of the session in `slot`, else the one with this hash (0: none). */
export function addVisitor(state: PartitionState, minute: Minute, slot: number, visitor: number): void {
  const isNew = slot === 0 ? visitor !== 0 && minute.visitors.add(visitor) : minute.slots.add(slot);
  if (isNew) state.minuteVisitors += 1;
}

/** Notes that the session in `slot` is evicted: its minutes keep its visitor, who is not live by it any more. */
export function leaveCounters(state: PartitionState, slot: number): void {
  leaveLive(state, slot);
  const { sessions } = state;
  const minutes = state.counters.get(textOf(state.sites, sessions.site[slot] ?? 0))?.minutes;
  if (minutes === undefined) return;
  const endMs = Math.max(sessions.endMs[slot] ?? 0, state.creditedBySlot.get(slot) ?? 0);
  for (const minute of minutesWithin(minutes, sessions.startMs[slot] ?? 0, endMs)) {
    if (!minute.slots.delete(slot)) continue;
    state.minuteVisitors -= 1;
    addVisitor(state, minute, 0, sessions.visitor[slot] ?? 0);
  }
}

/** Moves a session's contribution from its former state (undefined: the session is new) to its present one. */
export function countSessionChange(
  state: PartitionState,
  before: SessionSummary | undefined,
  after: SessionSummary,
): void {
  const counters = countersOf(state, state.sites.textById[after.site] ?? '');
  if (before !== undefined) addSession(counters, before, -1, state.clockMs);
  addSession(counters, after, 1, state.clockMs);
}

/** The counters of a site, created when the site is first seen. */
export function countersOf(state: PartitionState, site: string): SiteCounters {
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
export function expireCounters(state: PartitionState): void {
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
function makeRoom(state: PartitionState, counters: SiteCounters): void {
  expireCounters(state);
  if (state.minuteVisitors <= state.limits.minuteVisitorsMax) return;
  const minutes = [...counters.minutes.keys()].sort((a, b) => a - b);
  const middle = minutes[Math.floor(minutes.length / 2)] ?? 0;
  state.minuteVisitors -= dropMinutesBefore(counters, Math.max(middle, (minutes[0] ?? 0) + MINUTE_MS));
}

/** The known minutes from that of `startMs` to that of `endMs`. */
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
