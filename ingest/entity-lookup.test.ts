import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { expectOnlyDecodeErrors } from '../infra/testing/garbage.ts';
import { storedId } from '../infra/testing/ids.ts';
import {
  decodeEntityAnswer,
  decodeEntityQuestion,
  decodeStoredProfilesAnswer,
  decodeStoredProfilesQuestion,
  ENTITY_LOOKUP_VERSION,
  type EntityAnswer,
  type EntityQuestion,
  encodeEntityAnswer,
  encodeEntityQuestion,
  encodeStoredProfilesAnswer,
  encodeStoredProfilesQuestion,
  STORED_PROFILES_VERSION,
} from './entity-lookup.ts';

const QUESTION: EntityQuestion = { kind: 'profile', projectId: storedId('demo'), id: 'päul' };
const TIMES = { createdAtMs: 1_700_000_000_000, updatedAtMs: 1_700_000_000_001 };
const ANSWERS: readonly EntityAnswer[] = [
  {
    kind: 'found',
    record: {
      kind: 'profile',
      id: 'päul',
      firstName: 'Paul',
      lastName: '',
      email: 'paul@example.org',
      avatar: '',
      properties: ['plan', 'pro'],
      groups: ['acme'],
      ...TIMES,
    },
  },
  {
    kind: 'found',
    record: { kind: 'group', id: 'acme', type: 'company', name: 'Acme', properties: [], ...TIMES },
  },
  { kind: 'absent' },
  { kind: 'unavailable' },
];
const ORDER_QUESTION: EntityQuestion = { kind: 'order', projectId: storedId('demo'), id: 'A-1' };
const ORDER_ANSWER: EntityAnswer = {
  kind: 'found',
  record: { kind: 'order', id: 'A-1', deviceId: 'phone', sessionId: 'ab'.repeat(16) },
};
const DEVICES_QUESTION: EntityQuestion = { ...QUESTION, devices: ['0123456789abcdef'.repeat(2), ''] };
const DEVICES_ANSWERS: readonly EntityAnswer[] = [true, false].map((mayChange) => ({
  kind: 'found',
  record: { kind: 'group', id: 'acme', type: 'company', name: 'Acme', properties: [], ...TIMES },
  mayChange,
}));
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

test('the bytes of a look-up change only with its version', () => {
  expect([
    ENTITY_LOOKUP_VERSION,
    sha256(encodeEntityQuestion(QUESTION)),
    ...ANSWERS.map((answer) => sha256(encodeEntityAnswer(answer))),
    sha256(encodeEntityQuestion(ORDER_QUESTION)),
    sha256(encodeEntityAnswer(ORDER_ANSWER)),
    sha256(encodeEntityQuestion(DEVICES_QUESTION)),
    ...DEVICES_ANSWERS.map((answer) => sha256(encodeEntityAnswer(answer))),
  ]).toMatchInlineSnapshot(`
    [
      1,
      "a5d9a0c9c2b11663fd9409ba087d192bd50d94b56322ce2e01d9c2dc4e518735",
      "c0c3d60fc05d596409686715a37a9f142142333cf8f0cbe11bd7808dc055ec00",
      "96a643d2e67733a3879da24ba04ccdf8db0933896b777f89c2d808364b120ae4",
      "a45ce9497c458b8b61ab4c032e0e011d8fd78d5e82c2226893d056d8e4847374",
      "9b99c4e569c96168ba7b7cd05a1b2330ec0d6e5aabac7c53770dd6bf25a67585",
      "e9e11f3e987aa6a385f6073273525d884918c5bbd8bcc35cb18d6161e4c048c7",
      "14c71fb4cd5472e54aad676d75345b3daeea1f7ba07574af46d85e8f5b5072cc",
      "af11c76ae0b79a9f7c347a80d121f4fa263cb3d3661384afe8c1bcaba70d9e35",
      "f106e0d117c0fd9d246e2ffa97323a220d2ed64b71d02784146fb47462e95904",
      "379912c6cfcdad4b5bb8c343512e95ccd658c405da01141df46cbc59358410bd",
    ]
  `);
});

test('a look-up is read as it was written', () => {
  for (const question of [QUESTION, ORDER_QUESTION, DEVICES_QUESTION])
    expect(decodeEntityQuestion(encodeEntityQuestion(question))).toEqual(question);
  for (const answer of [...ANSWERS, ORDER_ANSWER, ...DEVICES_ANSWERS])
    expect(decodeEntityAnswer(encodeEntityAnswer(answer))).toEqual(answer);
});

test('whatever the bytes of a look-up are, they are read or rejected', () => {
  expectOnlyDecodeErrors(decodeEntityQuestion, encodeEntityQuestion(DEVICES_QUESTION));
  for (const answer of ANSWERS) expectOnlyDecodeErrors(decodeEntityAnswer, encodeEntityAnswer(answer));
});

test('the question for stored profiles and its answer are pinned, and read as written or rejected', () => {
  const question = { projectId: storedId('demo') };
  const answers = [{ kind: 'stored' }, { kind: 'unavailable' }] as const;
  expect([
    STORED_PROFILES_VERSION,
    sha256(encodeStoredProfilesQuestion(question)),
    ...answers.map((answer) => sha256(encodeStoredProfilesAnswer(answer))),
  ]).toMatchInlineSnapshot(`
    [
      1,
      "1393ff42590cb258a08f68bc49c618c17ada8cf6c4c3b3c331e7dfb50d7c03d2",
      "78fed2ccf35021029b7df60558296d4ba6b955829324e025ef3d1889cb0d69c2",
      "9b99c4e569c96168ba7b7cd05a1b2330ec0d6e5aabac7c53770dd6bf25a67585",
    ]
  `);
  expect(decodeStoredProfilesQuestion(encodeStoredProfilesQuestion(question))).toEqual(question);
  for (const answer of answers)
    expect(decodeStoredProfilesAnswer(encodeStoredProfilesAnswer(answer))).toEqual(answer);
  expectOnlyDecodeErrors(decodeStoredProfilesQuestion, encodeStoredProfilesQuestion(question));
  expectOnlyDecodeErrors(decodeStoredProfilesAnswer, encodeStoredProfilesAnswer({ kind: 'stored' }));
});

test('a look-up of another version says so', () => {
  for (const other of [QUESTION, { ...QUESTION, version: ENTITY_LOOKUP_VERSION + 1 }])
    expect(() => decodeEntityQuestion(Buffer.from(JSON.stringify(other)))).toThrow(
      expect.objectContaining({ name: 'DecodeError', reason: 'version' }),
    );
});
