import { MINUTE_MS } from '../../infra/durations.ts';
import { NumberMap } from './number-map.ts';
import { NumberSet } from './number-set.ts';

/** A device is live for this long after its last event. */
export const LIVE_WINDOW_MS = 300_000;
/** Minutes that are answered from memory: two hours, for a span of one hour and the one before it. */
export const MINUTES_KEPT_MS = 7_500_000;
// The live window plus the minute by which an event may lie ahead of its receipt, rounded up to a power of two.
const RING_SECONDS = 512;
const LIVE_SPAN_SECONDS = 360;

/** One minute of one site. */
export interface Minute {
  screenViews: number;
  otherEvents: number;
  sessions: number;
  bounces: number;
  durationMs: number;
  readonly revenue: Map<string, bigint>;
  /** Slots of the retained sessions with an event in the minute: their visitors may still become known. */
  readonly slots: NumberSet;
  /**
   * Hashes of the other visitors. For sessions that are not retained: by the hash of the session's id, so that a
   * reopened session takes its visitor back. For events without a session: by themselves.
   */
  readonly visitors: NumberMap;
}

/**
 * The counters of one site in one slice. `live.ts` has the live devices and sessions.
 *
 *     liveBySecond   …│ 2 │ 0 │ 5 │ 1 │…      devices by the second of their last event, a ring of 512
 *                      └─ floorSecond: seconds up to here have expired and are zero
 *
 * `live` is the sum over the ring, so counting and reading are O(1) for any number of devices.
 */
export interface SiteCounters {
  live: number;
  floorSecond: number;
  readonly liveBySecond: Int32Array;
  /** Slots of sessions with a profile that may be live. */
  readonly liveNamed: Set<number>;
  readonly minutes: Map<number, Minute>;
  /** Minutes before this are forgotten. */
  minutesFromMs: number;
  /** The lane's clock when something was last counted. */
  touchedMs: number;
}

export function createSiteCounters(clockMs: number, minutesFromMs: number): SiteCounters {
  return {
    live: 0,
    floorSecond: Math.floor((clockMs - LIVE_WINDOW_MS) / 1000),
    liveBySecond: new Int32Array(RING_SECONDS),
    liveNamed: new Set(),
    minutes: new Map(),
    minutesFromMs,
    touchedMs: clockMs,
  };
}

/** Expires every second with events older than the live window at `nowMs`. */
export function expireLive(counters: SiteCounters, nowMs: number): void {
  expireSeconds(counters, Math.floor((nowMs - LIVE_WINDOW_MS) / 1000));
}

/**
 * Moves one device's last event from `previousSecond` (0: none) to `second`, unless that is earlier, or too old to be
 * live.
 */
export function seeDevice(counters: SiteCounters, previousSecond: number, second: number): void {
  raiseFloor(counters, second);
  const counted = previousSecond > counters.floorSecond ? previousSecond : 0;
  if (second <= counted || second <= counters.floorSecond) return;
  if (counted > 0) add(counters, counted, -1);
  add(counters, second, 1);
}

/** An event is at most a minute older than the newest one, at `second`: seconds before that are over. */
export function raiseFloor(counters: SiteCounters, second: number): void {
  expireSeconds(counters, second - LIVE_SPAN_SECONDS);
}

/** Removes a device whose last event is at this second. */
export function unseeDevice(counters: SiteCounters, second: number): void {
  if (second > counters.floorSecond) add(counters, second, -1);
}

/** The minute that contains `atMs`, created when it is recent enough; undefined when it is too old. */
export function minuteAt(counters: SiteCounters, atMs: number, clockMs: number): Minute | undefined {
  const minuteMs = Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
  const known = counters.minutes.get(minuteMs);
  if (known !== undefined) return known;
  if (minuteMs < clockMs - MINUTES_KEPT_MS) return undefined;
  const minute: Minute = {
    screenViews: 0,
    otherEvents: 0,
    sessions: 0,
    bounces: 0,
    durationMs: 0,
    revenue: new Map(),
    slots: new NumberSet(),
    visitors: new NumberMap(),
  };
  counters.minutes.set(minuteMs, minute);
  return minute;
}

/** Number of entries that the visitors of a minute take. */
export function visitorEntries({ slots, visitors }: Minute): number {
  return slots.size + visitors.size;
}

/** Evicts the minutes that are too old; returns the number of visitors' entries in them. */
export function expireMinutes(counters: SiteCounters, clockMs: number): number {
  return evictMinutesBefore(counters, clockMs - MINUTES_KEPT_MS);
}

/** Evicts minutes early, and from then on answers only for later ones. */
export function dropMinutesBefore(counters: SiteCounters, fromMs: number): number {
  counters.minutesFromMs = Math.max(counters.minutesFromMs, fromMs);
  return evictMinutesBefore(counters, fromMs);
}

function evictMinutesBefore(counters: SiteCounters, fromMs: number): number {
  let visitors = 0;
  for (const [minuteMs, minute] of counters.minutes) {
    if (minuteMs >= fromMs) continue;
    visitors += visitorEntries(minute);
    counters.minutes.delete(minuteMs);
  }
  return visitors;
}

function add(counters: SiteCounters, second: number, amount: number): void {
  const place = second % RING_SECONDS;
  counters.liveBySecond[place] = (counters.liveBySecond[place] ?? 0) + amount;
  counters.live += amount;
}

function expireSeconds(counters: SiteCounters, floorSecond: number): void {
  if (floorSecond <= counters.floorSecond) return;
  const steps = Math.min(RING_SECONDS, floorSecond - counters.floorSecond);
  for (let step = 1; step <= steps; step += 1) {
    const place = (counters.floorSecond + step) % RING_SECONDS;
    counters.live -= counters.liveBySecond[place] ?? 0;
    counters.liveBySecond[place] = 0;
  }
  counters.floorSecond = floorSecond;
}
