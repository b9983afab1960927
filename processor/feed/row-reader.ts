import { COLUMN_TYPES, EVENTS_COLUMNS } from '../rows.ts';

const TEXT = -1;
const TEXTS = -2;
const PAIRS = -3;
const BYTES: Readonly<Record<string, number>> = {
  UInt16: 2,
  UInt32: 4,
  Int64: 8,
  Float32: 4,
  "DateTime64(3, 'UTC')": 8,
  'FixedString(16)': 16,
  String: TEXT,
  'Array(String)': TEXTS,
  'Map(String, String)': PAIRS,
};

/** Bytes of each column of an event's row; negative for columns with a length of their own. */
const WIDTHS: readonly number[] = EVENTS_COLUMNS.map((column) => {
  const width = BYTES[COLUMN_TYPES[column] ?? 'String'];
  if (width === undefined) throw new Error(`no reader for the column ${column}`);
  return width;
});

/** Reads RowBinary values one after the other. The rows are our own, so nothing is checked. */
export class RowReader {
  readonly bytes: Buffer;
  /** Offset of the next value. */
  offset = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  u16(): number {
    this.offset += 2;
    return this.bytes.readUInt16LE(this.offset - 2);
  }

  u32(): number {
    this.offset += 4;
    return this.bytes.readUInt32LE(this.offset - 4);
  }

  i64(): bigint {
    this.offset += 8;
    return this.bytes.readBigInt64LE(this.offset - 8);
  }

  f32(): number {
    this.offset += 4;
    return this.bytes.readFloatLE(this.offset - 4);
  }

  /** A DateTime64(3), in milliseconds since 1970. */
  timeMs(): number {
    this.offset += 8;
    const low = this.bytes.readUInt32LE(this.offset - 8);
    return this.bytes.readInt32LE(this.offset - 4) * 4_294_967_296 + low;
  }

  /** Sixteen bytes, as 32 hexadecimal digits. */
  id(): string {
    this.offset += 16;
    return this.bytes.toString('hex', this.offset - 16, this.offset);
  }

  text(): string {
    const length = this.length();
    if (length === 0) return '';
    this.offset += length;
    return this.bytes.toString('utf8', this.offset - length, this.offset);
  }

  texts(): string[] {
    return Array.from({ length: this.length() }, () => this.text());
  }

  /** A map, as keys with their values. */
  pairs(): [key: string, value: string][] {
    return Array.from({ length: this.length() }, () => [this.text(), this.text()]);
  }

  /** A length, as LEB128. */
  length(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.bytes[this.offset] ?? 0;
      this.offset += 1;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }

  /** Skips columns of an event's row, `to` not included. */
  skip(from: number, to: number): void {
    for (let column = from; column < to; column += 1) {
      const width = WIDTHS[column] ?? 0;
      if (width >= 0) this.offset += width;
      else if (width === TEXT) this.#skipTexts(1);
      else if (width === TEXTS) this.#skipTexts(this.length());
      else this.#skipTexts(2 * this.length());
    }
  }

  #skipTexts(count: number): void {
    for (let index = 0; index < count; index += 1) {
      const length = this.length();
      this.offset += length;
    }
  }
}
