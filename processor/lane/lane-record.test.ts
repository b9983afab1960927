import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { expectOnlyDecodeErrors } from '../../infra/testing/garbage.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { decodeLaneRecord, encodeLaneRecord, type LaneRecord } from './lane-record.ts';

const CHECKPOINT = {
  flushNumber: 7,
  sequence: 1_234,
  clockMs: 1_700_000_000_000,
  publishers: [['16', 9, 1_700_000_000_000]],
  forgettings: [['1a', 6]],
} as const;
const RECORD: LaneRecord = {
  version: 1,
  owner: 'one',
  incarnation: 'random',
  leaseUntilMs: 1_700_000_010_000,
  checkpoint: CHECKPOINT,
  intent: { ...CHECKPOINT, flushNumber: 8 },
  division: { slices: 2, partitions: 256 },
  isClosed: false,
};
const bytesOf = (record: object) => Buffer.from(JSON.stringify(record));

test('the bytes of a lane record change only with its version', () => {
  const hash = createHash('sha256').update(encodeLaneRecord(RECORD)).digest('hex');
  expect([RECORD.version, hash]).toMatchInlineSnapshot(`
    [
      1,
      "58e914122b1a33bcbac58fc11573037e8a50a3f85f08b17034ca5aea7440cce6",
    ]
  `);
});

test('a record is read as it was written', () => {
  expect(decodeLaneRecord(encodeLaneRecord(RECORD))).toEqual(RECORD);
  const entry = {
    projectId: storedId('shop'),
    first: 1,
    last: 9,
    reason: 'refused',
    atMs: 5,
    withoutEnds: true,
  } as const;
  const refused = { ...RECORD, isRefused: true, fedFrom: 7, setAside: [entry] } as const;
  expect(decodeLaneRecord(encodeLaneRecord(refused))).toEqual(refused);
});

test('whatever the bytes of a record are, they are read or rejected', () => {
  expectOnlyDecodeErrors(decodeLaneRecord, encodeLaneRecord(RECORD));
  for (const change of [{ checkpoint: null }, { intent: 7 }, { checkpoint: { ...CHECKPOINT, sequence: -1 } }])
    expect(() => decodeLaneRecord(bytesOf({ ...RECORD, ...change }))).toThrow('lane record');
});

test('a record of another version says so', () => {
  expect(() => decodeLaneRecord(bytesOf({ ...RECORD, version: 2 }))).toThrow(
    expect.objectContaining({ name: 'DecodeError', reason: 'version' }),
  );
});
