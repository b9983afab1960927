import { must } from '../infra/assert.ts';
import { DecodeError } from '../infra/bus/decode-error.ts';
import { MINUTE_MS } from '../infra/durations.ts';
import { LOCALE_COLUMNS } from '../ingest/event.ts';
import { columnTypeOf, EVENTS_COLUMNS, type RowsTable, SESSIONS_COLUMNS } from './rows.ts';

/**
 * Rows of hot answers of version 1 (`hot.ts`), which lack `LOCALE_COLUMNS`; rows of sessions also lack `mixed` and `creditedAt`. Processes
 * of two releases send each other this RowBinary while they run side by side.
 */
const MISSING: ReadonlySet<string> = new Set([...LOCALE_COLUMNS, 'mixed', 'creditedAt']);
const EMPTY_TEXT = Uint8Array.of(0);

/** Rows of today as rows of version 1. */
export function rowsOfVersion1(table: RowsTable, rows: Uint8Array): Buffer {
  const walk = new RowWalk(rows);
  const pieces: Uint8Array[] = [];
  let copied = 0;
  walk.each(table, (column, type) => {
    const start = walk.offset;
    walk.pass(type);
    if (!MISSING.has(column)) return;
    pieces.push(rows.subarray(copied, start));
    copied = walk.offset;
  });
  return Buffer.concat([...pieces, rows.subarray(copied)]);
}

/**
 * Rows of version 1 as rows of today. The missing values are unknown: the locale is empty, and a session with a profile may be mixed, as in
 * `schema/013_mixed_sessions.sql`.
 * @throws {DecodeError} unless the bytes are such rows
 */
export function rowsFromVersion1(table: RowsTable, rows: Uint8Array): Buffer {
  const walk = new RowWalk(rows);
  const pieces: Uint8Array[] = [];
  let copied = 0;
  let hasProfile = false;
  let touchedMs = 0n;
  const added = (column: string) => {
    if (column === 'mixed') return Uint8Array.of(hasProfile ? 1 : 0);
    return column === 'creditedAt' ? int64(hasProfile ? touchedMs + BigInt(MINUTE_MS) : 0n) : EMPTY_TEXT;
  };
  walk.each(table, (column, type) => {
    if (MISSING.has(column)) {
      pieces.push(rows.subarray(copied, walk.offset), added(column));
      copied = walk.offset;
      return;
    }
    const start = walk.offset;
    walk.pass(type);
    if (column === 'profileId') hasProfile = rows[start] !== 0;
    if (column === 'touchedAt') touchedMs = int64At(rows, start);
  });
  return Buffer.concat([...pieces, rows.subarray(copied)]);
}

function int64(value: bigint): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(value);
  return bytes;
}

function int64At(bytes: Uint8Array, offset: number): bigint {
  return new DataView(bytes.buffer, bytes.byteOffset).getBigInt64(offset, true);
}

/** Passes over RowBinary values. */
class RowWalk {
  readonly #bytes: Uint8Array;
  offset = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Calls `visit` for each column of each row; it passes over the value, if there is one. */
  each(table: RowsTable, visit: (column: string, type: string) => void): void {
    const columns: readonly string[] = table === 'events' ? EVENTS_COLUMNS : SESSIONS_COLUMNS;
    const types = columns.map((column) => [column, columnTypeOf(table, column)] as const);
    while (this.offset < this.#bytes.length) for (const [column, type] of types) visit(column, type);
  }

  /** @throws {DecodeError} past the end */
  pass(type: string): void {
    const { isRepeated, values } = shapeOf(type);
    for (let left = isRepeated ? this.#length() : 1; left > 0; left -= 1)
      for (const value of values) this.#skip(value === TEXT ? this.#length() : value);
  }

  #skip(bytes: number): void {
    this.offset += bytes;
    if (this.offset > this.#bytes.length) throw new DecodeError('hot answer: a row is cut off');
  }

  #length(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      this.#skip(1);
      const byte = this.#bytes[this.offset - 1] ?? 0;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new DecodeError('hot answer: a length has too many bytes');
  }
}

const TEXT = -1;

/** A value as the widths of its parts; a list or a map has the parts of each entry after their number. */
interface Shape {
  readonly isRepeated: boolean;
  readonly values: readonly number[];
}

const one = (...values: number[]): Shape => ({ isRepeated: false, values });
const many = (...values: number[]): Shape => ({ isRepeated: true, values });

const SHAPES: Readonly<Record<string, Shape>> = {
  Int8: one(1),
  UInt8: one(1),
  UInt16: one(2),
  UInt32: one(4),
  Int64: one(8),
  Float32: one(4),
  "DateTime64(3, 'UTC')": one(8),
  'FixedString(16)': one(16),
  String: one(TEXT),
  'Array(String)': many(TEXT),
  'Map(String, String)': many(TEXT, TEXT),
  'Map(String, Int64)': many(TEXT, 8),
};

function shapeOf(type: string): Shape {
  return must(SHAPES[type], `rows have no column of ${type}`);
}
