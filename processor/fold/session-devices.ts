import { assert } from '../../infra/assert.ts';
import { type BucketTable, bucketOf, createBuckets, putFirst, splitBucket, takeOff } from './bucket-table.ts';
import { keyOfRuns, nameIn, siteIn } from './device-key.ts';
import { createInterned, type Interned, intern, release, textOf } from './interned.ts';
import { NAMED, type SessionTable } from './session-table.ts';

const ID_BYTES = 16;
/** The name of a device that a collector derives: 32 hexadecimal digits, which are random. */
const DIGITS = 32;

/**
 * Finds the retained sessions of a device. A device is its site and the 16 bytes that its name spells in hexadecimal,
 * both of which a session has anyway. Other names are rare and are numbered. So an entry takes 8 bytes instead of the
 * 150 of a text in a Map.
 */
export interface DeviceSessions {
  /** One for each session; linked in `SessionTable.nextInBucket`. */
  readonly buckets: BucketTable;
  /** Names of devices that are not 32 hexadecimal digits. */
  readonly names: Interned;
  /** The sought device: its site, its 16 bytes, and whether they are the number of a name. */
  readonly sought: { site: number; readonly bytes: Uint8Array; isNamed: boolean };
}

/** The parts of a slice's state that the functions below need. */
export interface SessionsByDevice {
  readonly sessions: SessionTable;
  readonly devices: DeviceSessions;
  readonly sites: Interned;
}

export function createDeviceSessions(): DeviceSessions {
  return {
    buckets: createBuckets(),
    names: createInterned(),
    sought: { site: 0, bytes: new Uint8Array(ID_BYTES), isNamed: false },
  };
}

/** The first session of the device with this key (`device-key.ts`); 0 when none is retained. */
export function firstOfDevice(state: SessionsByDevice, deviceKey: string): number {
  const site = state.sites.idByText.get(siteIn(deviceKey));
  return site === undefined || !seek(state.devices, site, nameIn(deviceKey)) ? 0 : firstSought(state);
}

/** For the device whose name is the bytes from `start` to `end`. */
export function firstOfDeviceAt(
  state: SessionsByDevice,
  site: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): number {
  const { devices } = state;
  if (readDigitsAt(bytes, start, end, devices.sought.bytes, 0)) {
    devices.sought.site = site;
    devices.sought.isNamed = false;
    return firstSought(state);
  }
  return seek(devices, site, latin1Of(bytes, start, end)) ? firstSought(state) : 0;
}

function firstSought({ sessions, devices }: SessionsByDevice): number {
  const { site, bytes, isNamed } = devices.sought;
  let slot = devices.buckets.heads[bucketOf(devices.buckets, hashOf(site, bytes, 0))] ?? 0;
  while (slot !== 0 && !isSought(sessions, slot, site, bytes, isNamed))
    slot = sessions.nextInBucket[slot] ?? 0;
  return slot;
}

/** The first session of the device that has the session in `slot`. */
export function firstBeside({ sessions, devices }: SessionsByDevice, slot: number): number {
  let first = devices.buckets.heads[bucketOf(devices.buckets, hashAt(sessions, slot))] ?? 0;
  while (first !== slot && !isSameDevice(sessions, first, slot)) first = sessions.nextInBucket[first] ?? 0;
  return first;
}

/** The next session of the same device; 0 after the last. */
export function nextOfDevice(sessions: SessionTable, slot: number): number {
  let next = sessions.nextInBucket[slot] ?? 0;
  while (next !== 0 && !isSameDevice(sessions, next, slot)) next = sessions.nextInBucket[next] ?? 0;
  return next;
}

/** Gives a session its site and its device, and makes it the device's first session. */
export function linkToDevice(state: SessionsByDevice, slot: number, site: number, deviceKey: string): void {
  const name = nameIn(deviceKey);
  const isDigits = readDigits(name, state.sessions.devices, slot * ID_BYTES);
  link(state, slot, site, isDigits ? undefined : name);
}

/** For a device whose name is the bytes from `start` to `end`. */
export function linkToDeviceAt(
  state: SessionsByDevice,
  slot: number,
  site: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): void {
  const isDigits = readDigitsAt(bytes, start, end, state.sessions.devices, slot * ID_BYTES);
  link(state, slot, site, isDigits ? undefined : latin1Of(bytes, start, end));
}

/** `name` is undefined where the slot has the digits of the name already. */
function link(
  { sessions, devices }: SessionsByDevice,
  slot: number,
  site: number,
  name: string | undefined,
): void {
  sessions.site[slot] = site;
  if (name !== undefined) {
    writeNumber(sessions.devices, slot * ID_BYTES, intern(devices.names, name));
    sessions.flags[slot] = (sessions.flags[slot] ?? 0) | NAMED;
  }
  putFirst(devices.buckets, sessions.nextInBucket, slot, hashAt(sessions, slot));
  if (sessions.count > devices.buckets.count)
    splitBucket(devices.buckets, sessions.nextInBucket, sessions, hashAt);
}

/** Takes a session off the list of its device, and frees the device's name. */
export function unlinkFromDevice({ sessions, devices }: SessionsByDevice, slot: number): void {
  const isOnList = takeOff(devices.buckets, sessions.nextInBucket, slot, hashAt(sessions, slot));
  assert(isOnList, 'a session is not on the list of its device');
  if (isNamedAt(sessions, slot)) release(devices.names, numberAt(sessions.devices, slot * ID_BYTES));
}

/** The name of a session's device, as a run of bytes. */
export function deviceNameAt({ sessions, devices }: SessionsByDevice, slot: number): string {
  const start = slot * ID_BYTES;
  if (isNamedAt(sessions, slot)) return textOf(devices.names, numberAt(sessions.devices, start));
  return Buffer.from(sessions.devices.buffer, start, ID_BYTES).toString('hex');
}

/** The key of a session's device. */
export function deviceKeyOfSlot(state: SessionsByDevice, slot: number): string {
  return keyOfRuns(textOf(state.sites, state.sessions.site[slot] ?? 0), deviceNameAt(state, slot));
}

/** True if there is no index entry at all, as required of a table without sessions. */
export function isEmptyIndex({ buckets, names }: DeviceSessions): boolean {
  return buckets.heads.every((slot) => slot === 0) && names.idByText.size === 0;
}

/** Notes the sought device; false when its name is unknown. */
function seek({ sought, names }: DeviceSessions, site: number, name: string): boolean {
  sought.site = site;
  sought.isNamed = !readDigits(name, sought.bytes, 0);
  if (!sought.isNamed) return true;
  const number = name === '' ? 0 : names.idByText.get(name);
  if (number === undefined) return false;
  writeNumber(sought.bytes, 0, number);
  return true;
}

function isSought(
  { site, devices, flags }: SessionTable,
  slot: number,
  soughtSite: number,
  bytes: Uint8Array,
  isNamed: boolean,
): boolean {
  return (
    site[slot] === soughtSite &&
    hasBytes(devices, slot * ID_BYTES, bytes, 0) &&
    ((flags[slot] ?? 0) & NAMED) === (isNamed ? NAMED : 0)
  );
}

function isSameDevice({ site, devices, flags }: SessionTable, one: number, other: number): boolean {
  return (
    site[one] === site[other] &&
    hasBytes(devices, one * ID_BYTES, devices, other * ID_BYTES) &&
    (((flags[one] ?? 0) ^ (flags[other] ?? 0)) & NAMED) === 0
  );
}

function isNamedAt({ flags }: SessionTable, slot: number): boolean {
  return ((flags[slot] ?? 0) & NAMED) !== 0;
}

function hasBytes(bytes: Uint8Array, start: number, others: Uint8Array, othersStart: number): boolean {
  for (let index = 0; index < ID_BYTES; index += 1) {
    if (bytes[start + index] !== others[othersStart + index]) return false;
  }
  return true;
}

function hashAt({ site, devices }: SessionTable, slot: number): number {
  return hashOf(site[slot] ?? 0, devices, slot * ID_BYTES);
}

/** It needs no key: collectors derive names with a secret, so outsiders cannot choose names of one bucket. */
function hashOf(site: number, bytes: Uint8Array, start: number): number {
  let hash = Math.imul(site, 0x9e3779b1);
  for (let offset = start; offset < start + ID_BYTES; offset += 4) {
    hash = Math.imul(hash ^ numberAt(bytes, offset), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2ae35);
  }
  return (hash ^ (hash >>> 16)) >>> 0;
}

function numberAt(bytes: Uint8Array, start: number): number {
  const low = (bytes[start] ?? 0) | ((bytes[start + 1] ?? 0) << 8);
  return (low | ((bytes[start + 2] ?? 0) << 16) | ((bytes[start + 3] ?? 0) << 24)) >>> 0;
}

function writeNumber(bytes: Uint8Array, start: number, number: number): void {
  bytes.fill(0, start, start + ID_BYTES);
  for (let index = 0; index < 4; index += 1) bytes[start + index] = number >>> (8 * index);
}

/** Writes the bytes for which a name has the digits; false when it is another name, and then the written bytes mean nothing. */
function readDigits(name: string, bytes: Uint8Array, start: number): boolean {
  if (name.length !== DIGITS) return false;
  for (let index = 0; index < ID_BYTES; index += 1) {
    const high = digitOf(name.charCodeAt(2 * index));
    const low = digitOf(name.charCodeAt(2 * index + 1));
    if (high < 0 || low < 0) return false;
    bytes[start + index] = (high << 4) | low;
  }
  return true;
}

/** The same of a name that is the bytes from `start` to `end`. */
function readDigitsAt(
  name: Uint8Array,
  start: number,
  end: number,
  bytes: Uint8Array,
  bytesStart: number,
): boolean {
  if (end - start !== DIGITS) return false;
  for (let index = 0; index < ID_BYTES; index += 1) {
    const high = digitOf(name[start + 2 * index] ?? 0);
    const low = digitOf(name[start + 2 * index + 1] ?? 0);
    if (high < 0 || low < 0) return false;
    bytes[bytesStart + index] = (high << 4) | low;
  }
  return true;
}

function latin1Of(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}

/** The value of a hexadecimal digit as our hashes have them; -1 for anything else. */
function digitOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  return code >= 0x61 && code <= 0x66 ? code - 0x57 : -1;
}
