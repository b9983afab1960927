import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DecodeError } from '../infra/bus/decode-error.ts';
import { expectOnlyDecodeErrors } from '../infra/testing/garbage.ts';
import { storedId } from '../infra/testing/ids.ts';
import {
  decodeSessionAnswers,
  decodeSessionQuestions,
  encodeSessionAnswers,
  encodeSessionQuestions,
  encodeSessionsUnavailable,
  latestOf,
  SESSION_LOOKUP_MAX,
  SESSION_LOOKUP_VERSION,
  type SessionAnswer,
  type SessionSpan,
  sessionLookupVersionOf,
} from './session-lookup.ts';

const PAID_MS = 1_000;

function from(firstMs: number): SessionSpan {
  return { sessionId: `from ${firstMs}`, firstMs, lastMs: firstMs + 10 };
}

test('a payment goes to the session that began last before it', () => {
  expect(latestOf(from(100), from(900), PAID_MS)).toEqual(from(900));
  expect(latestOf(from(PAID_MS), from(900), PAID_MS)).toEqual(from(PAID_MS));
  expect(latestOf(from(100), from(PAID_MS + 1), PAID_MS)).toEqual(from(100));
});

test('a payment that comes before every session goes to the last one', () => {
  expect(latestOf(from(2_000), from(5_000), PAID_MS)).toEqual(from(5_000));
});

test('the only session is the latest, and of none there is none', () => {
  expect(latestOf(undefined, from(100), PAID_MS)).toEqual(from(100));
  expect(latestOf(from(100), undefined, PAID_MS)).toEqual(from(100));
  expect(latestOf(undefined, undefined, PAID_MS)).toBeUndefined();
});

test('which of many is the latest does not depend on their order', () => {
  const spans = fc.uniqueArray(fc.integer({ min: 0, max: 2 * PAID_MS }), { minLength: 1 });
  fc.assert(
    fc.property(spans, (starts) => {
      const latest = (list: readonly number[]) =>
        list
          .map(from)
          .reduce<SessionSpan | undefined>((one, other) => latestOf(one, other, PAID_MS), undefined);
      const begun = starts.filter((ms) => ms <= PAID_MS);
      const wanted = from(Math.max(...(begun.length > 0 ? begun : starts)));
      expect([latest(starts), latest(starts.toReversed())]).toEqual([wanted, wanted]);
    }),
  );
});

const QUESTION = { projectId: storedId('demo'), deviceId: 'd'.repeat(32), occurredAtMs: 1_700_000_000_000 };
const QUESTIONS = [
  { ...QUESTION, eventId: 'päid once', credit: true },
  { ...QUESTION, eventId: '', credit: false },
];
const ANSWERS: readonly SessionAnswer[] = [
  { kind: 'open', sessionId: 'ab'.repeat(16), firstMs: 1_700_000_000_000, lastMs: 1_700_000_000_001 },
  { kind: 'granted', sessionId: 'cd'.repeat(16), firstMs: 0, lastMs: 0 },
  { kind: 'repeat', sessionId: '', firstMs: 0, lastMs: 0 },
  { kind: 'ended', sessionId: 'ef'.repeat(16), firstMs: 1, lastMs: 2 },
];
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

test('the bytes of a look-up change only with its version', () => {
  expect([
    SESSION_LOOKUP_VERSION,
    sha256(encodeSessionQuestions(QUESTIONS)),
    sha256(encodeSessionAnswers(ANSWERS)),
    Buffer.from(encodeSessionsUnavailable()).toString('hex'),
  ]).toMatchInlineSnapshot(`
    [
      1,
      "c82c81f83e47b4998cd987178a7bc4693f16763a1be108cea05c74bccfde6b90",
      "e688a3358d0729d2860c3e3589cb25448a43901ee0084c3eb497e7838464a51e",
      "01",
    ]
  `);
});

test('an answer has the version of its question', () => {
  const questions = Buffer.from(encodeSessionQuestions(QUESTIONS));
  expect(sessionLookupVersionOf(questions)).toBe(SESSION_LOOKUP_VERSION);
  questions[0] = 7;
  const answers = encodeSessionAnswers(ANSWERS, sessionLookupVersionOf(questions));
  expect(answers[0]).toBe(7);
  expect(() => decodeSessionAnswers(answers)).toThrow('version 7');
});

test('an owner may say of each device that it does not know', () => {
  const unknown: SessionAnswer = { kind: 'unknown', sessionId: '', firstMs: 0, lastMs: 0 };
  const answers = [...ANSWERS, unknown];
  expect(decodeSessionAnswers(encodeSessionAnswers(answers))).toEqual(answers);
});

test('an owner may say that it is unavailable', () => {
  expect(decodeSessionAnswers(encodeSessionsUnavailable())).toBeUndefined();
});

test('whatever the bytes of a look-up are, they are read or rejected', () => {
  expectOnlyDecodeErrors(decodeSessionQuestions, encodeSessionQuestions(QUESTIONS));
  const answers = encodeSessionAnswers(ANSWERS);
  // Cut behind its version, an answer says that the owner is unavailable.
  expectOnlyDecodeErrors((bytes) => {
    if (decodeSessionAnswers(bytes) === undefined) throw new DecodeError('unavailable');
  }, answers);
});

test('a look-up of another version says so', () => {
  for (const version of [0, SESSION_LOOKUP_VERSION + 1]) {
    const bytes = Buffer.from(encodeSessionQuestions(QUESTIONS));
    bytes[0] = version;
    expect(() => decodeSessionQuestions(bytes)).toThrow(
      expect.objectContaining({ name: 'DecodeError', reason: 'version' }),
    );
  }
});

test('more questions than one message may have, a time that is none and an endless length are rejected', () => {
  const count = Buffer.from(encodeSessionQuestions([]));
  count.writeUInt32LE(SESSION_LOOKUP_MAX + 1, 1);
  expect(() => decodeSessionQuestions(count)).toThrow('2001 entries');
  for (const occurredAtMs of [Number.NaN, Number.POSITIVE_INFINITY, -1, 1e300]) {
    const bytes = encodeSessionQuestions([{ ...QUESTION, occurredAtMs, eventId: '', credit: false }]);
    expect(() => decodeSessionQuestions(bytes)).toThrow('without a time');
  }
  const length = Buffer.concat([encodeSessionQuestions([]), Buffer.alloc(12, 0xff)]);
  length.writeUInt32LE(1, 1);
  expect(() => decodeSessionQuestions(length)).toThrow(DecodeError);
});
