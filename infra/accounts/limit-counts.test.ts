import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  COUNTED_KEYS_MAX,
  decodeLimitCounts,
  encodeLimitCounts,
  LIMIT_COUNTS_VERSION,
} from './limit-counts.ts';

const SAMPLE = { process: 'a', window: 180_000_000, counts: [['key', 3]] as const };

const counts = fc.record({
  process: fc.string({ minLength: 1, maxLength: 64 }),
  window: fc.maxSafeNat(),
  counts: fc.array(fc.tuple(fc.string({ maxLength: 44 }), fc.integer({ min: 1, max: 10_000_000 }))),
});

test('counts are read as they were written', () => {
  fc.assert(
    fc.property(counts, (message) => {
      expect(decodeLimitCounts(encodeLimitCounts(message))).toMatchObject(message);
    }),
  );
});

test('a message of as many keys as there may be is read', () => {
  const full = {
    ...SAMPLE,
    counts: Array.from({ length: COUNTED_KEYS_MAX }, () => ['\u0001'.repeat(44), 1] as const),
  };
  expect(decodeLimitCounts(encodeLimitCounts(full))).toMatchObject(full);
});

const written = { version: LIMIT_COUNTS_VERSION, ...SAMPLE };

test.each<[string, string]>([
  ['nothing', ''],
  ['no JSON', '{"version":1'],
  ['no object', '[]'],
  ['the version before', JSON.stringify({ ...written, version: LIMIT_COUNTS_VERSION - 1 })],
  ['a later version', JSON.stringify({ ...written, version: LIMIT_COUNTS_VERSION + 1 })],
  ['without a window', JSON.stringify({ ...written, window: undefined })],
  ['a window that is no number of one', JSON.stringify({ ...written, window: -1.5 })],
  ['a long key', JSON.stringify({ ...written, counts: [['k'.repeat(45), 1]] })],
  ['a negative count', JSON.stringify({ ...written, counts: [['k', -1]] })],
  ['a fraction', JSON.stringify({ ...written, counts: [['k', 0.5]] })],
  ['a huge count', JSON.stringify({ ...written, counts: [['k', 1e15]] })],
  ['a count without a key', JSON.stringify({ ...written, counts: [[1]] })],
  ['a further field', JSON.stringify({ ...written, more: 1 })],
  ['too many keys', JSON.stringify({ ...written, counts: Array(COUNTED_KEYS_MAX + 1).fill(['k', 1]) })],
  ['too many bytes', `${' '.repeat(2_000_000)}${JSON.stringify(written)}`],
])('%s is not read', (_name, text) => {
  expect(decodeLimitCounts(Buffer.from(text))).toBeUndefined();
});

test('random bytes are not read', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect(decodeLimitCounts(bytes)).toBeUndefined();
    }),
  );
});

test('the bytes of version 1 do not change', () => {
  const bytes = encodeLimitCounts(SAMPLE);
  expect(createHash('sha256').update(bytes).digest('hex')).toMatchInlineSnapshot(
    `"bd344eb39569a2146e7650909df3540a1bff9cc6f47e2a6499423880c8569ee9"`,
  );
});
