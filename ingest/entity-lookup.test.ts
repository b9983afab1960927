import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { expectOnlyDecodeErrors } from '../infra/testing/garbage.ts';
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

const QUESTION: EntityQuestion = { kind: 'profile', projectId: 'demo', id: 'päul' };
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
/** Added by version 2. */
const ORDER_QUESTION: EntityQuestion = { kind: 'order', projectId: 'demo', id: 'A-1' };
const ORDER_ANSWER: EntityAnswer = {
  kind: 'found',
  record: { kind: 'order', id: 'A-1', deviceId: 'phone', sessionId: 'ab'.repeat(16) },
};
/** Added by version 3. */
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
      3,
      "a5d9a0c9c2b11663fd9409ba087d192bd50d94b56322ce2e01d9c2dc4e518735",
      "c0c3d60fc05d596409686715a37a9f142142333cf8f0cbe11bd7808dc055ec00",
      "96a643d2e67733a3879da24ba04ccdf8db0933896b777f89c2d808364b120ae4",
      "a45ce9497c458b8b61ab4c032e0e011d8fd78d5e82c2226893d056d8e4847374",
      "9b99c4e569c96168ba7b7cd05a1b2330ec0d6e5aabac7c53770dd6bf25a67585",
      "c9171715d149835e8317e6234de0b59aabb736dc9186e248534e69cac2f163a4",
      "3b912352d2e376e04d0edd753145e676afc0e3d40c6adbce57ed0ff2ae2aa819",
      "87c83f8a541f63a6658fdbd2515252acaa889fdf9c1e79eb78cdbd872a4c2290",
      "d623b125f2758962216656d3ed9c2c12d0ca95f44ae56739305d81fc0be4aec4",
      "2c7f376275e5fcf7feadf2c34da4fd8fafca21a6875c7aebe31f71f01bec384e",
    ]
  `);
});

test('a look-up is read as it was written, with or without a version', () => {
  expect(decodeEntityQuestion(encodeEntityQuestion(QUESTION))).toEqual(QUESTION);
  expect(decodeEntityQuestion(Buffer.from(JSON.stringify(QUESTION)))).toEqual(QUESTION);
  for (const answer of ANSWERS) {
    expect(decodeEntityAnswer(encodeEntityAnswer(answer))).toEqual(answer);
    expect(decodeEntityAnswer(Buffer.from(JSON.stringify(answer)))).toEqual(answer);
  }
});

test('only a look-up of an order needs a program of version 2, and one about devices one of version 3', () => {
  const versionOf = (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString('utf8')).version;
  expect([
    versionOf(encodeEntityQuestion(QUESTION)),
    ...ANSWERS.map(encodeEntityAnswer).map(versionOf),
  ]).toEqual([1, 1, 1, 1, 1]);
  expect([encodeEntityQuestion(ORDER_QUESTION), encodeEntityAnswer(ORDER_ANSWER)].map(versionOf)).toEqual([
    2, 2,
  ]);
  expect(decodeEntityQuestion(encodeEntityQuestion(ORDER_QUESTION))).toEqual(ORDER_QUESTION);
  expect(decodeEntityAnswer(encodeEntityAnswer(ORDER_ANSWER))).toEqual(ORDER_ANSWER);
  expect(
    [encodeEntityQuestion(DEVICES_QUESTION), ...DEVICES_ANSWERS.map(encodeEntityAnswer)].map(versionOf),
  ).toEqual([3, 3, 3]);
  expect(decodeEntityQuestion(encodeEntityQuestion(DEVICES_QUESTION))).toEqual(DEVICES_QUESTION);
  for (const answer of DEVICES_ANSWERS)
    expect(decodeEntityAnswer(encodeEntityAnswer(answer))).toEqual(answer);
});

test('whatever the bytes of a look-up are, they are read or rejected', () => {
  expectOnlyDecodeErrors(decodeEntityQuestion, encodeEntityQuestion(DEVICES_QUESTION));
  for (const answer of ANSWERS) expectOnlyDecodeErrors(decodeEntityAnswer, encodeEntityAnswer(answer));
});

test('the question for stored profiles and its answer are pinned, and read as written or rejected', () => {
  const question = { projectId: 'demo' };
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
  const bytes = Buffer.from(JSON.stringify({ ...QUESTION, version: 4 }));
  expect(() => decodeEntityQuestion(bytes)).toThrow(
    expect.objectContaining({ name: 'DecodeError', reason: 'version' }),
  );
});
