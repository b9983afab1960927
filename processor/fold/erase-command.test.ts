import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { expectOnlyDecodeErrors } from '../../infra/testing/garbage.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { decodeMessageHead, MESSAGE_HEADER_BYTES } from '../../ingest/event.ts';
import { decodeEraseCommands, encodeEraseCommands } from './erase-command.ts';

const COMMANDS = [
  { projectId: storedId('demo'), profileId: 'päul', beforeMs: null },
  { projectId: storedId('demo'), profileId: null, beforeMs: 1_700_000_000_000 },
];
const MESSAGE = encodeEraseCommands({ publisherId: 42n, sentAtMs: 1_700_000_000_000 }, COMMANDS);
const HEAD = MESSAGE.subarray(0, MESSAGE_HEADER_BYTES);

test('the bytes of erase commands change only with their version', () => {
  expect(createHash('sha256').update(MESSAGE).digest('hex')).toMatchInlineSnapshot(
    `"cb69cd92ebeadc2f68ecbb85c48fdbcdacf4ecb75291052ccf559c6d978960da"`,
  );
});

test('commands are read as they were written, and without a version they are rejected', () => {
  expect(decodeEraseCommands(MESSAGE)).toEqual(COMMANDS);
  const unversioned = Buffer.concat([HEAD, Buffer.from(JSON.stringify(COMMANDS))]);
  expect(() => decodeEraseCommands(unversioned)).toThrow('version 0');
});

test('a message without commands is a tick', () => {
  expect(decodeEraseCommands(HEAD)).toBeUndefined();
});

test('whatever the bytes are, they are commands or rejected', () => {
  expectOnlyDecodeErrors((json) => {
    decodeMessageHead(HEAD);
    return decodeEraseCommands(Buffer.concat([HEAD, json.length === 0 ? Buffer.from(' ') : json]));
  }, MESSAGE.subarray(MESSAGE_HEADER_BYTES));
});

test('commands of another version say so', () => {
  const bytes = Buffer.concat([HEAD, Buffer.from(JSON.stringify({ version: 2, commands: COMMANDS }))]);
  expect(() => decodeEraseCommands(bytes)).toThrow(
    expect.objectContaining({ name: 'DecodeError', reason: 'version' }),
  );
});
