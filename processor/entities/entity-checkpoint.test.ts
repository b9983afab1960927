import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { expectOnlyDecodeErrors } from '../../infra/testing/garbage.ts';
import {
  decodeEntityCheckpoint,
  type EntityCheckpoint,
  encodeEntityCheckpoint,
} from './entity-checkpoint.ts';

const CHECKPOINT: EntityCheckpoint = { version: 1, sequence: 1_234, publishers: [['16', 9]] };

test('the bytes of a checkpoint change only with its version', () => {
  const hash = createHash('sha256').update(encodeEntityCheckpoint(CHECKPOINT)).digest('hex');
  expect([CHECKPOINT.version, hash]).toMatchInlineSnapshot(`
    [
      1,
      "63fc2c73cf01f5d0f4bd611f0c845b3a9b1183f69d72356986d67bee2a1a0dff",
    ]
  `);
});

test('a checkpoint is read as it was written', () => {
  expect(decodeEntityCheckpoint(encodeEntityCheckpoint(CHECKPOINT))).toEqual(CHECKPOINT);
});

test('whatever the bytes of a checkpoint are, they are read or rejected', () => {
  expectOnlyDecodeErrors(decodeEntityCheckpoint, encodeEntityCheckpoint(CHECKPOINT));
});

test('a checkpoint of another version says so', () => {
  const bytes = Buffer.from(JSON.stringify({ ...CHECKPOINT, version: 2 }));
  expect(() => decodeEntityCheckpoint(bytes)).toThrow(
    expect.objectContaining({ name: 'DecodeError', reason: 'version' }),
  );
});
