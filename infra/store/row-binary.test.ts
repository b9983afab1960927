import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RowBinaryWriter } from './row-binary.ts';

/** Reads values back in the simplest way. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  take(length: number): Buffer {
    const part = this.#bytes.subarray(this.#at, this.#at + length);
    expect(part.length).toBe(length);
    this.#at += length;
    return part;
  }
  varint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.take(1).readUInt8();
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  }
  string(): string {
    return this.take(this.varint()).toString('utf8');
  }
  isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }
}

interface Kind {
  readonly values: fc.Arbitrary<unknown>;
  write(writer: RowBinaryWriter, value: never): void;
  read(reader: Reader): unknown;
}

const text = fc.string({ unit: 'grapheme', maxLength: 200 });
const KINDS: Readonly<Record<string, Kind>> = {
  u8: { values: fc.nat(255), write: (w, v) => w.u8(v), read: (r) => r.take(1).readUInt8() },
  i8: {
    values: fc.integer({ min: -128, max: 127 }),
    write: (w, v) => w.i8(v),
    read: (r) => r.take(1).readInt8(),
  },
  u16: { values: fc.nat(65_535), write: (w, v) => w.u16(v), read: (r) => r.take(2).readUInt16LE() },
  u32: { values: fc.nat(4_294_967_295), write: (w, v) => w.u32(v), read: (r) => r.take(4).readUInt32LE() },
  u64: {
    values: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    write: (w, v) => w.u64(v),
    read: (r) => r.take(8).readBigUInt64LE(),
  },
  i64: {
    values: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    write: (w, v) => w.i64(v),
    read: (r) => r.take(8).readBigInt64LE(),
  },
  f32: { values: fc.float(), write: (w, v) => w.f32(v), read: (r) => r.take(4).readFloatLE() },
  f64: { values: fc.double(), write: (w, v) => w.f64(v), read: (r) => r.take(8).readDoubleLE() },
  dateTime64Ms: {
    values: fc.integer({ min: -8_640_000_000_000_000, max: 8_640_000_000_000_000 }),
    write: (w, v) => w.dateTime64Ms(v),
    read: (r) => Number(r.take(8).readBigInt64LE()),
  },
  varint: { values: fc.nat(2_147_483_647), write: (w, v) => w.varint(v), read: (r) => r.varint() },
  string: { values: text, write: (w, v) => w.string(v), read: (r) => r.string() },
  stringArray: {
    values: fc.array(text, { maxLength: 20 }),
    write: (w, v) => w.stringArray(v),
    read: (r) => Array.from({ length: r.varint() }, () => r.string()),
  },
  stringMap: {
    values: fc.array(text, { maxLength: 20 }).filter((all) => all.length % 2 === 0),
    write: (w, v) => w.stringMap(v),
    read: (r) => Array.from({ length: r.varint() * 2 }, () => r.string()),
  },
};

describe('RowBinaryWriter', () => {
  test('a simple reader reads back values of every kind, in any order, across buffer growth', () => {
    const value = fc
      .constantFrom(...Object.keys(KINDS))
      .chain((kind) => fc.record({ kind: fc.constant(kind), value: KINDS[kind]?.values ?? fc.constant(0) }));
    const writer = new RowBinaryWriter(10_000_000);
    fc.assert(
      fc.property(fc.array(value, { maxLength: 300 }), (values) => {
        for (const { kind, value } of values) KINDS[kind]?.write(writer, value as never);
        expect(writer.length).toBe(writer.bytes().length);
        const reader = new Reader(writer.take());
        for (const { kind, value } of values) expect(KINDS[kind]?.read(reader)).toEqual(value);
        expect(reader.isAtEnd()).toBe(true);
      }),
    );
  });

  test('texts around the length at which the fast path ends', () => {
    for (let length = 40; length < 140; length += 1) {
      for (const last of ['a', 'é', '\u{1f600}', '\0']) {
        const writer = new RowBinaryWriter(1000);
        writer.string('x'.repeat(length) + last);
        const reader = new Reader(writer.bytes());
        expect(reader.string()).toBe('x'.repeat(length) + last);
        expect(reader.isAtEnd()).toBe(true);
      }
    }
  });

  test('the buffer grows to its maximum, not beyond it, and keeps its content', () => {
    const writer = new RowBinaryWriter(10_000);
    for (let index = 0; index < 10_000; index += 1) writer.u8(index & 255);
    expect(() => writer.u8(1)).toThrow('10000');
    expect(writer.length).toBe(10_000);
    expect(writer.bytes().every((byte, index) => byte === (index & 255))).toBe(true);
  });

  test('bytes that were taken do not change with later writes', () => {
    const writer = new RowBinaryWriter(10_000);
    writer.hex('00ff0a');
    const taken = writer.take();
    writer.hex('111111');
    writer.truncate(1);
    writer.raw(Buffer.from([2, 3]));
    expect([...taken]).toEqual([0, 255, 10]);
    expect([...writer.bytes()]).toEqual([17, 2, 3]);
  });
});
