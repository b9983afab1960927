/**
 * Reads RowBinary from a piece that may end within a row. Every method skips the value that it reads.
 * @throws {RangeError} past the end, as every method: the rest is in the next piece
 */
export class RowPieces {
  #bytes: Buffer = Buffer.alloc(0);
  #offset = 0;
  #start = 0;

  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Offset of the next value. */
  get offset(): number {
    return this.#offset;
  }

  /** The bytes of the row that was read last. */
  get row(): Buffer {
    return this.#bytes.subarray(this.#start, this.#offset);
  }

  /** Adds a piece after the unread rest of the last one. */
  add(piece: Buffer): void {
    const rest = this.#bytes.subarray(this.#offset);
    this.#bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    this.#offset = 0;
    this.#start = 0;
  }

  /** Reads a row with `read`; false, and then nothing is read, when no complete one is left. */
  next(read: () => void): boolean {
    this.#start = this.#offset;
    if (this.#offset === this.#bytes.length) return false;
    try {
      read();
      return true;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#offset = this.#start;
      return false;
    }
  }

  /** Passes over `bytes`; returns where they began. */
  take(bytes: number): number {
    const start = this.#offset;
    const end = start + bytes;
    if (end > this.#bytes.length) throw new RangeError('the row goes on in the next piece');
    this.#offset = end;
    return start;
  }

  /** Passes over a text; returns where its bytes begin, which end at `offset`. */
  skipText(): number {
    return this.take(this.varint());
  }

  /** A text, as a run of bytes. */
  text(): string {
    const start = this.skipText();
    return start === this.#offset ? '' : this.#bytes.toString('latin1', start, this.#offset);
  }

  u8(): number {
    return this.#bytes[this.take(1)] ?? 0;
  }

  u32(): number {
    return this.#bytes.readUInt32LE(this.take(4));
  }

  /** A DateTime64(3), as milliseconds since 1970. */
  time(): number {
    const start = this.take(8);
    return this.#bytes.readInt32LE(start + 4) * 4_294_967_296 + this.#bytes.readUInt32LE(start);
  }

  /** A length, as LEB128. */
  varint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.u8();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }
}
