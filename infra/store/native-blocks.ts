/**
 * Reads ClickHouse's format `Native`: blocks of some thousand rows, each column by itself. A text of the type
 * `LowCardinality` is stored once in the dictionary of a block, and in each row as a small number.
 *
 *     block:      columns, rows (LEB128) | name, type, values | name, type, values | …
 *     dictionary: version, flags (UInt64) | number of keys (UInt64), keys | number of rows (UInt64), indexes
 */
export interface NativeBlock {
  readonly rows: number;
  /** The bytes that the places in the columns refer to. */
  readonly bytes: Buffer;
  /** The end of the block in `bytes`. */
  readonly end: number;
  readonly columns: ReadonlyMap<string, NativeColumn>;
}

export type NativeColumn = FixedColumn | TextColumn | DictionaryColumn | MapColumn;

/** Values of one size, one after the other. */
export interface FixedColumn {
  readonly kind: 'fixed';
  readonly start: number;
}

/** Texts, by where their bytes begin and end. */
export interface TextColumn {
  readonly kind: 'text';
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

/** Values as RowBinary has them, one code unit for each byte: texts with their lengths. */
export interface DictionaryColumn {
  readonly kind: 'dictionary';
  readonly keys: readonly string[];
  /** The index of each row's key. */
  readonly indexes: Uint8Array | Uint16Array | Uint32Array;
}

/** Maps of texts to Int64. `ends` says which of the keys and values are the last of each row. */
export interface MapColumn {
  readonly kind: 'map';
  readonly ends: Uint32Array;
  readonly keys: TextColumn;
  readonly valuesStart: number;
}

/** The size of a value in bytes, for the types with a fixed size; alike in `Native` and RowBinary. */
export const FIXED_BYTES: Readonly<Record<string, number>> = {
  Int8: 1,
  UInt8: 1,
  UInt16: 2,
  UInt32: 4,
  Float32: 4,
  Int64: 8,
  UInt64: 8,
  "DateTime64(3, 'UTC')": 8,
  'FixedString(16)': 16,
};
/** Version 1 of a dictionary, with its own keys and without a dictionary that several blocks share. */
const DICTIONARY_VERSION = 1;
const OWN_KEYS = 0x600;
const KEYS_MASK = 0xffffff00;

/**
 * Reads the block at `start`; undefined when its end is not among the bytes.
 * @throws {Error} it has a type or a form that is not read here
 */
export function readNativeBlock(bytes: Buffer, start: number): NativeBlock | undefined {
  const reader = new BlockReader(bytes, start);
  try {
    const columnCount = reader.varint();
    const rows = reader.varint();
    const columns = new Map<string, NativeColumn>();
    for (let left = columnCount; left > 0; left -= 1) {
      const name = reader.name();
      columns.set(name, reader.column(reader.name(), rows));
    }
    return { rows, bytes, end: reader.offset, columns };
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Every method advances past the bytes that it reads. @throws {RangeError} past the end */
class BlockReader {
  readonly #bytes: Buffer;
  offset: number;

  constructor(bytes: Buffer, start: number) {
    this.#bytes = bytes;
    this.offset = start;
  }

  column(type: string, rows: number): NativeColumn {
    const dictionary = /^LowCardinality\((\w+)\)$/.exec(type)?.[1];
    if (dictionary !== undefined) return this.#dictionary(dictionary, rows);
    if (type === 'String') return this.#texts(rows);
    if (type === 'Map(String, Int64)') return this.#maps(rows);
    return { kind: 'fixed', start: this.#take(sizeOf(type) * rows) };
  }

  name(): string {
    const length = this.varint();
    const start = this.#take(length);
    return this.#bytes.toString('latin1', start, start + length);
  }

  varint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#bytes[this.#take(1)] ?? 0;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }

  #texts(rows: number): TextColumn {
    const starts = new Uint32Array(rows);
    const ends = new Uint32Array(rows);
    for (let row = 0; row < rows; row += 1) {
      const length = this.varint();
      starts[row] = this.#take(length);
      ends[row] = this.offset;
    }
    return { kind: 'text', starts, ends };
  }

  #dictionary(type: string, rows: number): DictionaryColumn {
    // A column of a block without rows has nothing at all.
    if (rows === 0) return { kind: 'dictionary', keys: [], indexes: new Uint8Array(0) };
    const version = this.#count();
    const flags = this.#count();
    if (version !== DICTIONARY_VERSION || (flags & KEYS_MASK) >>> 0 !== OWN_KEYS)
      throw new Error(`a dictionary of version ${version} with flags ${flags} is not read`);
    const keys: string[] = [];
    for (let left = this.#count(); left > 0; left -= 1) {
      const start = this.offset;
      this.#take(type === 'String' ? this.varint() : sizeOf(type));
      keys.push(this.#bytes.toString('latin1', start, this.offset));
    }
    if (this.#count() !== rows) throw new Error('a dictionary is for another number of rows');
    return { kind: 'dictionary', keys, indexes: this.#indexes(flags & 0xff, rows) };
  }

  #indexes(width: number, rows: number): Uint8Array | Uint16Array | Uint32Array {
    if (width > 2) throw new Error('a dictionary has too many keys');
    const start = this.#take(rows << width);
    // A copy, because numbers of several bytes must begin at a multiple of their size.
    const copy = Uint8Array.from(this.#bytes.subarray(start, this.offset));
    if (width === 0) return copy;
    return width === 1 ? new Uint16Array(copy.buffer) : new Uint32Array(copy.buffer);
  }

  #maps(rows: number): MapColumn {
    const ends = new Uint32Array(rows);
    for (let row = 0; row < rows; row += 1) ends[row] = this.#count();
    const count = ends.at(-1) ?? 0;
    const keys = this.#texts(count);
    return { kind: 'map', ends, keys, valuesStart: this.#take(8 * count) };
  }

  /** A UInt64 below 2^32. */
  #count(): number {
    const start = this.#take(8);
    if (this.#bytes.readUInt32LE(start + 4) !== 0) throw new Error('a block is too large');
    return this.#bytes.readUInt32LE(start);
  }

  /** Passes over `length` bytes; returns where they began. */
  #take(length: number): number {
    const start = this.offset;
    if (start + length > this.#bytes.length) throw new RangeError('the block goes on in the next piece');
    this.offset = start + length;
    return start;
  }
}

function sizeOf(type: string): number {
  const bytes = FIXED_BYTES[type];
  if (bytes === undefined) throw new Error(`a column of the type ${type} is not read`);
  return bytes;
}
