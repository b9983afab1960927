import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { DecodeError } from '../../infra/bus/decode-error.ts';
import { GARBAGE } from '../../infra/testing/garbage.ts';
import { type DeadLetter, decodeDeadLetter, encodeDeadLetter } from './dead-letter.ts';

const LETTER: DeadLetter = {
  stream: 'events',
  partition: 3,
  sequence: 7,
  reason: 'message has version 99',
  bytes: Buffer.from('whatever it was'),
};

test('the bytes of a dead letter change only with its version', () => {
  expect(createHash('sha256').update(encodeDeadLetter(LETTER)).digest('hex')).toMatchInlineSnapshot(
    `"fa4b893158fbb9290e6d17ebeaf43ad550a08ce8a0fc8f9fa4405d0ffcab6f8e"`,
  );
});

test('a letter is read as it was written, and without a version it is rejected', () => {
  expect(decodeDeadLetter(encodeDeadLetter(LETTER))).toEqual(LETTER);
  const { bytes, ...origin } = LETTER;
  const head = Buffer.from(JSON.stringify(origin));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(head.length, 0);
  expect(() => decodeDeadLetter(Buffer.concat([length, head, bytes]))).toThrow('version 0');
});

test('bytes that are no letter are rejected', () => {
  const letter = encodeDeadLetter(LETTER);
  for (const bytes of [...GARBAGE, letter.subarray(0, 40), letter.subarray(2)])
    expect(() => decodeDeadLetter(bytes)).toThrow(DecodeError);
});
