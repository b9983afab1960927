import { FLAG_REVENUE, FLAG_SCREEN_VIEW } from '../../ingest/event.ts';
import type { EventView } from './event-view.ts';
import type { PartitionState } from './partition.ts';
import { isBounce } from './session.ts';
import {
  createSiteCounters,
  dropMinutesBefore,
  expireMinutes,
  minuteAt,
  type SiteCounters,
  seeDevice,
} from './site-counters.ts';

const MINUTE_MS = 60_000;

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

/** Counts an event in its minute, and its device as live. `slot` is its session, 0 for none. */
export function countEvent(state: PartitionState, event: EventView, slot: number): void {
  const counters = countersOf(state, event.bytes.toString('latin1', event.projectStart, event.projectEnd));
  if (slot !== 0) seeDeviceOf(state, counters, slot, event.occurredAtMs);
  const minute = minuteAt(counters, event.occurredAtMs, state.clockMs);
  if (minute === undefined) return;
  if ((event.flags & FLAG_SCREEN_VIEW) !== 0) minute.screenViews += 1;
  else minute.otherEvents += 1;
  if ((event.flags & FLAG_REVENUE) !== 0) {
    const currency = event.bytes.toString('latin1', event.currencyStart, event.currencyEnd);
    const minorUnits = event.bytes.readBigInt64LE(event.revenueStart);
    minute.revenue.set(currency, (minute.revenue.get(currency) ?? 0n) + minorUnits);
  }
  const visitor = visitorHashOf(event);
  if (visitor === 0 || !minute.visitors.add(visitor)) return;
  state.minuteVisitors += 1;
  if (state.minuteVisitors > state.limits.minuteVisitorsMax) makeRoom(state, counters);
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
  if (known !== undefined) return known;
  const created = createSiteCounters(state.clockMs);
  state.counters.set(site, created);
  return created;
}

/** Evicts the minutes that are too old to be answered from memory. */
export function expireCounters(state: PartitionState): void {
  for (const counters of state.counters.values())
    state.minuteVisitors -= expireMinutes(counters, state.clockMs);
}

/** Moves a device among the live ones. The session that was seen last carries the second. */
export function seeDeviceOf(state: PartitionState, counters: SiteCounters, slot: number, atMs: number): void {
  const { liveSecond, nextOfDevice, deviceKeys } = state.sessions;
  let holder = slot;
  let previous = liveSecond[slot] ?? 0;
  let other = state.slotByDevice.get(deviceKeys[slot] ?? '') ?? 0;
  for (; other !== 0; other = nextOfDevice[other] ?? 0) {
    if ((liveSecond[other] ?? 0) <= previous) continue;
    holder = other;
    previous = liveSecond[other] ?? 0;
  }
  const second = seeDevice(counters, previous, Math.floor(atMs / 1000));
  if (second === previous) return;
  liveSecond[holder] = 0;
  liveSecond[slot] = second;
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

/** The visitor who caused an event: the profile, else the device. */
function visitorHashOf(event: EventView): number {
  if (event.profileEnd > event.profileStart)
    return visitorHash(event.bytes, event.profileStart, event.profileEnd);
  return visitorHash(event.bytes, event.deviceStart, event.deviceEnd);
}

/** A 52-bit hash of a visitor's name; never 0, except for the empty name, which stands for no visitor. */
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
