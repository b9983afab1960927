import { COLUMN_TYPES, EVENTS_COLUMNS, SESSIONS_COLUMNS } from '../rows.ts';

/** A row as the store would return it: texts, numbers, bigints for 64 bits, and its own bytes. */
export interface StoredRow {
  readonly values: Readonly<Record<string, unknown>>;
  readonly bytes: Buffer;
}

/** Reads RowBinary rows with a decoder of its own, which shares only the column lists with the writer. */
export function readRows(table: 'events' | 'sessions', bytes: Uint8Array): StoredRow[] {
  const columns: readonly string[] = table === 'events' ? EVENTS_COLUMNS : SESSIONS_COLUMNS;
  const reader = new RowReader(bytes);
  const rows: StoredRow[] = [];
  while (reader.offset < bytes.length) {
    const start = reader.offset;
    const values: Record<string, unknown> = {};
    for (const column of columns) {
      const type = table === 'sessions' && column === 'revenue' ? 'Map(String, Int64)' : COLUMN_TYPES[column];
      values[column] = reader.value(type ?? 'String');
    }
    rows.push({ values, bytes: Buffer.from(bytes.subarray(start, reader.offset)) });
  }
  return rows;
}

class RowReader {
  readonly #bytes: Buffer;
  offset = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  value(type: string): unknown {
    if (type.startsWith('DateTime64')) return Number(this.#bytes.readBigInt64LE(this.#pass(8)));
    switch (type) {
      case 'Int8':
        return this.#bytes.readInt8(this.#pass(1));
      case 'UInt8':
        return this.#bytes.readUInt8(this.#pass(1));
      case 'UInt16':
        return this.#bytes.readUInt16LE(this.#pass(2));
      case 'UInt32':
        return this.#bytes.readUInt32LE(this.#pass(4));
      case 'Int64':
        return this.#bytes.readBigInt64LE(this.#pass(8));
      case 'Float32':
        return this.#bytes.readFloatLE(this.#pass(4));
      case 'FixedString(16)': {
        const start = this.#pass(16);
        return this.#bytes.toString('hex', start, start + 16);
      }
      case 'String':
        return this.#text();
      case 'Array(String)':
        return Array.from({ length: this.#length() }, () => this.#text());
      case 'Map(String, String)':
        return Array.from({ length: this.#length() }, () => [this.#text(), this.#text()]);
      case 'Map(String, Int64)':
        return Array.from({ length: this.#length() }, () => [
          this.#text(),
          this.#bytes.readBigInt64LE(this.#pass(8)),
        ]);
      default:
        throw new Error(`no decoder for ${type}`);
    }
  }

  #pass(bytes: number): number {
    const start = this.offset;
    this.offset += bytes;
    return start;
  }

  #text(): string {
    const length = this.#length();
    const start = this.#pass(length);
    return this.#bytes.toString('utf8', start, start + length);
  }

  #length(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#bytes.readUInt8(this.#pass(1));
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }
}
