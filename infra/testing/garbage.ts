import fc from 'fast-check';
import { expect } from 'vitest';
import { DecodeError } from '../bus/decode-error.ts';

/** Bytes that fit no contract of ours. */
export const GARBAGE: readonly Uint8Array[] = [
  new Uint8Array(0),
  Buffer.from('four'),
  Buffer.from('{}'),
  Buffer.from('null'),
  Buffer.from('[1,2'),
  Buffer.from('{"version":99}'),
  Buffer.from('{"kind":"nothing of ours"}'),
  new Uint8Array(64).fill(0xff),
  new Uint8Array(64),
];

/**
 * Expects that a decoder throws a `DecodeError` for garbage, for every beginning of `sample` and for `sample` with bytes
 * behind its end; and that it throws nothing else whatever the bytes are: random ones, or `sample` with some overwritten.
 */
export function expectOnlyDecodeErrors(
  decode: (bytes: Uint8Array) => unknown,
  sample: Uint8Array,
  garbage: readonly Uint8Array[] = GARBAGE,
): void {
  for (const bytes of garbage) expect(() => decode(bytes)).toThrow(DecodeError);
  for (let length = 0; length < sample.length; length += 1)
    expect(() => decode(sample.subarray(0, length))).toThrow(DecodeError);
  expect(() => decode(Buffer.concat([sample, Buffer.from('more')]))).toThrow(DecodeError);
  const overwritten = fc
    .array(fc.tuple(fc.nat(sample.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
    .map((changes) => {
      const bytes = Uint8Array.from(sample);
      for (const [index, value] of changes) bytes[index] = value;
      return bytes;
    });
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), overwritten), (bytes) => {
      try {
        decode(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(DecodeError);
      }
    }),
    { numRuns: 2_000 },
  );
}
