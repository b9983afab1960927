import { type FileHandle, open } from 'node:fs/promises';

const MAGIC = 'PAR1';
/** The length of the footer, and the mark. */
const TAIL_BYTES = 8;
const FOOTER_MAX_BYTES = 67_108_864;
/** The number of the field that says how many rows a file has, in `FileMetaData` of the format. */
const ROWS_FIELD = 3;

/** Kinds of values in Thrift's compact encoding. */
const KIND = {
  true: 1,
  false: 2,
  byte: 3,
  i16: 4,
  i32: 5,
  i64: 6,
  double: 7,
  binary: 8,
  list: 9,
  set: 10,
  map: 11,
  struct: 12,
};

/** The number of rows of a whole Parquet file, as its footer says; undefined for a file that was cut off, or is none. */
export async function parquetRows(path: string): Promise<number | undefined> {
  const file = await open(path, 'r');
  try {
    const footer = await footerOf(file);
    return footer === undefined ? undefined : new Footer(footer).rows();
  } catch (error) {
    if (error instanceof RangeError) return undefined; // It ends in the middle of a value.
    throw error;
  } finally {
    await file.close();
  }
}

async function footerOf(file: FileHandle): Promise<Buffer | undefined> {
  const { size } = await file.stat();
  if (size < TAIL_BYTES + MAGIC.length) return undefined;
  const tail = await bytesAt(file, size - TAIL_BYTES, TAIL_BYTES);
  const length = tail.readUInt32LE(0);
  if (tail.toString('latin1', 4) !== MAGIC || length > Math.min(size - TAIL_BYTES, FOOTER_MAX_BYTES))
    return undefined;
  return bytesAt(file, size - TAIL_BYTES - length, length);
}

async function bytesAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await file.read(bytes, 0, length, position);
  return bytes.subarray(0, bytesRead);
}

/** Reads one field of the footer and passes over those before it. Throws a `RangeError` behind its end. */
class Footer {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  rows(): number | undefined {
    for (let field = 0; ; ) {
      const head = this.#byte();
      if (head === 0) return undefined;
      const step = head >> 4;
      field = step === 0 ? Number(this.#signed()) : field + step;
      const kind = head & 15;
      if (field === ROWS_FIELD && kind === KIND.i64) return Number(this.#signed());
      this.#skip(kind);
    }
  }

  #skip(kind: number): void {
    switch (kind) {
      case KIND.true:
      case KIND.false:
        return;
      case KIND.byte:
        this.#at += 1;
        return;
      case KIND.i16:
      case KIND.i32:
      case KIND.i64:
        this.#varint();
        return;
      case KIND.double:
        this.#at += 8;
        return;
      case KIND.binary: {
        const length = Number(this.#varint());
        this.#at += length;
        return;
      }
      case KIND.list:
      case KIND.set:
        this.#skipList();
        return;
      case KIND.struct:
        this.#skipStruct();
        return;
      default:
        throw new RangeError('not a footer');
    }
  }

  #skipList(): void {
    const head = this.#byte();
    const size = head >> 4 === 15 ? Number(this.#varint()) : head >> 4;
    const kind = head & 15;
    for (let index = 0; index < size; index += 1) {
      // In a list a truth value takes a byte of its own.
      if (kind === KIND.true || kind === KIND.false) this.#at += 1;
      else this.#skip(kind);
    }
  }

  #skipStruct(): void {
    for (let head = this.#byte(); head !== 0; head = this.#byte()) {
      if (head >> 4 === 0) this.#varint();
      this.#skip(head & 15);
    }
  }

  #byte(): number {
    const byte = this.#bytes.readUInt8(this.#at);
    this.#at += 1;
    return byte;
  }

  #varint(): bigint {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  }

  #signed(): bigint {
    const value = this.#varint();
    return (value >> 1n) ^ -(value & 1n);
  }
}
