import { assert } from '../assert.ts';

const FIRST_BYTES = 4096;
const SHORT_TEXT = 48;

export interface RowBinaryWriterOptions {
  /** True: other threads may read the bytes, so a view of them can be sent without a copy. */
  readonly isShared?: boolean;
  /** Bytes to allocate at first. Growing copies everything. */
  readonly firstBytes?: number;
}

/**
 * Writes values one after the other as ClickHouse's RowBinary, which is also our own wire format: little-endian
 * numbers, texts with a varint length in front. The buffer doubles when it is full, up to `bytesMax`, and is reused;
 * writing allocates nothing.
 *
 * Written by hand, because @clickhouse/client has no RowBinary encoder.
 */
export class RowBinaryWriter {
  readonly #bytesMax: number;
  readonly #isShared: boolean;
  #bytes: Buffer;
  #length = 0;

  constructor(bytesMax: number, { isShared = false, firstBytes = FIRST_BYTES }: RowBinaryWriterOptions = {}) {
    this.#bytesMax = bytesMax;
    this.#isShared = isShared;
    this.#bytes = this.#allocated(Math.min(Math.max(FIRST_BYTES, firstBytes), bytesMax));
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#length;
  }

  /** Discards the content, not the memory. */
  reset(): void {
    this.#length = 0;
  }

  /** Discards everything after an earlier length. */
  truncate(length: number): void {
    assert(length <= this.#length, 'a writer cannot be truncated forwards');
    this.#length = length;
  }

  /** The content, valid until the next write or reset. */
  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** A copy of the content; the writer becomes empty. */
  take(): Buffer {
    const taken = Buffer.allocUnsafeSlow(this.#length);
    this.#bytes.copy(taken, 0, 0, this.#length);
    this.#length = 0;
    return taken;
  }

  u8(value: number): void {
    this.#room(1);
    this.#bytes[this.#length] = value;
    this.#length += 1;
  }

  u16(value: number): void {
    this.#room(2);
    this.#length = this.#bytes.writeUInt16LE(value, this.#length);
  }

  u32(value: number): void {
    this.#room(4);
    this.#length = this.#bytes.writeUInt32LE(value, this.#length);
  }

  /** An unsigned 64-bit number. */
  u64(value: bigint): void {
    this.#room(8);
    this.#length = this.#bytes.writeBigUInt64LE(value, this.#length);
  }

  /** A signed 64-bit number. */
  i64(value: bigint): void {
    this.#room(8);
    this.#length = this.#bytes.writeBigInt64LE(value, this.#length);
  }

  f32(value: number): void {
    this.#room(4);
    this.#length = this.#bytes.writeFloatLE(value, this.#length);
  }

  f64(value: number): void {
    this.#room(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
  }

  i8(value: number): void {
    this.u8(value & 0xff);
  }

  /** A DateTime64(3): whole milliseconds since 1970 as a signed 64-bit number. */
  dateTime64Ms(ms: number): void {
    this.#room(8);
    const high = Math.floor(ms / 4_294_967_296);
    // Two halves cost a third of a BigInt; both are exact for every time that a Date can represent.
    this.#bytes.writeUInt32LE(ms - high * 4_294_967_296, this.#length);
    this.#bytes.writeInt32LE(high, this.#length + 4);
    this.#length += 8;
  }

  /** A length, as LEB128. */
  varint(value: number): void {
    this.#room(5);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length] = (rest & 0x7f) | 0x80;
      this.#length += 1;
      rest >>>= 7;
    }
    this.#bytes[this.#length] = rest;
    this.#length += 1;
  }

  /** A text as UTF-8. The text must be well-formed; its reader ensures that. */
  string(text: string): void {
    const characters = text.length;
    if (characters < SHORT_TEXT) {
      // Most texts are short ASCII, for which copying here is cheaper than a call into the runtime.
      this.#room(1 + characters);
      const start = this.#length + 1;
      let index = 0;
      for (; index < characters; index += 1) {
        const code = text.charCodeAt(index);
        if (code > 0x7f) break;
        this.#bytes[start + index] = code;
      }
      if (index === characters) {
        this.#bytes[this.#length] = characters;
        this.#length = start + characters;
        return;
      }
    }
    const byteLength = Buffer.byteLength(text, 'utf8');
    this.varint(byteLength);
    this.#room(byteLength);
    this.#bytes.write(text, this.#length, byteLength, 'utf8');
    this.#length += byteLength;
  }

  /** Bytes unchanged, from `start` to `end` of `source`. */
  raw(source: Uint8Array, start = 0, end = source.length): void {
    this.#room(end - start);
    this.#bytes.set(
      start === 0 && end === source.length ? source : source.subarray(start, end),
      this.#length,
    );
    this.#length += end - start;
  }

  /** A text of code units up to 255 as one byte each, without a length: bytes that were stored as a text. */
  latin1(text: string): void {
    this.#room(text.length);
    this.#length += this.#bytes.write(text, this.#length, 'latin1');
  }

  /** Hexadecimal digits as the bytes that they represent. */
  hex(digits: string): void {
    this.#room(digits.length >> 1);
    const written = this.#bytes.write(digits, this.#length, 'hex');
    assert(written * 2 === digits.length, 'not hexadecimal digits');
    this.#length += written;
  }

  /** An Array(String). */
  stringArray(texts: readonly string[]): void {
    this.varint(texts.length);
    for (const text of texts) this.string(text);
  }

  /** A Map(String, String) from alternating keys and values. */
  stringMap(keysAndValues: readonly string[]): void {
    this.varint(keysAndValues.length >> 1);
    for (const text of keysAndValues) this.string(text);
  }

  /** Sets bits of a byte that has been written. */
  patchU8(offset: number, bits: number): void {
    assert(offset < this.#length, 'a patch must lie within what was written');
    this.#bytes[offset] = (this.#bytes[offset] ?? 0) | bits;
  }

  /** Overwrites four bytes that have been written. */
  patchU32(offset: number, value: number): void {
    assert(offset + 4 <= this.#length, 'a patch must lie within what was written');
    this.#bytes.writeUInt32LE(value, offset);
  }

  #room(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) return;
    assert(needed <= this.#bytesMax, `a buffer would grow over its ${this.#bytesMax} bytes`);
    const grown = this.#allocated(Math.min(this.#bytesMax, Math.max(needed, this.#bytes.length * 2)));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }

  #allocated(bytes: number): Buffer {
    return this.#isShared ? Buffer.from(new SharedArrayBuffer(bytes)) : Buffer.allocUnsafeSlow(bytes);
  }
}
