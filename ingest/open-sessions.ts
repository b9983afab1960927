import type { StoredId } from '../infra/accounts/ids.ts';
import { DecodeError } from '../infra/bus/decode-error.ts';
import type { LaneName } from '../infra/process/service-lanes.ts';
import type { DeviceId } from './event.ts';
import { isTime, SESSION_GAP_MS } from './event.ts';

/**
 * CONTRACT between the owner of a lane and the collectors, so that these know the devices with an open session without
 * asking. The owner sends numbered changes; a collector that misses one loads everything again, in pieces:
 *
 *     changes:     u8 version │ f64 incarnation │ f64 number │ f64 markMs │ u8 complete │ entries
 *     question:    u8 version │ f64 incarnation │ f64 number │ u32 piece
 *     piece:       u8 version │ f64 incarnation │ f64 number │ f64 markMs │ u8 complete │ u32 piece │ u32 pieces │ entries
 *     unavailable: u8 version
 *     entries:     u32 count  │ count × (u32 high, u32 low, u16 standing)
 *
 * `incarnation` is random for each life of an owner, and `number` counts its changes: a piece is the sum of them. A
 * question without a snapshot to continue has zeros. `markMs`: by the owner's clock; every event confirmed by the bus
 * until then is included. Not `complete`: a device without an entry may have a session after all. An entry replaces the
 * one before it. All numbers are little-endian.
 */
export const OPEN_SESSIONS_VERSION = 1;

/** Most devices that an owner lists, and that a collector knows of all owners. Others are asked for, as without a list. */
export const OPEN_DEVICES_MAX = 4_000_000;
/**
 * No event is stored later than this after its session was named, or the event's sender gets an error. A collector whose
 * publishing may take longer opens no session by itself.
 */
export const IN_FLIGHT_MAX_MS = 10_000;
/** A collector uses a list while its mark is at most this old by the collector's clock, … */
export const MARK_AGE_MAX_MS = 10_000;
/** … and at most this far ahead of it. So the clocks of a collector that uses the list and of the owner agree that well. */
export const MARK_AHEAD_MAX_MS = 2_000;

/** The device has no session that an event of now can join, and the id that is derived for now is free. */
export const STANDING_NONE = 0;
/** The owner has to be asked. Every greater standing is an open session's; `standingOfSlot` says which. */
export const STANDING_DOUBTFUL = 1;
const STANDING_OPEN_FIRST = 2;
/** Standings repeat after this many slots, which are 3.7 years. */
const SLOTS_MAX = 65_000;

const ENTRY_BYTES = 10;
const CHANGES_HEAD_BYTES = 1 + 8 + 8 + 8 + 1;
const QUESTION_BYTES = 1 + 8 + 8 + 4;
const PIECE_HEAD_BYTES = CHANGES_HEAD_BYTES + 4 + 4;

/** Numbered changes of an owner's list. */
export interface OpenSessionsChanges {
  readonly incarnation: number;
  /** Counted from 1. */
  readonly number: number;
  readonly markMs: number;
  readonly complete: boolean;
  readonly entries: OpenSessionsEntries;
}

/** One piece of a whole list, as of the changes with this number. */
export interface OpenSessionsPiece extends OpenSessionsChanges {
  readonly piece: number;
  readonly pieces: number;
}

/** Asks for a piece; `incarnation` and `number` name the list whose first pieces are there, or are 0. */
export interface OpenSessionsQuestion {
  readonly incarnation: number;
  readonly number: number;
  readonly piece: number;
}

/** The core NATS subject on which an owner sends changes. */
export function openSessionChangesSubjectOf(lane: LaneName): string {
  return `open-session-changes.${lane}`;
}

/** The core NATS subject on which an owner answers questions for the whole list. */
export function openSessionsSubjectOf(lane: LaneName): string {
  return `open-sessions.${lane}`;
}

/** The half hour of a time, counted since 1970. A part of a session's id (`sessionIdOf`). */
export function slotOf(ms: number): number {
  return Math.floor(ms / SESSION_GAP_MS);
}

/** The standing of a device whose session id is derived only from this slot. */
export function standingOfSlot(slot: number): number {
  return STANDING_OPEN_FIRST + (slot % SLOTS_MAX);
}

/** The slot of an open session's standing: the latest one up to the slot behind `nowMs`. */
export function slotOfStanding(standing: number, nowMs: number): number {
  const last = slotOf(nowMs) + 1;
  return last - ((last - (standing - STANDING_OPEN_FIRST)) % SLOTS_MAX);
}

/**
 * The 64-bit hash of a device of a site. One object is used for many devices, so that a hash allocates nothing. Two devices
 * with one hash share an entry: then a device's event is asked for needlessly, or opens a session beside an open one, or
 * continues a session of its own beyond the gap. It never joins a session of the other.
 */
export class DeviceHash {
  high = 0;
  low = 0;

  of(projectId: StoredId, deviceId: DeviceId): this {
    return this.ofRuns(runOf(projectId), runOf(deviceId));
  }

  /** The same for the UTF-8 bytes of both, one code unit each. */
  ofRuns(projectId: string, deviceId: string): this {
    let a = 0x243f_6a88;
    let b = 0x13198a2e;
    for (let index = 0; index < projectId.length; index += 1) {
      const byte = projectId.charCodeAt(index);
      a = Math.imul(a ^ byte, 0x9e37_79b1);
      b = Math.imul((b << 13) ^ (b >>> 19) ^ byte, 0x85eb_ca77);
    }
    // No byte: the end of the site.
    a = Math.imul(a ^ 0x100, 0x9e37_79b1);
    b = Math.imul((b << 13) ^ (b >>> 19) ^ 0x100, 0x85eb_ca77);
    for (let index = 0; index < deviceId.length; index += 1) {
      const byte = deviceId.charCodeAt(index);
      a = Math.imul(a ^ byte, 0x9e37_79b1);
      b = Math.imul((b << 13) ^ (b >>> 19) ^ byte, 0x85eb_ca77);
    }
    const first = mixed(a ^ deviceId.length);
    const second = mixed(b ^ first);
    this.high = (first + second) >>> 0;
    this.low = second >>> 0;
    return this;
  }
}

function mixed(value: number): number {
  const once = Math.imul(value ^ (value >>> 16), 0x7feb_352d);
  const twice = Math.imul(once ^ (once >>> 15), 0x846c_a68b);
  return twice ^ (twice >>> 16);
}

function runOf(text: string): string {
  for (let index = 0; index < text.length; index += 1)
    if (text.charCodeAt(index) > 0x7f) return Buffer.from(text, 'utf8').toString('latin1');
  return text;
}

/** A list of entries in the form in which it travels. */
export class OpenSessionsEntries {
  readonly #bytes: Buffer;

  /** `bytes` holds whole entries and nothing else. */
  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get count(): number {
    return this.#bytes.length / ENTRY_BYTES;
  }

  get bytes(): Uint8Array {
    return this.#bytes;
  }

  visit(visit: (high: number, low: number, standing: number) => void): void {
    const bytes = this.#bytes;
    for (let at = 0; at < bytes.length; at += ENTRY_BYTES)
      visit(bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4), bytes.readUInt16LE(at + 8));
  }

  /** The entries from one position up to, and not including, another. */
  slice(from: number, to: number): OpenSessionsEntries {
    return new OpenSessionsEntries(this.#bytes.subarray(from * ENTRY_BYTES, to * ENTRY_BYTES));
  }
}

/** Collects entries. */
export class OpenSessionsWriter {
  #bytes: Buffer;
  #length = 0;

  constructor(expected = 64) {
    this.#bytes = Buffer.allocUnsafe(Math.max(1, expected) * ENTRY_BYTES);
  }

  add(high: number, low: number, standing: number): void {
    if (this.#length === this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes, this.#bytes]);
    this.#bytes.writeUInt32LE(high, this.#length);
    this.#bytes.writeUInt32LE(low, this.#length + 4);
    this.#bytes.writeUInt16LE(standing, this.#length + 8);
    this.#length += ENTRY_BYTES;
  }

  /** The entries so far, in memory of their own. */
  take(): OpenSessionsEntries {
    return new OpenSessionsEntries(Uint8Array.from(this.#bytes.subarray(0, this.#length)));
  }
}

/** Most entries of one message of at most `bytesMax` bytes. */
export function entriesPerMessage(bytesMax: number): number {
  return Math.floor((bytesMax - PIECE_HEAD_BYTES - 4) / ENTRY_BYTES);
}

export function encodeOpenSessionsChanges(changes: OpenSessionsChanges): Uint8Array {
  return encode(changes, CHANGES_HEAD_BYTES);
}

export function encodeOpenSessionsPiece(piece: OpenSessionsPiece): Uint8Array {
  const bytes = encode(piece, PIECE_HEAD_BYTES);
  bytes.writeUInt32LE(piece.piece, CHANGES_HEAD_BYTES);
  bytes.writeUInt32LE(piece.pieces, CHANGES_HEAD_BYTES + 4);
  return bytes;
}

export function encodeOpenSessionsQuestion({ incarnation, number, piece }: OpenSessionsQuestion): Uint8Array {
  const bytes = Buffer.alloc(QUESTION_BYTES);
  bytes.writeUInt8(OPEN_SESSIONS_VERSION, 0);
  bytes.writeDoubleLE(incarnation, 1);
  bytes.writeDoubleLE(number, 9);
  bytes.writeUInt32LE(piece, 17);
  return bytes;
}

/** The owner cannot answer now. */
export function encodeOpenSessionsUnavailable(): Uint8Array {
  return Uint8Array.of(OPEN_SESSIONS_VERSION);
}

/** @throws {DecodeError} */
export function decodeOpenSessionsChanges(bytes: Uint8Array): OpenSessionsChanges {
  const view = viewOf(bytes, CHANGES_HEAD_BYTES + 4);
  return { ...headOf(view), entries: entriesAt(view, CHANGES_HEAD_BYTES) };
}

/**
 * Undefined when the owner is unavailable.
 * @throws {DecodeError}
 */
export function decodeOpenSessionsPiece(bytes: Uint8Array): OpenSessionsPiece | undefined {
  if (bytes.length === 1 && bytes[0] === OPEN_SESSIONS_VERSION) return undefined;
  const view = viewOf(bytes, PIECE_HEAD_BYTES + 4);
  const piece = view.readUInt32LE(CHANGES_HEAD_BYTES);
  const pieces = view.readUInt32LE(CHANGES_HEAD_BYTES + 4);
  if (piece >= pieces) throw new DecodeError('open sessions have a piece behind the last one');
  return { ...headOf(view), piece, pieces, entries: entriesAt(view, PIECE_HEAD_BYTES) };
}

/** @throws {DecodeError} */
export function decodeOpenSessionsQuestion(bytes: Uint8Array): OpenSessionsQuestion {
  const view = viewOf(bytes, QUESTION_BYTES);
  if (view.length !== QUESTION_BYTES) throw new DecodeError('open sessions have bytes behind their end');
  return {
    incarnation: countAt(view, 1, 0),
    number: countAt(view, 9, 0),
    piece: view.readUInt32LE(17),
  };
}

function encode(changes: OpenSessionsChanges, headBytes: number): Buffer {
  const { incarnation, number, markMs, complete, entries } = changes;
  const bytes = Buffer.allocUnsafe(headBytes + 4 + entries.bytes.length);
  bytes.writeUInt8(OPEN_SESSIONS_VERSION, 0);
  bytes.writeDoubleLE(incarnation, 1);
  bytes.writeDoubleLE(number, 9);
  bytes.writeDoubleLE(markMs, 17);
  bytes.writeUInt8(complete ? 1 : 0, 25);
  bytes.writeUInt32LE(entries.count, headBytes);
  bytes.set(entries.bytes, headBytes + 4);
  return bytes;
}

function viewOf(bytes: Uint8Array, bytesMin: number): Buffer {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view[0];
  if (version !== OPEN_SESSIONS_VERSION)
    throw new DecodeError(`open sessions have version ${version}`, 'version');
  if (view.length < bytesMin) throw new DecodeError('open sessions are cut off');
  return view;
}

function headOf(view: Buffer): Omit<OpenSessionsChanges, 'entries'> {
  const markMs = view.readDoubleLE(17);
  if (!isTime(markMs)) throw new DecodeError('open sessions have no mark');
  const complete = view.readUInt8(25) !== 0;
  return { incarnation: countAt(view, 1, 1), number: countAt(view, 9, 0), markMs, complete };
}

function countAt(view: Buffer, offset: number, min: number): number {
  const count = view.readDoubleLE(offset);
  if (!Number.isSafeInteger(count) || count < min) throw new DecodeError('open sessions have no number');
  return count;
}

function entriesAt(view: Buffer, offset: number): OpenSessionsEntries {
  const count = view.readUInt32LE(offset);
  const from = offset + 4;
  if (view.length !== from + count * ENTRY_BYTES)
    throw new DecodeError('open sessions have another length than their count says');
  return new OpenSessionsEntries(view.subarray(from));
}
