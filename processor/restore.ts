import { must } from '../infra/assert.ts';
import { countersOf, seeDeviceOf, visitorHash } from './counting.ts';
import { hold, runOf } from './interned.ts';
import type { PartitionState } from './partition.ts';
import { ENTRY_IS_VIEW, EXIT_IS_VIEW, takeSlot } from './session-table.ts';
import { minuteAt } from './site-counters.ts';

/** A recorded event id, as the store has it. */
export interface StoredEventId {
  readonly projectId: string;
  readonly eventId: string;
  readonly sessionId: string;
  readonly atMs: number;
}

/** One minute of one site, as the store has it. Revenue: pairs of currency and minor units as decimal text. */
export interface StoredMinute {
  readonly projectId: string;
  readonly minuteMs: number;
  readonly screenViews: number;
  readonly otherEvents: number;
  readonly sessions: number;
  readonly bounces: number;
  readonly durationMs: number;
  readonly revenue: readonly (readonly [currency: string, minorUnits: string])[];
  readonly visitors: readonly string[];
}

/**
 * Puts stored sessions back, oldest touch first: RowBinary rows with the columns of `SESSIONS_COLUMNS`. Returns how
 * many bytes were complete rows; the rest belongs to the next call.
 */
export function restoreSessions(state: PartitionState, bytes: Buffer): number {
  const row = new StoredSession(bytes);
  while (row.next()) restoreSession(state, row);
  return row.consumed;
}

/** Puts recorded event ids back, oldest first. */
export function restoreEventIds(state: PartitionState, ids: readonly StoredEventId[]): void {
  for (const { projectId, eventId, sessionId, atMs } of ids) {
    state.eventIds.set(`${runOf(projectId)}\n${runOf(eventId)}`, { atMs, sessionId });
  }
}

/** Puts counted minutes back. */
export function restoreMinutes(state: PartitionState, minutes: readonly StoredMinute[]): void {
  for (const stored of minutes) {
    const minute = minuteAt(countersOf(state, runOf(stored.projectId)), stored.minuteMs, state.clockMs);
    if (minute === undefined) continue;
    minute.screenViews += stored.screenViews;
    minute.otherEvents += stored.otherEvents;
    minute.sessions += stored.sessions;
    minute.bounces += stored.bounces;
    minute.durationMs += stored.durationMs;
    for (const [currency, minorUnits] of stored.revenue) {
      const key = runOf(currency);
      minute.revenue.set(key, (minute.revenue.get(key) ?? 0n) + BigInt(minorUnits));
    }
    for (const visitor of stored.visitors) {
      const bytes = Buffer.from(visitor, 'utf8');
      const hash = visitorHash(bytes, 0, bytes.length);
      if (hash !== 0 && minute.visitors.add(hash)) state.minuteVisitors += 1;
    }
  }
}

function restoreSession(state: PartitionState, row: StoredSession): void {
  const { sessions } = state;
  const slot = takeSlot(sessions);
  const known = state.slotByDevice.get(row.deviceKey);
  const key =
    known === undefined ? row.deviceKey : must(sessions.deviceKeys[known], 'a device without a key');
  sessions.deviceKeys[slot] = key;
  sessions.nextOfDevice[slot] = known ?? 0;
  state.slotByDevice.set(key, slot);
  sessions.version[slot] = row.version;
  sessions.site[slot] = state.sites.idByText.get(row.site) ?? hold(state.sites, row.site);
  sessions.ids.set(row.id, slot * 16);
  sessions.profile[slot] = hold(state.profiles, row.profile);
  sessions.startMs[slot] = row.startMs;
  sessions.endMs[slot] = row.endMs;
  sessions.touchedMs[slot] = row.touchedMs;
  sessions.screenViews[slot] = row.screenViews;
  sessions.otherEvents[slot] = row.otherEvents;
  if (row.revenue.size > 0) state.revenueBySlot.set(slot, row.revenue);
  sessions.entryMs[slot] = row.entryMs;
  sessions.exitMs[slot] = row.exitMs;
  sessions.flags[slot] = (row.entryIsView ? ENTRY_IS_VIEW : 0) | (row.exitIsView ? EXIT_IS_VIEW : 0);
  sessions.exitPage[slot] = hold(state.pages, row.exitPage);
  sessions.entryPage[slot] = hold(state.pages, row.entryPage);
  sessions.source[slot] = hold(state.sources, row.source);
  sessions.setting[slot] = hold(state.settings, row.setting);
  seeDeviceOf(state, countersOf(state, row.site), slot, row.endMs);
}

/** Reads stored session rows one after the other; the fields are those of the row that `next` read last. */
class StoredSession {
  readonly #bytes: Buffer;
  #offset = 0;
  /** Bytes of the rows read so far. */
  consumed = 0;
  version = 0;
  site = '';
  deviceKey = '';
  id: Uint8Array = new Uint8Array(16);
  profile = '';
  startMs = 0;
  endMs = 0;
  touchedMs = 0;
  screenViews = 0;
  otherEvents = 0;
  revenue = new Map<string, bigint>();
  entryMs = 0;
  exitMs = 0;
  entryIsView = false;
  exitIsView = false;
  exitPage = '';
  entryPage = '';
  source = '';
  setting = '';

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Reads the next row; false when no complete one is left. */
  next(): boolean {
    this.#offset = this.consumed;
    try {
      this.#read();
    } catch (error) {
      // Node says a read past the end this way: the rest of the row is in the next piece.
      if (error instanceof RangeError) return false;
      throw error;
    }
    this.consumed = this.#offset;
    return true;
  }

  #read(): void {
    this.#take(1);
    this.version = this.#bytes.readUInt32LE(this.#take(4));
    this.#take(2 + 4);
    const keyStart = this.#offset;
    this.site = this.#text();
    this.#text();
    this.deviceKey = this.#bytes.toString('latin1', keyStart, this.#offset);
    const id = this.#take(16);
    this.id = Uint8Array.prototype.slice.call(this.#bytes, id, id + 16);
    this.profile = this.#text();
    this.startMs = this.#time();
    this.endMs = this.#time();
    this.touchedMs = this.#time();
    this.screenViews = this.#bytes.readUInt32LE(this.#take(4));
    this.otherEvents = this.#bytes.readUInt32LE(this.#take(4));
    this.revenue = new Map();
    for (let left = this.#varint(); left > 0; left -= 1) {
      const currency = this.#text();
      this.revenue.set(currency, this.#bytes.readBigInt64LE(this.#take(8)));
    }
    this.entryMs = this.#time();
    this.exitMs = this.#time();
    this.entryIsView = this.#bytes.readUInt8(this.#take(1)) === 1;
    this.exitIsView = this.#bytes.readUInt8(this.#take(1)) === 1;
    this.exitPage = this.#run('ss');
    this.entryPage = this.#run('ss');
    this.source = this.#run('sssssssss');
    this.setting = this.#run('sss8sssssss');
  }

  /** Passes over `bytes`; returns where they began. Throws a RangeError past the end. */
  #take(bytes: number): number {
    const start = this.#offset;
    this.#offset += bytes;
    if (this.#offset > this.#bytes.length) throw new RangeError('the row goes on in the next piece');
    return start;
  }

  #run(columns: string): string {
    const start = this.#offset;
    for (const column of columns) {
      if (column === '8') this.#take(8);
      else this.#take(this.#varint());
    }
    return this.#bytes.toString('latin1', start, this.#offset);
  }

  #text(): string {
    const length = this.#varint();
    const start = this.#take(length);
    return this.#bytes.toString('latin1', start, start + length);
  }

  #time(): number {
    const start = this.#take(8);
    return this.#bytes.readInt32LE(start + 4) * 4_294_967_296 + this.#bytes.readUInt32LE(start);
  }

  #varint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#bytes.readUInt8(this.#take(1));
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }
}
