import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { expectOnlyDecodeErrors } from '../infra/testing/garbage.ts';
import {
  decodeHotAnswer,
  decodeHotQuestion,
  encodeHotAnswer,
  encodeHotQuestion,
  HOT_VERSION,
  type HotHead,
  type HotQuestion,
} from './hot.ts';

const QUESTIONS: readonly HotQuestion[] = [
  { kind: 'live', projectId: 'demo', nowMs: 1_700_000_000_000 },
  { kind: 'live-details', projectId: 'demo', nowMs: 1_700_000_000_000 },
  { kind: 'rows', projectId: 'dëmo' },
  { kind: 'minutes', projectId: 'demo', fromMs: 0 },
];
const EVENTS = Buffer.from('rows of events');
const SESSIONS = Buffer.from('rows of sessions');
const ROWS: HotHead = {
  kind: 'rows',
  partition: 3,
  flushNumber: 7,
  eventBytes: EVENTS.length,
  sessionBytes: SESSIONS.length,
  eventRows: 2,
  sessionRows: 1,
  hours: [1_699_999_200_000],
};
const MINUTE = {
  minuteMs: 1_699_999_980_000,
  screenViews: 2,
  otherEvents: 1,
  sessions: 1,
  bounces: 0,
  durationMs: 10,
  revenue: { EUR: '-99' },
  visitors: [1, 2 ** 51],
};
const HEADS: readonly HotHead[] = [
  { kind: 'live', visitors: 5, profiles: [7, 2 ** 51] },
  {
    kind: 'live-details',
    visitors: 5,
    profiles: [7],
    pages: [['/', 5, [7]]],
    countries: [['DE', 5, []]],
    referrers: [['', 5, []]],
  },
  { kind: 'minutes', partition: 3, minutes: [MINUTE] },
  { kind: 'unavailable', reason: 'lagging' },
];
const ROWS_ANSWER = encodeHotAnswer(ROWS, EVENTS, SESSIONS);
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** As it was written before heads had a version. */
function unversioned(head: object, ...rows: readonly Uint8Array[]): Buffer {
  const text = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length, 0);
  return Buffer.concat([length, text, ...rows]);
}

test('the bytes of questions and answers change only with their version', () => {
  const hash = createHash('sha256');
  for (const question of QUESTIONS) hash.update(encodeHotQuestion(question));
  for (const head of HEADS) hash.update(encodeHotAnswer(head));
  expect([HOT_VERSION, hash.digest('hex'), sha256(ROWS_ANSWER)]).toMatchInlineSnapshot(`
    [
      2,
      "a124d92175885a94f5bb7aab3998003da5c1e63c2b6b3d7e162735a3e5dc93fe",
      "2e36b5cf1316854d78a3124d95fec07937200f4731b77af1faca75ae9deb5171",
    ]
  `);
});

test('questions and answers are read as they were written, with or without a version', () => {
  for (const question of QUESTIONS) {
    expect(decodeHotQuestion(encodeHotQuestion(question))).toEqual(question);
    expect(decodeHotQuestion(Buffer.from(JSON.stringify(question)))).toEqual(question);
  }
  for (const head of HEADS) {
    expect(decodeHotAnswer(encodeHotAnswer(head)).head).toEqual(head);
    expect(decodeHotAnswer(unversioned(head)).head).toEqual(head);
  }
  for (const bytes of [ROWS_ANSWER, unversioned(ROWS, EVENTS, SESSIONS)]) {
    const { head, events, sessions } = decodeHotAnswer(bytes);
    expect([head, Buffer.from(events), Buffer.from(sessions)]).toEqual([ROWS, EVENTS, SESSIONS]);
  }
});

test('an owner that counts devices alone is understood', () => {
  const counts = { pages: [['/', 5]], countries: [], referrers: [] };
  for (const version of [0, 1]) {
    expect(decodeHotAnswer(unversioned({ kind: 'live', visitors: 5, version })).head).toMatchObject({
      visitors: 5,
      profiles: [],
    });
    const details = { kind: 'live-details', visitors: 5, ...counts, version };
    expect(decodeHotAnswer(unversioned(details)).head).toMatchObject({ profiles: [], pages: [['/', 5, []]] });
  }
});

test('whatever the bytes are, they are read or rejected', () => {
  for (const question of QUESTIONS) expectOnlyDecodeErrors(decodeHotQuestion, encodeHotQuestion(question));
  for (const head of HEADS) expectOnlyDecodeErrors(decodeHotAnswer, encodeHotAnswer(head));
  expectOnlyDecodeErrors(decodeHotAnswer, ROWS_ANSWER);
});

test('a question or an answer of another version says so', () => {
  const version = expect.objectContaining({ name: 'DecodeError', reason: 'version' });
  for (const question of QUESTIONS)
    expect(() => decodeHotQuestion(Buffer.from(JSON.stringify({ ...question, version: 3 })))).toThrow(
      version,
    );
  expect(() => decodeHotAnswer(unversioned({ ...ROWS, version: 3 }, EVENTS, SESSIONS))).toThrow(version);
});

test.each<[string, object]>([
  ['a time that would empty the counters', { kind: 'live', projectId: 'demo', nowMs: 1e300 }],
  ['no site', { kind: 'rows' }],
  ['a text for a time', { kind: 'minutes', projectId: 'demo', fromMs: '0' }],
])('a question with %s is rejected', (_, question) => {
  expect(() => decodeHotQuestion(Buffer.from(JSON.stringify(question)))).toThrow('hot question');
});

test.each<[string, object]>([
  ['more rows than it has', { ...ROWS, sessionBytes: 1e9 }],
  ['fewer rows than it has', { ...ROWS, sessionBytes: 1 }],
  ['rows of a negative length', { ...ROWS, eventBytes: -1 }],
  ['texts for visitors', { kind: 'minutes', partition: 0, minutes: [{ ...MINUTE, visitors: ['1'] }] }],
  [
    'revenue that is no whole number',
    { kind: 'minutes', partition: 0, minutes: [{ ...MINUTE, revenue: { EUR: '1.5' } }] },
  ],
  ['pages without counts', { ...HEADS[1], pages: [['/']] }],
])('an answer with %s is rejected', (_, head) => {
  expect(() => decodeHotAnswer(unversioned(head, EVENTS, SESSIONS))).toThrow('hot answer');
});
