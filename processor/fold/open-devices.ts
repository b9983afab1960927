import { HashedMap } from '../../infra/cache/hashed-map.ts';
import { DeviceHash } from '../../ingest/open-sessions.ts';

/** Checks that are due within the same span are done together. */
const CHECK_SPAN_MS = 15_000;
const FIRST_SLOTS = 1_024;

/** A device without a session of its own that a later look may find changed. */
interface DueDevice {
  readonly deviceKey: string;
  readonly atMs: number;
}

/**
 * The entries of a slice in the collectors (`listed`), and the possibly outdated ones: sessions and devices that changed
 * since the last look, and others that will change with time. The fold only notes; `takeOpenChanges` looks.
 *
 * No row depends on it. It is not restored, but made from the sessions.
 */
export interface OpenDevices {
  readonly listed: HashedMap;
  /** Slots of sessions that changed. */
  readonly changedSlots: Set<number>;
  /** Keys of devices that changed otherwise: a session was evicted, or an id granted. */
  readonly changedDevices: Set<string>;
  /** 1: the session is listed as its device's open one, and a further event changes nothing. By slot. */
  settled: Uint8Array;
  /** The span in which the session is looked at again; 0: it is not. By slot. */
  dueSpans: Uint32Array;
  /** Slots to look at, by span. A slot with another span in `dueSpans` is outdated. */
  readonly due: Map<number, number[]>;
  /** Devices to look at, in no order: those with a grant. */
  dueDevices: DueDevice[];
  /** The next slot to look at for the first time, after a restart; 0: all were. */
  nextFirstLook: number;
  /** A device could not be listed because the list was full. */
  overflowed: boolean;
  readonly hash: DeviceHash;
}

/** An empty list of at most `devicesMax` devices, for a slice whose sessions are yet to be restored. */
export function createOpenDevices(devicesMax: number): OpenDevices {
  return {
    listed: new HashedMap(devicesMax),
    changedSlots: new Set(),
    changedDevices: new Set(),
    settled: new Uint8Array(FIRST_SLOTS),
    dueSpans: new Uint32Array(FIRST_SLOTS),
    due: new Map(),
    dueDevices: [],
    nextFirstLook: 1,
    overflowed: false,
    hash: new DeviceHash(),
  };
}

/** Notes an event of a session. Without a list, the sessions are not followed. */
export function noteSession(open: OpenDevices | undefined, slot: number): void {
  if (open !== undefined && open.settled[slot] !== 1) open.changedSlots.add(slot);
}

/** Notes that a session of the device was evicted. */
export function noteEvicted(open: OpenDevices | undefined, slot: number, deviceKey: string): void {
  if (open === undefined) return;
  open.changedSlots.delete(slot);
  open.changedDevices.add(deviceKey);
  if (slot < open.settled.length) open.settled[slot] = 0;
}

/** Notes that the device was granted an id, or that a grant was dropped. */
export function noteGrant(open: OpenDevices | undefined, deviceKey: string): void {
  open?.changedDevices.add(deviceKey);
}

/** Makes room for the slots up to this one. */
export function ensureSlot(open: OpenDevices, slot: number): void {
  if (slot < open.settled.length) return;
  const length = Math.max(slot + 1, open.settled.length * 2);
  const settled = new Uint8Array(length);
  settled.set(open.settled);
  open.settled = settled;
  const dueSpans = new Uint32Array(length);
  dueSpans.set(open.dueSpans);
  open.dueSpans = dueSpans;
}

/** The session is looked at when `atMs` has passed, or within a span after it, unless it will be looked at earlier. */
export function lookAtSession(open: OpenDevices, slot: number, atMs: number): void {
  const span = Math.ceil(atMs / CHECK_SPAN_MS);
  const planned = open.dueSpans[slot] ?? 0;
  if (planned !== 0 && planned <= span) return;
  open.dueSpans[slot] = span;
  const slots = open.due.get(span);
  if (slots === undefined) open.due.set(span, [slot]);
  else slots.push(slot);
}

/** The device is looked at when `atMs` has passed. */
export function lookAtDevice(open: OpenDevices, deviceKey: string, atMs: number): void {
  open.dueDevices.push({ deviceKey, atMs });
}

/** Moves the entries due at `nowMs` to the changed ones. */
export function noteDue(open: OpenDevices, nowMs: number): void {
  const nowSpan = Math.floor(nowMs / CHECK_SPAN_MS);
  for (const [span, slots] of open.due) {
    if (span > nowSpan) continue;
    open.due.delete(span);
    for (const slot of slots) {
      if (open.dueSpans[slot] !== span) continue;
      open.dueSpans[slot] = 0;
      open.changedSlots.add(slot);
    }
  }
  if (open.dueDevices.some(({ atMs }) => atMs <= nowMs)) {
    for (const { deviceKey, atMs } of open.dueDevices) if (atMs <= nowMs) open.changedDevices.add(deviceKey);
    open.dueDevices = open.dueDevices.filter(({ atMs }) => atMs > nowMs);
  }
}
