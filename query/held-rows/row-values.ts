import { assert } from '../../infra/assert.ts';
import { FIXED_BYTES } from '../../infra/store/native-blocks.ts';

/** Values of a row by column: texts, numbers, amounts by currency, lists and properties. Ids are 16 bytes as latin1 text. */
export type RowValue = string | number | ReadonlyMap<string, number> | readonly string[] | TextByKey;
type TextByKey = Readonly<Record<string, string>>;
export type RowOfValues = Readonly<Record<string, RowValue>>;

/** A column of RowBinary rows: its name and its ClickHouse type. */
export interface TypedColumn {
  readonly name: string;
  readonly type: string;
}

/** The columns of RowBinary rows, and the selection of wanted ones. */
export class RowShape {
  readonly steps: readonly (TypedColumn & { readonly isWanted: boolean })[];

  constructor(columns: readonly TypedColumn[], wanted: ReadonlySet<string>) {
    this.steps = columns.map(({ name, type }) => ({ name, type, isWanted: wanted.has(name) }));
  }
}

/**
 * Reads rows one after the other into one reused object, with only the wanted columns. 64-bit numbers beyond 2⁵³ lose
 * their last digits; the caller must exclude them by size.
 */
export class RowScan {
  readonly #values: ValueReader;
  readonly #steps: RowShape['steps'];
  readonly #row: Record<string, RowValue> = {};

  constructor(bytes: Uint8Array, { steps }: RowShape) {
    this.#values = new ValueReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    this.#steps = steps;
  }

  /** Visits up to `rowsMax` further rows. False at the end. */
  visit(rowsMax: number, visit: (row: RowOfValues) => void): boolean {
    for (let rows = 0; rows < rowsMax && !this.#values.isAtEnd; rows += 1) {
      for (const { name, type, isWanted } of this.#steps) {
        if (isWanted) this.#row[name] = this.#values.read(type);
        else this.#values.skip(type);
      }
      visit(this.#row);
    }
    return !this.#values.isAtEnd;
  }
}

/** Enough for any 32-bit float. */
const FLOAT_DIGITS_MAX = 10;

class ValueReader {
  readonly #bytes: Buffer;
  #offset = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#offset >= this.#bytes.length;
  }

  read(type: string): RowValue {
    switch (type) {
      case 'String':
        return this.#text();
      case 'Map(String, Int64)':
        return this.#amounts();
      case 'Array(String)':
        return Array.from({ length: this.#varint() }, () => this.#text());
      case 'Map(String, String)':
        return this.#properties();
      case 'Float32':
        return shortest(this.#bytes.readFloatLE(this.#pass(4)));
      case 'FixedString(16)':
        return this.#bytes.toString('latin1', this.#pass(16), this.#offset);
      case 'Int8':
        return this.#bytes.readInt8(this.#pass(1));
      case 'UInt8':
        return this.#bytes.readUInt8(this.#pass(1));
      case 'UInt16':
        return this.#bytes.readUInt16LE(this.#pass(2));
      case 'UInt32':
        return this.#bytes.readUInt32LE(this.#pass(4));
      default:
        assert(FIXED_BYTES[type] === 8, 'every column that is read has a type that is known here');
        return this.#int64();
    }
  }

  skip(type: string): void {
    const width = FIXED_BYTES[type];
    if (width !== undefined) {
      this.#pass(width);
      return;
    }
    const texts = type === 'String' ? 1 : type === 'Array(String)' ? this.#varint() : undefined;
    if (texts !== undefined) {
      for (let text = 0; text < texts; text += 1) this.#pass(this.#varint());
      return;
    }
    for (let left = this.#varint(); left > 0; left -= 1) {
      this.#pass(this.#varint());
      this.#pass(type === 'Map(String, Int64)' ? 8 : this.#varint());
    }
  }

  #text(): string {
    const length = this.#varint();
    return this.#bytes.toString('utf8', this.#pass(length), this.#offset);
  }

  #amounts(): ReadonlyMap<string, number> {
    const amounts = new Map<string, number>();
    for (let left = this.#varint(); left > 0; left -= 1) amounts.set(this.#text(), this.#int64());
    return amounts;
  }

  #properties(): TextByKey {
    const pairs: [key: string, value: string][] = [];
    for (let left = this.#varint(); left > 0; left -= 1) pairs.push([this.#text(), this.#text()]);
    return Object.fromEntries(pairs);
  }

  #int64(): number {
    const at = this.#pass(8);
    return this.#bytes.readUInt32LE(at) + this.#bytes.readInt32LE(at + 4) * 4_294_967_296;
  }

  #varint(): number {
    let [value, shift] = [0, 0];
    for (;;) {
      const byte = this.#bytes.readUInt8(this.#pass(1));
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
      shift += 7;
    }
  }

  /** Skips some bytes and returns their start. */
  #pass(bytes: number): number {
    const at = this.#offset;
    this.#offset += bytes;
    return at;
  }
}

/** The shortest decimal that is this number as a 32-bit float: the store's form. */
function shortest(value: number): number {
  for (let digits = 1; digits < FLOAT_DIGITS_MAX; digits += 1) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return value;
}
