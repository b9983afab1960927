import { expect, test } from 'vitest';
import { expectOnlyDecodeErrors } from '../../infra/testing/garbage.ts';
import {
  decodeBackupAnswer,
  decodeBackupRequest,
  encodeBackupAnswer,
  encodeBackupRequest,
  type NewBackupAnswer,
  type NewBackupRequest,
} from '../backups.ts';

const backupId = 'aaaaaaaa';
const lane = { flushNumber: 7, clockMs: 1 };
const takenAt = '2026-11-01T12:00:00.000Z';

const REQUESTS: readonly NewBackupRequest[] = [
  ...(['take', 'open', 'rest', 'hold', 'keep', 'release', 'drop', 'settle'] as const).map((kind) => ({
    kind,
    backupId,
  })),
  { kind: 'prepare', attempt: 'bbbbbbbb' },
  { kind: 'adopt', attempt: 'bbbbbbbb', backupId, lane: { ...lane, before: [[0, 3]] } },
];
const ANSWERS: readonly NewBackupAnswer[] = [
  { kind: 'taken', takenAt, lane, migrations: [{ name: 'a', hash: 'b' }] },
  { kind: 'opened', takenAt, migrations: [{ name: 'a', hash: 'b' }] },
  { kind: 'held', lane },
  { kind: 'released', hasLasted: false },
  { kind: 'prepared', restored: null, versionMax: '7', migrations: [] },
  { kind: 'done' },
  { kind: 'refused', text: 'why' },
  { kind: 'unavailable' },
];

test('requests and answers are read as they were written, or rejected', () => {
  for (const request of REQUESTS) {
    expect(decodeBackupRequest(encodeBackupRequest(request))).toEqual({ version: 1, ...request });
    expectOnlyDecodeErrors(decodeBackupRequest, encodeBackupRequest(request));
  }
  for (const answer of ANSWERS) {
    expect(decodeBackupAnswer(encodeBackupAnswer(answer))).toEqual({ version: 1, ...answer });
    expectOnlyDecodeErrors(decodeBackupAnswer, encodeBackupAnswer(answer));
  }
});

test('the bytes of what a service with one lane is asked change only with the version', () => {
  const texts = [
    `{"version":1,"kind":"take","backupId":"${backupId}"}`,
    `{"version":1,"kind":"adopt","attempt":"bbbbbbbb","backupId":"${backupId}","lane":{"flushNumber":7,"clockMs":1}}`,
  ];
  for (const text of texts) {
    const { version: _, ...request } = decodeBackupRequest(Buffer.from(text));
    expect(Buffer.from(encodeBackupRequest(request)).toString()).toBe(text);
  }
});
