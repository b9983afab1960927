import { textOf } from './interned.ts';
import { firstBeside, nextOfDevice } from './session-devices.ts';
import { expireLive, raiseFloor, type SiteCounters, seeDevice, unseeDevice } from './site-counters.ts';
import type { SliceState } from './slice-state.ts';

/**
 * The live visitors: visitors with an event in a session in the last five minutes. A session without a profile makes its device live;
 * devices are counted by second (`SiteCounters`). A session with a profile makes the profile live, which may be live on other devices and
 * in other slices too; such sessions are listed, because only the profiles themselves can be united.
 */
export interface LiveVisitors {
  /** Devices that are live without a profile. */
  readonly devices: number;
  /** Slots of the live sessions with a profile. */
  readonly named: Iterable<number>;
}

/** The live visitors of a site at `nowMs`. */
export function liveVisitors(state: SliceState, site: string, nowMs: number): LiveVisitors {
  const counters = state.counters.get(site);
  if (counters === undefined) return { devices: 0, named: [] };
  expireLive(counters, nowMs);
  expireNamed(state, counters);
  return { devices: counters.live, named: counters.liveNamed };
}

/** Notes an event of the session in `slot`: its visitor is live from `atMs` on. */
export function seeSession(state: SliceState, counters: SiteCounters, slot: number, atMs: number): void {
  const { liveSecond, profile } = state.sessions;
  const second = Math.floor(atMs / 1000);
  if (profile[slot] === 0) seeDevice(counters, deviceSecond(state, slot), second);
  if (second > (liveSecond[slot] ?? 0)) liveSecond[slot] = second;
  if (profile[slot] !== 0) listNamed(state, counters, slot);
}

/** Notes that the session in `slot`, which had no profile, has one now: the profile is live instead of the device. */
export function seeNamed(state: SliceState, slot: number): void {
  const counters = countersAt(state, slot);
  if (counters === undefined) return;
  unseeSession(state, counters, slot);
  listNamed(state, counters, slot);
}

/** Notes that the session in `slot` is evicted: it no longer makes a visitor live. */
export function leaveLive(state: SliceState, slot: number): void {
  const counters = countersAt(state, slot);
  if (counters === undefined) return;
  if (state.sessions.profile[slot] === 0) unseeSession(state, counters, slot);
  else counters.liveNamed.delete(slot);
}

/** Removes sessions from the list when their visitor is no longer live. */
export function expireNamed({ sessions }: SliceState, counters: SiteCounters): void {
  for (const slot of counters.liveNamed)
    if ((sessions.liveSecond[slot] ?? 0) <= counters.floorSecond) counters.liveNamed.delete(slot);
}

/** True if the session makes its visitor live: among a device's sessions without a profile, this has the newest event. */
export function isNewestOfDevice(state: SliceState, slot: number): boolean {
  const { sessions } = state;
  const { liveSecond, profile } = sessions;
  const second = liveSecond[slot] ?? 0;
  let other = firstBeside(state, slot);
  for (; other !== 0; other = nextOfDevice(sessions, other)) {
    if (other === slot || profile[other] !== 0) continue;
    const otherSecond = liveSecond[other] ?? 0;
    if (otherSecond > second || (otherSecond === second && other > slot)) return false;
  }
  return true;
}

function listNamed({ sessions }: SliceState, counters: SiteCounters, slot: number): void {
  const second = sessions.liveSecond[slot] ?? 0;
  raiseFloor(counters, second);
  if (second > counters.floorSecond) counters.liveNamed.add(slot);
}

/** Now only its other sessions without a profile can make the device live. */
function unseeSession(state: SliceState, counters: SiteCounters, slot: number): void {
  const rest = deviceSecond(state, slot, slot);
  unseeDevice(counters, Math.max(rest, state.sessions.liveSecond[slot] ?? 0));
  if (rest > 0) seeDevice(counters, 0, rest);
}

/** The second of the newest event in the sessions without a profile of the session's device; 0 for none. */
function deviceSecond(state: SliceState, slot: number, except = 0): number {
  const { sessions } = state;
  const { liveSecond, profile } = sessions;
  let newest = 0;
  let other = firstBeside(state, slot);
  for (; other !== 0; other = nextOfDevice(sessions, other))
    if (other !== except && profile[other] === 0) newest = Math.max(newest, liveSecond[other] ?? 0);
  return newest;
}

function countersAt({ counters, sessions, sites }: SliceState, slot: number): SiteCounters | undefined {
  return counters.get(textOf(sites, sessions.site[slot] ?? 0));
}
