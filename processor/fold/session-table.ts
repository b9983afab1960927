import { assert } from '../../infra/assert.ts';
import { type Column, grown } from './column.ts';

const FIRST_CAPACITY = 1024;
const GROWTH = 16_384;
const ID_BYTES = 16;

/**
 * The sessions that a slice retains, as columns of numbers: about 140 bytes a session, with its device, instead of the
 * 600 of an object. A session is a slot number; slot 0 is no session and heads the list of slots in order of their last
 * touch. Texts are ids of interned runs; rare values (revenue) are beside the table. `session-devices.ts` finds the
 * sessions of a device.
 */
export interface SessionTable {
  capacity: number;
  /** Slots ever used, with slot 0. */
  used: number;
  /** Retained sessions. */
  count: number;
  /** The slot freed last; `nextInBucket` leads on to the others. 0 without any. */
  firstFree: number;
  startMs: Float64Array;
  endMs: Float64Array;
  /** The lane's clock when the session's last event was folded. */
  touchedMs: Float64Array;
  entryMs: Float64Array;
  exitMs: Float64Array;
  /** 16 bytes a slot. */
  ids: Uint8Array;
  /** 16 bytes a slot: the digits of its device's name, or the number of that name (see `NAMED`). */
  devices: Uint8Array;
  version: Uint32Array;
  screenViews: Uint32Array;
  otherEvents: Uint32Array;
  site: Uint32Array;
  profile: Uint32Array;
  /** The hash of the session's visitor: its profile, else its device. */
  visitor: Float64Array;
  entryPage: Uint32Array;
  exitPage: Uint32Array;
  source: Uint32Array;
  environment: Uint32Array;
  /**
   * 1: the entry is a screen view; 2: the exit is one; 4: the session's end was written before; 8: events of it name
   * another profile than the session has, or none; 16: the name of its device is not 32 hexadecimal digits.
   */
  flags: Uint8Array;
  /** Next session of the devices with the same bucket; 0 ends the list. */
  nextInBucket: Uint32Array;
  older: Uint32Array;
  newer: Uint32Array;
  /** Position in the open batch's list of changed sessions, counted from 1; 0 when unchanged. */
  changedPlace: Uint32Array;
  /** The second of its newest event while that may be live; else 0. */
  liveSecond: Uint32Array;
  /** The moment of the touch whose sessions were last put in the order of their ids (`firstToEvict`). */
  orderedMs: number;
}

export const ENTRY_IS_VIEW = 1;
export const EXIT_IS_VIEW = 2;
export const ENDED = 4;
export const MIXED = 8;
export const NAMED = 16;

export function createSessionTable(): SessionTable {
  const capacity = FIRST_CAPACITY;
  return {
    capacity,
    used: 1,
    count: 0,
    firstFree: 0,
    startMs: new Float64Array(capacity),
    endMs: new Float64Array(capacity),
    touchedMs: new Float64Array(capacity),
    entryMs: new Float64Array(capacity),
    exitMs: new Float64Array(capacity),
    ids: new Uint8Array(capacity * ID_BYTES),
    devices: new Uint8Array(capacity * ID_BYTES),
    version: new Uint32Array(capacity),
    screenViews: new Uint32Array(capacity),
    otherEvents: new Uint32Array(capacity),
    site: new Uint32Array(capacity),
    profile: new Uint32Array(capacity),
    visitor: new Float64Array(capacity),
    entryPage: new Uint32Array(capacity),
    exitPage: new Uint32Array(capacity),
    source: new Uint32Array(capacity),
    environment: new Uint32Array(capacity),
    flags: new Uint8Array(capacity),
    nextInBucket: new Uint32Array(capacity),
    older: new Uint32Array(capacity),
    newer: new Uint32Array(capacity),
    changedPlace: new Uint32Array(capacity),
    liveSecond: new Uint32Array(capacity),
    orderedMs: 0,
  };
}

/** Takes a free slot, with all numbers zero, and puts it at the fresh end of the touch list. */
export function takeSlot(table: SessionTable): number {
  const slot = table.firstFree === 0 ? table.used : table.firstFree;
  if (slot === table.used) {
    if (table.used === table.capacity) grow(table);
    table.used += 1;
  } else {
    table.firstFree = table.nextInBucket[slot] ?? 0;
    table.nextInBucket[slot] = 0;
  }
  table.count += 1;
  linkNewest(table, slot);
  return slot;
}

/** Frees a slot and zeroes its numbers. */
export function freeSlot(table: SessionTable, slot: number): void {
  assert(slot > 0 && slot < table.used, 'a slot that was never taken is freed');
  unlink(table, slot);
  for (const column of numberColumns(table)) column[slot] = 0;
  table.ids.fill(0, slot * ID_BYTES, (slot + 1) * ID_BYTES);
  table.devices.fill(0, slot * ID_BYTES, (slot + 1) * ID_BYTES);
  table.nextInBucket[slot] = table.firstFree;
  table.firstFree = slot;
  table.count -= 1;
}

/** Marks a session as the most recently touched one. */
export function touch(table: SessionTable, slot: number, clockMs: number): void {
  table.touchedMs[slot] = clockMs;
  if (table.older[0] === slot) return; // Slot 0's `older` is the newest session.
  unlink(table, slot);
  linkNewest(table, slot);
}

/** The least recently touched session; 0 without any. */
export function oldestSlot(table: SessionTable): number {
  return table.newer[0] ?? 0;
}

/**
 * The session to evict next, 0 without any: the least recently touched one, and among sessions of one moment the one
 * with the smallest id. A restored table knows no other order within a moment, so a flush repeated after a restart has
 * its rows in the order of the first attempt.
 */
export function firstToEvict(table: SessionTable): number {
  const first = oldestSlot(table);
  const momentMs = table.touchedMs[first] ?? 0;
  if (first === 0 || momentMs === table.orderedMs) return first;
  table.orderedMs = momentMs;
  const slots: number[] = [];
  let next = first;
  for (; next !== 0 && table.touchedMs[next] === momentMs; next = table.newer[next] ?? 0) slots.push(next);
  slots.sort((one, other) => compareIds(table.ids, one, other));
  let older = 0;
  for (const slot of [...slots, next]) {
    table.newer[older] = slot;
    table.older[slot] = older;
    older = slot;
  }
  return slots[0] ?? 0;
}

/**
 * Puts all sessions in the order of their last touch, and sessions of one moment in the order of their ids, so that it does not depend on
 * the order in which they came.
 */
export function orderByTouch(table: SessionTable): void {
  const { touchedMs, ids } = table;
  const slots = new Uint32Array(table.count);
  let count = 0;
  for (let slot = table.newer[0] ?? 0; slot !== 0; slot = table.newer[slot] ?? 0) {
    slots[count] = slot;
    count += 1;
  }
  slots.sort((one, other) => (touchedMs[one] ?? 0) - (touchedMs[other] ?? 0) || compareIds(ids, one, other));
  table.older[0] = 0;
  table.newer[0] = 0;
  for (const slot of slots) linkNewest(table, slot);
}

function compareIds(ids: Uint8Array, one: number, other: number): number {
  for (let index = 0; index < ID_BYTES; index += 1) {
    const apart = (ids[one * ID_BYTES + index] ?? 0) - (ids[other * ID_BYTES + index] ?? 0);
    if (apart !== 0) return apart;
  }
  return 0;
}

function linkNewest(table: SessionTable, slot: number): void {
  const newest = table.older[0] ?? 0;
  table.older[slot] = newest;
  table.newer[slot] = 0;
  table.newer[newest] = slot;
  table.older[0] = slot;
}

function unlink(table: SessionTable, slot: number): void {
  const older = table.older[slot] ?? 0;
  const newer = table.newer[slot] ?? 0;
  table.newer[older] = newer;
  table.older[newer] = older;
}

function grow(table: SessionTable): void {
  const capacity = table.capacity + GROWTH;
  table.startMs = grown(table.startMs, capacity);
  table.endMs = grown(table.endMs, capacity);
  table.touchedMs = grown(table.touchedMs, capacity);
  table.entryMs = grown(table.entryMs, capacity);
  table.exitMs = grown(table.exitMs, capacity);
  table.ids = grown(table.ids, capacity, ID_BYTES);
  table.devices = grown(table.devices, capacity, ID_BYTES);
  table.version = grown(table.version, capacity);
  table.screenViews = grown(table.screenViews, capacity);
  table.otherEvents = grown(table.otherEvents, capacity);
  table.site = grown(table.site, capacity);
  table.profile = grown(table.profile, capacity);
  table.visitor = grown(table.visitor, capacity);
  table.entryPage = grown(table.entryPage, capacity);
  table.exitPage = grown(table.exitPage, capacity);
  table.source = grown(table.source, capacity);
  table.environment = grown(table.environment, capacity);
  table.flags = grown(table.flags, capacity);
  table.nextInBucket = grown(table.nextInBucket, capacity);
  table.older = grown(table.older, capacity);
  table.newer = grown(table.newer, capacity);
  table.changedPlace = grown(table.changedPlace, capacity);
  table.liveSecond = grown(table.liveSecond, capacity);
  table.capacity = capacity;
}

function numberColumns(table: SessionTable): readonly Column[] {
  return [
    table.startMs,
    table.endMs,
    table.touchedMs,
    table.entryMs,
    table.exitMs,
    table.version,
    table.screenViews,
    table.otherEvents,
    table.site,
    table.profile,
    table.visitor,
    table.entryPage,
    table.exitPage,
    table.source,
    table.environment,
    table.flags,
    table.nextInBucket,
    table.older,
    table.newer,
    table.changedPlace,
    table.liveSecond,
  ];
}
