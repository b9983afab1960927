import { keyOfRuns } from './device-key.ts';
import { RowPieces } from './row-pieces.ts';

/** The revenue of a session without any. */
export const NO_REVENUE: Map<string, bigint> = new Map();
/** The texts of a page and of a source. */
const PAGE_TEXTS = 2;
const SOURCE_TEXTS = 9;
/** An environment: three texts, two coordinates of four bytes each, ten texts. */
const PLACE_TEXTS = 3;
const COORDINATES_BYTES = 8;
const SOFTWARE_TEXTS = 10;

/**
 * A stored session, as a reader of rows has read it last. Texts are runs of bytes (`interned.ts`); a page, a source and an
 * environment are runs of texts.
 */
export abstract class SessionFields {
  /** The buffer to which the offsets refer. */
  abstract readonly bytes: Buffer;
  version = 0;
  site = '';
  /** Start and end of its device's name, start of its id, and start and end of its profile. */
  deviceStart = 0;
  deviceEnd = 0;
  idStart = 0;
  profileStart = 0;
  profileEnd = 0;
  startMs = 0;
  endMs = 0;
  touchedMs = 0;
  screenViews = 0;
  otherEvents = 0;
  revenue = NO_REVENUE;
  entryMs = 0;
  exitMs = 0;
  entryIsView = false;
  exitIsView = false;
  ended = false;
  mixed = false;
  creditedMs = 0;
  exitPage = '';
  entryPage = '';
  source = '';
  environment = '';

  get profile(): string {
    return this.profileStart === this.profileEnd
      ? ''
      : this.bytes.toString('latin1', this.profileStart, this.profileEnd);
  }
}

/**
 * Reads stored session rows one after the other: RowBinary with the columns of `SESSIONS_COLUMNS`. The fields are from the row that `next`
 * read last.
 */
export class StoredSession extends SessionFields {
  readonly #rows = new RowPieces();
  readonly #readRow = () => this.#read();

  /** Adds rows. The first may have begun in the bytes before. */
  add(bytes: Buffer): void {
    this.#rows.add(bytes);
  }

  /** The buffer to which the row's offsets refer. */
  get bytes(): Buffer {
    return this.#rows.bytes;
  }

  /** The row that was read last. */
  get row(): Buffer {
    return this.#rows.row;
  }

  get device(): string {
    return this.bytes.toString('latin1', this.deviceStart, this.deviceEnd);
  }

  get deviceKey(): string {
    return keyOfRuns(this.site, this.device);
  }

  /** Reads the next row; false when no complete one is left. */
  next(): boolean {
    return this.#rows.next(this.#readRow);
  }

  #read(): void {
    const rows = this.#rows;
    rows.take(1);
    this.version = rows.u32();
    rows.take(2 + 4);
    this.site = rows.text();
    this.deviceStart = rows.skipText();
    this.deviceEnd = rows.offset;
    this.idStart = rows.take(16);
    this.profileStart = rows.skipText();
    this.profileEnd = rows.offset;
    this.startMs = rows.time();
    this.endMs = rows.time();
    this.touchedMs = rows.time();
    this.screenViews = rows.u32();
    this.otherEvents = rows.u32();
    this.revenue = this.#revenue();
    this.entryMs = rows.time();
    this.exitMs = rows.time();
    this.entryIsView = rows.u8() === 1;
    this.exitIsView = rows.u8() === 1;
    this.exitPage = this.#texts(PAGE_TEXTS);
    this.entryPage = this.#texts(PAGE_TEXTS);
    this.source = this.#texts(SOURCE_TEXTS);
    const start = rows.offset;
    this.#texts(PLACE_TEXTS, false);
    rows.take(COORDINATES_BYTES);
    this.#texts(SOFTWARE_TEXTS, false);
    this.environment = rows.bytes.toString('latin1', start, rows.offset);
    this.ended = rows.u8() === 1;
    this.mixed = rows.u8() === 1;
    this.creditedMs = rows.time();
  }

  #revenue(): Map<string, bigint> {
    const rows = this.#rows;
    const count = rows.varint();
    if (count === 0) return NO_REVENUE;
    const revenue = new Map<string, bigint>();
    for (let left = count; left > 0; left -= 1) {
      const currency = rows.text();
      revenue.set(currency, rows.bytes.readBigInt64LE(rows.take(8)));
    }
    return revenue;
  }

  /** Passes over texts; returns them with their lengths as one run of bytes, unless that is not wanted. */
  #texts(count: number, isWanted = true): string {
    const rows = this.#rows;
    const start = rows.offset;
    for (let left = count; left > 0; left -= 1) rows.skipText();
    return isWanted ? rows.bytes.toString('latin1', start, rows.offset) : '';
  }
}
