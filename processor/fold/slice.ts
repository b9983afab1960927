import type { StoredId } from '../../infra/accounts/ids.ts';
import { FNV_OFFSET, FNV_PRIME, mixed } from '../../infra/hash/fnv.ts';
import type { DeviceId } from '../../ingest/event.ts';
import { type LaneSpread, laneOf } from '../../ingest/event.ts';
import { deviceKeyOf, nameIn } from './device-key.ts';
import type { EventView } from './event-view.ts';
import { runOf } from './interned.ts';

/**
 * A slice (`Slice`): the part of a lane's devices that a state holds.
 *
 *     device ──hash──▶ partition (one of `partitions`) ──▶ slice (one of `count`)
 *
 * A lane has a slice for each thread. Every slice folds every message, takes the events of its devices and moves its clock with all others,
 * so all slices of a lane agree on the clock and on the end of a flush.
 */
export interface Slice {
  /** From 0 on. */
  readonly index: number;
  readonly count: number;
  readonly partitions: number;
  /**
   * The lane for which the store is read: the rows may be of devices that belong to other lanes now. Undefined: all rows are the lane's.
   */
  readonly home?: Home | undefined;
}

/** A lane, and the number of lanes: from rows written while there were fewer lanes, it takes up the devices that are its own now. */
export interface Home extends LaneSpread {
  readonly lane: number;
}

/** The slice of a lane that is not divided. */
export const WHOLE_LANE: Slice = { index: 0, count: 1, partitions: 1 };

/** True if the event belongs to the slice: by its device; without one by its own id, so that a repeat meets the first. */
export function holdsEvent(slice: Slice, event: EventView): boolean {
  if (slice.count === 1) return true;
  const { bytes } = event;
  let hash = hashBytes(FNV_OFFSET, bytes, event.rowStart, event.deviceEnd);
  if (event.deviceStart === event.deviceEnd) {
    hash =
      event.eventIdStart === event.eventIdEnd
        ? hashBytes(hash, bytes, event.profileStart, event.profileEnd)
        : hashBytes(hash, bytes, event.eventIdStart, event.eventIdEnd);
  }
  return holds(slice, hash);
}

/**
 * True if the device of this key (`deviceKeyOf`) belongs to the slice; without a device, true if the event of this id does. The id is a run
 * of bytes.
 */
export function holdsDevice(slice: Slice, deviceKey: string, eventId = ''): boolean {
  if (slice.count === 1) return true;
  const hash = hashRun(FNV_OFFSET, deviceKey);
  return holds(slice, nameIn(deviceKey) === '' ? hashRun(hash, eventId) : hash);
}

/**
 * The same of bytes that begin with a site and a device, as a row has them; without a device, also of the bytes of the
 * event's id.
 */
export function holdsRow(
  slice: Slice,
  bytes: Uint8Array,
  start: number,
  deviceEnd: number,
  eventStart = 0,
  eventEnd = 0,
): boolean {
  if (slice.home !== undefined && !isHomeOfRow(slice.home, bytes, start, eventStart, eventEnd)) return false;
  if (slice.count === 1) return true;
  const hash = hashBytes(FNV_OFFSET, bytes, start, deviceEnd);
  return holds(slice, hashBytes(hash, bytes, eventStart, eventEnd));
}

/** The same of a device that has a name, from its site as a run with its length, and the bytes of its name. */
export function holdsDeviceAt(
  slice: Slice,
  site: string,
  bytes: Uint8Array,
  nameStart: number,
  nameEnd: number,
): boolean {
  if (
    slice.home !== undefined &&
    !isHomeOf(slice.home, textOfRun(site) as StoredId, textIn(bytes, nameStart, nameEnd))
  )
    return false;
  if (slice.count === 1) return true;
  let hash = hashRun(FNV_OFFSET, site);
  let length = nameEnd - nameStart;
  for (; length >= 0x80; length >>>= 7) hash = Math.imul(hash ^ ((length & 0x7f) | 0x80), FNV_PRIME);
  hash = Math.imul(hash ^ length, FNV_PRIME);
  return holds(slice, hashBytes(hash, bytes, nameStart, nameEnd));
}

/** True if an event with this device and this id would belong to the slice. */
export function holdsNamed(
  slice: Slice,
  {
    projectId,
    deviceId,
    eventId,
  }: { readonly projectId: StoredId; readonly deviceId: DeviceId; readonly eventId: string },
): boolean {
  return slice.count === 1 || holdsDevice(slice, deviceKeyOf(projectId, deviceId), runOf(eventId));
}

/** A row with neither a device nor an id counts by its content, so reading it twice counts once: every lane takes it. */
function isHomeOfRow(
  home: Home,
  bytes: Uint8Array,
  start: number,
  eventStart: number,
  eventEnd: number,
): boolean {
  const site = textAt(bytes, start);
  const key = textAt(bytes, site.end).text || textIn(bytes, eventStart, eventEnd);
  return key === '' || isHomeOf(home, site.text as StoredId, key);
}

function isHomeOf(home: Home, site: StoredId, key: string): boolean {
  return laneOf(site, key, home) === home.lane;
}

function holds({ index, count, partitions }: Slice, hash: number): boolean {
  return (mixed(hash) % partitions) % count === index;
}

// FNV-1a: short keys, no allocation, and an even spread.
function hashBytes(start: number, bytes: Uint8Array, from: number, to: number): number {
  let hash = start;
  for (let index = from; index < to; index += 1) hash = Math.imul(hash ^ (bytes[index] ?? 0), FNV_PRIME);
  return hash;
}

/** The same of a text of one code unit per byte. */
function hashRun(start: number, run: string): number {
  let hash = start;
  for (let index = 0; index < run.length; index += 1)
    hash = Math.imul(hash ^ run.charCodeAt(index), FNV_PRIME);
  return hash;
}

/** The text after its length, and its end. */
function textAt(bytes: Uint8Array, start: number): { readonly text: string; readonly end: number } {
  let from = start;
  let length = 0;
  for (let shift = 0, byte = 0x80; byte >= 0x80; shift += 7) {
    byte = bytes[from] ?? 0;
    length |= (byte & 0x7f) << shift;
    from += 1;
  }
  return { text: textIn(bytes, from, from + length), end: from + length };
}

function textIn(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8', start, end);
}

function textOfRun(run: string): string {
  return textAt(Buffer.from(run, 'latin1'), 0).text;
}
