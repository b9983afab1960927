import { expect, test } from 'vitest';
import { readNativeBlock } from './native-blocks.ts';

const text = (value: string) => Buffer.concat([Buffer.of(value.length), Buffer.from(value)]);
const count = (value: number) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);

/** A block of three rows with a column of each kind; `width` is the code of the dictionary's index type: 0 for 8 bits, 1 for 16, 2 for 32. */
function block(width: 0 | 1 | 2): Buffer {
  const Indexes = [Uint8Array, Uint16Array, Uint32Array][width] ?? Uint8Array;
  return Buffer.concat([
    Buffer.of(4, 3),
    ...[text('number'), text('UInt32'), Buffer.from(Uint32Array.of(7, 8, 9).buffer)],
    ...[text('name'), text('String'), text('a'), text(''), text('ccc')],
    ...[text('place'), text('LowCardinality(String)'), count(1), count(0x600 + width), count(2)],
    ...[text(''), text('K'), count(3)],
    Buffer.from(Indexes.of(1, 0, 1).buffer),
    ...[text('sums'), text('Map(String, Int64)'), count(1), count(1), count(2), text('EUR'), text('USD')],
    ...[count(100), count(200)],
  ]);
}

test.each([0, 1, 2] as const)('a block with indexes of %d × 8 bits is read', (width) => {
  const bytes = Buffer.concat([Buffer.of(0xff), block(width), Buffer.of(0xff)]);
  const read = readNativeBlock(bytes, 1);
  expect([read?.rows, read?.end]).toEqual([3, bytes.length - 1]);
  const [number, name, place, sums] = ['number', 'name', 'place', 'sums'].map((key) =>
    read?.columns.get(key),
  );
  expect(number?.kind === 'fixed' && bytes.readUInt32LE(number.start + 8)).toBe(9);
  if (name?.kind !== 'text' || place?.kind !== 'dictionary' || sums?.kind !== 'map') throw new Error('kinds');
  expect(bytes.toString('utf8', name.starts[2], name.ends[2])).toBe('ccc');
  expect([place.keys, [...place.indexes]]).toEqual([
    ['\0', '\x01K'],
    [1, 0, 1],
  ]);
  expect([...sums.ends]).toEqual([1, 1, 2]);
  expect(bytes.readBigInt64LE(sums.valuesStart + 8)).toBe(200n);
});

test('of a block that is cut anywhere, nothing is read', () => {
  const whole = block(1);
  for (let length = 0; length < whole.length; length += 1)
    expect(readNativeBlock(whole.subarray(0, length), 0)).toBeUndefined();
});

test('a type that is not read is an error, not a wrong value', () => {
  const other = Buffer.concat([Buffer.of(1, 1), text('x'), text('Nullable(UInt8)'), Buffer.of(0, 0)]);
  expect(() => readNativeBlock(other, 0)).toThrow('Nullable(UInt8)');
  const shared = Buffer.concat([
    Buffer.of(1, 1),
    text('x'),
    text('LowCardinality(String)'),
    count(1),
    count(0x700),
  ]);
  expect(() => readNativeBlock(shared, 0)).toThrow('not read');
});
