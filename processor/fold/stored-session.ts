/**
 * Reads stored session rows one after the other: RowBinary with the columns of `SESSIONS_COLUMNS`. The fields are those
 * of the row that `next` read last.
 */
export class StoredSession {
  readonly #bytes: Buffer;
  #offset = 0;
  #start = 0;
  /** Bytes of the rows read so far. */
  consumed = 0;
  version = 0;
  site = '';
  deviceKey = '';
  device = '';
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
  ended = false;
  mixed = false;
  creditedMs = 0;
  exitPage = '';
  entryPage = '';
  source = '';
  environment = '';

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The row that was read last. */
  get row(): Buffer {
    return this.#bytes.subarray(this.#start, this.consumed);
  }

  /** Reads the next row; false when no complete one is left. */
  next(): boolean {
    this.#offset = this.consumed;
    this.#start = this.consumed;
    try {
      this.#read();
    } catch (error) {
      // Node's error for a read past the end: the rest of the row is in the next piece.
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
    this.device = this.#text();
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
    this.environment = this.#run('sss8ssssssssss');
    this.ended = this.#bytes.readUInt8(this.#take(1)) === 1;
    this.mixed = this.#bytes.readUInt8(this.#take(1)) === 1;
    this.creditedMs = this.#time();
  }

  /**
   * Passes over `bytes`; returns where they began.
   * @throws {RangeError} past the end
   */
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
