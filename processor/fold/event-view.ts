import type { StoredId } from '../../infra/accounts/ids.ts';
import { DecodeError } from '../../infra/bus/decode-error.ts';
import type { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { EVENT_HEADER_BYTES, isTime, type LaneSpread, laneOf, routingKeyOf } from '../../ingest/event.ts';

// The columns of a row between the offsets that the fold needs: `s` is a text, `8` a fixed run of eight bytes.
const COLUMNS_CURRENCY_TO_DATES = 'sss88';
const COLUMNS_PAGE = 'ss';
const COLUMNS_QUERY_TO_TITLE = 'sss';
const COLUMNS_SOURCE = 'sssssssss';
const COLUMNS_SETTING = 'sss8ssssssssss';

/**
 * One event inside a message: its numbers, and the offsets of its texts in `bytes`. One view is reused for every event,
 * so reading allocates nothing.
 */
export class EventView {
  bytes: Buffer = Buffer.alloc(0);
  flags = 0;
  occurredAtMs = 0;
  receivedAtMs = 0;
  /** The 16 bytes of the session id that was answered. */
  hintStart = 0;
  rowStart = 0;
  rowEnd = 0;
  /** Project id and device id follow each other from the row's start on, each after its length. */
  projectStart = 0;
  projectEnd = 0;
  deviceStart = 0;
  deviceEnd = 0;
  profileStart = 0;
  profileEnd = 0;
  eventIdStart = 0;
  eventIdEnd = 0;
  revenueStart = 0;
  currencyStart = 0;
  currencyEnd = 0;
  pageStart = 0;
  pageEnd = 0;
  sourceStart = 0;
  environmentStart = 0;
  environmentEnd = 0;

  #offset = 0;
  #limit = 0;

  /**
   * Reads the event whose length is at `offset`; returns the offset after it. It walks the whole row, so the store can read every row that
   * passes.
   * @throws {DecodeError} for anything else
   */
  read(bytes: Buffer, offset: number): number {
    if (offset + 4 + EVENT_HEADER_BYTES > bytes.length) throw new DecodeError('an event is cut off');
    const end = offset + 4 + bytes.readUInt32LE(offset);
    if (end > bytes.length) throw new DecodeError('an event is longer than its message');
    this.bytes = bytes;
    this.flags = bytes.readUInt8(offset + 4);
    this.occurredAtMs = bytes.readDoubleLE(offset + 5);
    this.receivedAtMs = bytes.readDoubleLE(offset + 13);
    this.hintStart = offset + 21;
    this.rowStart = offset + 4 + EVENT_HEADER_BYTES;
    this.rowEnd = end;
    this.#offset = this.rowStart;
    this.#limit = end;
    this.#readIdentity();
    this.pageStart = this.#offset;
    this.#skip(COLUMNS_PAGE);
    this.pageEnd = this.#offset;
    this.#skip(COLUMNS_QUERY_TO_TITLE);
    this.sourceStart = this.#offset;
    this.#skip(COLUMNS_SOURCE);
    this.environmentStart = this.#offset;
    this.#skip(COLUMNS_SETTING);
    this.environmentEnd = this.#offset;
    this.#skipTexts(this.#varint());
    this.#skipTexts(2 * this.#varint());
    this.#skip('ss');
    if (this.#offset !== end) throw new DecodeError('an event has bytes behind its row');
    return end;
  }

  /** The environment as bytes of a row, one code unit each. */
  environment(): string {
    return this.bytes.toString('latin1', this.environmentStart, this.environmentEnd);
  }

  /** Writes the row with all columns of `EVENT_COLUMNS`. */
  writeRow(writer: RowBinaryWriter): void {
    writer.raw(this.bytes, this.rowStart, this.rowEnd);
  }

  #readIdentity(): void {
    this.projectEnd = this.#text();
    this.projectStart = this.projectEnd - this.#textBytes;
    this.deviceEnd = this.#text();
    this.deviceStart = this.deviceEnd - this.#textBytes;
    this.profileEnd = this.#text();
    this.profileStart = this.profileEnd - this.#textBytes;
    this.eventIdEnd = this.#text();
    this.eventIdStart = this.eventIdEnd - this.#textBytes;
    this.revenueStart = this.#offset;
    this.#skip('8');
    this.currencyEnd = this.#text();
    this.currencyStart = this.currencyEnd - this.#textBytes;
    this.#skip(COLUMNS_CURRENCY_TO_DATES.slice(1));
    if (!isTime(this.occurredAtMs) || !isTime(this.receivedAtMs))
      throw new DecodeError('an event has no time');
  }

  #textBytes = 0;

  /** Passes over one text; returns its end and leaves its length in `#textBytes`. */
  #text(): number {
    const length = this.#varint();
    this.#textBytes = length;
    this.#offset += length;
    if (this.#offset > this.#limit) throw new DecodeError('a text is longer than its event');
    return this.#offset;
  }

  #skip(columns: string): void {
    for (let index = 0; index < columns.length; index += 1) {
      if (columns.charCodeAt(index) === 0x38) this.#offset += 8;
      else this.#text();
    }
    if (this.#offset > this.#limit) throw new DecodeError('a row is longer than its event');
  }

  #skipTexts(count: number): void {
    for (let index = 0; index < count; index += 1) this.#text();
  }

  #varint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      if (this.#offset >= this.#limit) throw new DecodeError('a length is cut off');
      const byte = this.bytes[this.#offset] ?? 0;
      this.#offset += 1;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new DecodeError('a length has too many bytes');
  }
}

/** The site of the event. */
export function projectIdOf({ bytes, projectStart, projectEnd }: EventView): StoredId {
  return bytes.toString('utf8', projectStart, projectEnd) as StoredId;
}

/** The lane that the event goes to. */
export function laneOfView(view: EventView, spread: LaneSpread): number {
  const text = (start: number, end: number) => view.bytes.toString('utf8', start, end);
  const key = routingKeyOf({
    deviceId: text(view.deviceStart, view.deviceEnd),
    eventId: text(view.eventIdStart, view.eventIdEnd),
    profileId: text(view.profileStart, view.profileEnd),
  });
  return laneOf(projectIdOf(view), key, spread);
}
