import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { expectOnlyDecodeErrors } from '../infra/testing/garbage.ts';
import { storedId } from '../infra/testing/ids.ts';
import { NO_ENVIRONMENT } from '../ingest/event.ts';
import { plainEvent } from '../ingest/testing/events.ts';
import {
  decodeHotAnswer,
  decodeHotQuestion,
  encodeHotAnswer,
  encodeHotQuestion,
  HOT_VERSION,
  type HotHead,
  type HotQuestion,
} from './hot.ts';
import { FoldRun, messageOf } from './testing/run.ts';
import type { StoredRow } from './testing/stored-rows.ts';

/** Rows of two visits, one by a profile, with every column filled that a client fills. */
function foldedRows(): FoldRun {
  const run = new FoldRun();
  const environment = {
    ...NO_ENVIRONMENT,
    city: 'Köln',
    longitude: 6.5,
    model: 'Pixel',
    language: 'de-DE',
    timezone: 'Europe/Berlin',
    screen: '390x844',
  };
  const event = plainEvent({
    revenue: -5n,
    currency: 'EUR',
    groups: ['g', ''],
    properties: ['k', 'v'],
    environment,
  });
  const named = plainEvent({ deviceId: 'b'.repeat(32), sessionId: 'b'.repeat(32), profileId: 'päul' });
  run.take(messageOf([event, named], 1));
  run.flush();
  return run;
}

const FOLDED = foldedRows();
const bytesOf = (rows: readonly StoredRow[]) => Buffer.concat(rows.map(({ bytes }) => bytes));
const QUESTIONS: readonly HotQuestion[] = [
  { kind: 'live', projectId: storedId('demo'), reads: HOT_VERSION, nowMs: 1_700_000_000_000 },
  { kind: 'live-details', projectId: storedId('demo'), reads: HOT_VERSION, nowMs: 1_700_000_000_000 },
  { kind: 'rows', projectId: storedId('dëmo'), reads: HOT_VERSION },
  { kind: 'minutes', projectId: storedId('demo'), reads: HOT_VERSION, fromMs: 0 },
];
const EVENTS = bytesOf(FOLDED.events);
const SESSIONS = bytesOf(FOLDED.sessions);
const ROWS = {
  kind: 'rows',
  partition: 3,
  flushNumber: 7,
  eventBytes: EVENTS.length,
  sessionBytes: SESSIONS.length,
  eventRows: 2,
  sessionRows: 1,
  hours: [1_699_999_200_000],
} as const satisfies HotHead;
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

/** An answer whose head is any object. */
function answerOf(head: object, ...rows: readonly Uint8Array[]): Buffer {
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
      1,
      "b05115121cbb8bfbdc3936d21cbd9f8c9030bb227485237ea5eb4eaccc1a6a0d",
      "ad94f3443d88f95d86543912fe8dd1d27fc6de4ecf2fda75e6b433faf9c9a7b9",
    ]
  `);
});

test('questions and answers are read as they were written', () => {
  for (const question of QUESTIONS) expect(decodeHotQuestion(encodeHotQuestion(question))).toEqual(question);
  for (const head of HEADS) expect(decodeHotAnswer(encodeHotAnswer(head)).head).toEqual(head);
  const { head, events, sessions } = decodeHotAnswer(ROWS_ANSWER);
  expect([head, Buffer.from(events), Buffer.from(sessions)]).toEqual([ROWS, EVENTS, SESSIONS]);
});

test('flushes in the memory of the asker and in the store may be named', () => {
  const question = { kind: 'rows', projectId: storedId('demo'), reads: HOT_VERSION, held: [6, 0] } as const;
  expect(decodeHotQuestion(encodeHotQuestion(question))).toEqual(question);
  const head = { ...ROWS, storedFlush: 9 };
  expect(decodeHotAnswer(encodeHotAnswer(head, EVENTS, SESSIONS)).head).toEqual(head);
});

test('an asker of a later version gets what there is, and one that names no version nothing', () => {
  const asked = (text: string) => decodeHotQuestion(Buffer.from(text));
  expect(asked('{"version":1,"reads":9,"kind":"rows","projectId":"demo"}')).toMatchObject({
    reads: HOT_VERSION,
  });
  for (const reads of ['', '"reads":0,'])
    expect(() => asked(`{"version":1,${reads}"kind":"rows","projectId":"demo"}`)).toThrow('reads');
});

test('an answer has the requested version; that the owner is unavailable has version 1', () => {
  const versionOf = (bytes: Uint8Array) =>
    JSON.parse(Buffer.from(bytes).toString('utf8', 4, 4 + Buffer.from(bytes).readUInt32LE(0))).version;
  expect(versionOf(encodeHotAnswer(ROWS, EVENTS, SESSIONS, 7))).toBe(7);
  expect(
    versionOf(encodeHotAnswer({ kind: 'unavailable', reason: 'lagging' }, undefined, undefined, 7)),
  ).toBe(1);
});

test('whatever the bytes are, they are read or rejected', () => {
  for (const question of QUESTIONS) expectOnlyDecodeErrors(decodeHotQuestion, encodeHotQuestion(question));
  for (const head of HEADS) expectOnlyDecodeErrors(decodeHotAnswer, encodeHotAnswer(head));
  expectOnlyDecodeErrors(decodeHotAnswer, ROWS_ANSWER);
});

test('a question or an answer of another version says so', () => {
  const version = expect.objectContaining({ name: 'DecodeError', reason: 'version' });
  for (const question of QUESTIONS)
    expect(() => decodeHotQuestion(Buffer.from(JSON.stringify({ ...question, version: 2 })))).toThrow(
      version,
    );
  expect(() => decodeHotAnswer(answerOf({ ...ROWS, version: HOT_VERSION + 1 }, EVENTS, SESSIONS))).toThrow(
    version,
  );
});

test.each<[string, object]>([
  ['a time that would empty the counters', { kind: 'live', projectId: storedId('demo'), nowMs: 1e300 }],
  ['no site', { kind: 'rows' }],
  ['a text for a time', { kind: 'minutes', projectId: storedId('demo'), fromMs: '0' }],
])('a question with %s is rejected', (_, question) => {
  expect(() => decodeHotQuestion(Buffer.from(JSON.stringify({ version: 1, reads: 1, ...question })))).toThrow(
    'hot question',
  );
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
  expect(() => decodeHotAnswer(answerOf({ version: HOT_VERSION, ...head }, EVENTS, SESSIONS))).toThrow(
    'hot answer',
  );
});
