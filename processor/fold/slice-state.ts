import { randomFillSync } from 'node:crypto';
import { DAY_MS } from '../../infra/durations.ts';
import { EventIds } from './event-ids.ts';
import { createInterned, type Interned } from './interned.ts';
import type { OpenDevices } from './open-devices.ts';
import { createDeviceSessions, type DeviceSessions } from './session-devices.ts';
import { createSessionTable, type SessionTable } from './session-table.ts';
import type { SetAside } from './set-aside.ts';
import type { SiteCounters } from './site-counters.ts';
import { type Slice, WHOLE_LANE } from './slice.ts';

/** Time for which an event id is remembered: the same id within this span counts once. */
export const EVENT_ID_MEMORY_MS = DAY_MS;

/** Limits of the memory of a lane, or of a slice's share of it. The code that checks a limit defines what happens there. */
export interface StateLimits {
  /** Time for which a silent session is retained, by the lane's clock. */
  readonly sessionRetainMs: number;
  readonly sessionsMax: number;
  readonly eventIdsMax: number;
  readonly publishersMax: number;
  readonly minuteVisitorsMax: number;
  /** Sites with counters. */
  readonly sitesMax: number;
  readonly grantsMax: number;
}

/**
 * Ended sessions that messages name, by `endedKeyOf`: the newest state of each, as a row of the store. Undefined: the
 * session does not exist, unless it is retained.
 */
export type EndedSessions = Map<string, Buffer | undefined>;

/** A session id that was promised to events of a device which are not folded yet. */
export interface Grant {
  readonly sessionId: string;
  /** Times of the first and the last event that it was promised to. */
  readonly firstMs: number;
  readonly lastMs: number;
}

/**
 * The complete state of one slice, as plain data. Only `fold` changes it, and only by the contents of the stream, so reading the stream
 * again from a checkpoint gives the same state. `grants`, `openDevices` and the expiry of live devices are exceptions: they only serve
 * answers, and no row depends on them.
 */
export interface SliceState {
  readonly lane: number;
  /** The devices of the lane that this state holds. */
  readonly slice: Slice;
  readonly limits: StateLimits;
  /** The newest receipt time seen: the only clock that the fold knows. */
  clockMs: number;
  /** Last stream sequence that was folded. */
  sequence: number;
  /** The newest message of each publisher, so that a message sent twice counts once. */
  readonly publishers: Map<string, { sequence: number; atMs: number }>;
  /** Events that are not folded. */
  setAside: readonly SetAside[];
  /** See `Checkpoint`. */
  forgettings: readonly (readonly [id: string, flushNumber: number])[];
  readonly sessions: SessionTable;
  readonly devices: DeviceSessions;
  readonly sites: Interned;
  readonly pages: Interned;
  readonly sources: Interned;
  readonly environments: Interned;
  readonly profiles: Interned;
  /** Minor units by currency, by slot of the sessions that have revenue. */
  readonly revenueBySlot: Map<number, Map<string, bigint>>;
  /** Amounts that a session's sum took at most in part, because it was at its bound. */
  saturatedSums: number;
  /** Time of the newest event that was only credited, by slot of the sessions that have one. */
  readonly creditedBySlot: Map<number, number>;
  /** Recorded event ids, by site and id; the sites share it. */
  readonly eventIds: EventIds;
  /** Ended sessions that messages at hand name (`ended-sessions.ts`); empty otherwise. */
  readonly ended: EndedSessions;
  readonly counters: Map<string, SiteCounters>;
  minuteVisitors: number;
  /** Minutes before this may be missing in a site that has no counters, or got them later. */
  evictedMinutesBeforeMs: number;
  readonly grants: Map<string, Grant>;
  /** The open sessions as the collectors know them; undefined if they are sent to no collector. */
  openDevices: OpenDevices | undefined;
}

export function createSliceState(lane: number, limits: StateLimits, slice: Slice = WHOLE_LANE): SliceState {
  return {
    lane,
    slice,
    limits,
    clockMs: 0,
    sequence: 0,
    publishers: new Map(),
    setAside: [],
    forgettings: [],
    sessions: createSessionTable(),
    devices: createDeviceSessions(),
    sites: createInterned(),
    pages: createInterned(),
    sources: createInterned(),
    environments: createInterned(),
    profiles: createInterned(),
    revenueBySlot: new Map(),
    saturatedSums: 0,
    creditedBySlot: new Map(),
    eventIds: new EventIds({
      max: limits.eventIdsMax,
      memoryMs: EVENT_ID_MEMORY_MS,
      key: randomFillSync(new Uint32Array(4)),
    }),
    ended: new Map(),
    counters: new Map(),
    minuteVisitors: 0,
    evictedMinutesBeforeMs: 0,
    grants: new Map(),
    openDevices: undefined,
  };
}
