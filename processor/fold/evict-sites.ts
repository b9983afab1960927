import { MINUTE_MS } from '../../infra/durations.ts';
import type { Batch } from './batch.ts';
import { release, textOf } from './interned.ts';
import { MINUTES_KEPT_MS, type SiteCounters, visitorEntries } from './site-counters.ts';
import type { SliceState } from './slice-state.ts';

/** The share of counters that is evicted at the cap: large enough to pay for sorting them and reading every session. */
const EVICTED_SHARE = 0.1;

/**
 * Makes room for the counters of a new site by evicting the counters that were touched longest ago. Their minutes are answered from the
 * store, and their live visitors are counted from zero.
 */
export function evictCounters(state: SliceState): void {
  const { counters, sessions, sites } = state;
  const byTouch = [...counters].sort(([, one], [, other]) => one.touchedMs - other.touchedMs);
  const evictedIds = new Set<number>();
  for (const [site, evicted] of byTouch.slice(0, Math.ceil(byTouch.length * EVICTED_SHARE))) {
    for (const [minuteMs, minute] of evicted.minutes) {
      state.minuteVisitors -= visitorEntries(minute);
      state.evictedMinutesBeforeMs = Math.max(state.evictedMinutesBeforeMs, minuteMs + MINUTE_MS);
    }
    counters.delete(site);
    evictedIds.add(sites.idByText.get(site) ?? 0);
  }
  // New counters do not count these seconds, so nothing may take them back.
  for (let slot = 1; slot < sessions.used; slot += 1)
    if (evictedIds.has(sessions.site[slot] ?? 0)) sessions.liveSecond[slot] = 0;
}

/**
 * Evicts the sites without any reference: no retained session, no row of `batches` (all rows not yet in the store), no
 * minute and no live visitor. An event of such a site makes it known again.
 */
export function evictQuietSites(state: SliceState, batches: readonly Batch[]): void {
  const { counters, sites } = state;
  for (const [site, known] of counters) if (isQuiet(known, state.clockMs)) counters.delete(site);
  if (sites.idByText.size <= counters.size) return;
  const isUsed = usedSites(state, batches);
  for (let id = 1; id < isUsed.length; id += 1) {
    const site = textOf(sites, id);
    if (site !== '' && isUsed[id] === 0 && !counters.has(site)) release(sites, id);
  }
}

/** Minutes are known for longer than a visitor is live. */
function isQuiet({ minutes, touchedMs }: SiteCounters, clockMs: number): boolean {
  return minutes.size === 0 && touchedMs < clockMs - MINUTES_KEPT_MS;
}

/** By site: 1 where a session or an unflushed row refers to it. */
function usedSites({ sessions, sites }: SliceState, batches: readonly Batch[]): Uint8Array {
  const isUsed = new Uint8Array(sites.textById.length);
  for (let slot = 1; slot < sessions.used; slot += 1) isUsed[sessions.site[slot] ?? 0] = 1;
  for (const batch of batches) {
    for (const site of batch.events.sites) isUsed[site] = 1;
    for (const site of batch.sessions.sites) isUsed[site] = 1;
    for (const site of batch.hours.keys()) isUsed[site] = 1;
  }
  return isUsed;
}
