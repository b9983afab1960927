import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { expectOnlyDecodeErrors } from '../infra/testing/garbage.ts';
import { LOCALE_COLUMNS, NO_ENVIRONMENT } from '../ingest/event.ts';
import { plainEvent } from '../ingest/testing/events.ts';
import {
  decodeHotAnswer,
  decodeHotQuestion,
  encodeHotAnswer,
  encodeHotQuestion,
  HOT_VERSION,
  type HotHead,
  type HotQuestion,
  ROWS_VERSION,
} from './hot.ts';
import { EVENTS_COLUMNS, SESSIONS_COLUMNS } from './rows.ts';
import { FoldRun, messageOf } from './testing/run.ts';
import { readRows, type StoredRow, withoutColumns } from './testing/stored-rows.ts';

/** Rows of two events and their session, with every column filled that a client fills. */
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
    profileId: 'päul',
    revenue: -5n,
    currency: 'EUR',
    groups: ['g', ''],
    properties: ['k', 'v'],
    environment,
  });
  run.take(messageOf([event, { ...event, environment: NO_ENVIRONMENT, groups: [] }], 1));
  run.flush();
  return run;
}

const FOLDED = foldedRows();
const bytesOf = (rows: readonly StoredRow[]) => Buffer.concat(rows.map(({ bytes }) => bytes));
const earlierOf = (rows: readonly StoredRow[], columns: readonly string[]) =>
  Buffer.concat(rows.map((row) => withoutColumns(row, columns, LOCALE_COLUMNS)));
/** The rows as an owner of the release before has them. */
const EARLIER_EVENTS = earlierOf(FOLDED.events, EVENTS_COLUMNS);
const EARLIER_SESSIONS = earlierOf(FOLDED.sessions, SESSIONS_COLUMNS);

const QUESTIONS: readonly HotQuestion[] = [
  { kind: 'live', projectId: 'demo', nowMs: 1_700_000_000_000 },
  { kind: 'live-details', projectId: 'demo', nowMs: 1_700_000_000_000 },
  { kind: 'rows', projectId: 'dëmo', rowsVersion: ROWS_VERSION },
  { kind: 'minutes', projectId: 'demo', fromMs: 0 },
];
const EVENTS = bytesOf(FOLDED.events);
const SESSIONS = bytesOf(FOLDED.sessions);
const ROWS = {
  kind: 'rows',
  rowsVersion: ROWS_VERSION,
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
  { kind: 'live', visitors: 5 },
  { kind: 'live-details', visitors: 5, pages: [['/', 5]], countries: [['DE', 5]], referrers: [['', 5]] },
  { kind: 'minutes', partition: 3, minutes: [MINUTE] },
  { kind: 'unavailable', reason: 'lagging' },
];
const { rowsVersion: _, ...UNNUMBERED } = ROWS;
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
  expect([HOT_VERSION, ROWS_VERSION, hash.digest('hex'), sha256(ROWS_ANSWER)]).toMatchInlineSnapshot(`
    [
      1,
      2,
      "f9b6730bf677c61f678038ae9c0b0505471ef87fa690b90dee7fde2fcfe0c1bd",
      "417d65f6ee7535a9da2560c2438184103c1bd5067db1773d9d277c1803b1bcb8",
    ]
  `);
});

test('questions and answers are read as they were written, with or without a version', () => {
  for (const question of QUESTIONS) {
    expect(decodeHotQuestion(encodeHotQuestion(question))).toEqual(question);
    expect(decodeHotQuestion(Buffer.from(JSON.stringify(question)))).toEqual(question);
  }
  expect(decodeHotQuestion(encodeHotQuestion({ kind: 'rows', projectId: 'dëmo' }))).toEqual(QUESTIONS[2]);
  for (const head of HEADS) {
    expect(decodeHotAnswer(encodeHotAnswer(head)).head).toEqual(head);
    expect(decodeHotAnswer(unversioned(head)).head).toEqual(head);
  }
  for (const bytes of [
    ROWS_ANSWER,
    unversioned(ROWS, EVENTS, SESSIONS),
    encodeHotAnswer(UNNUMBERED, EVENTS, SESSIONS),
  ]) {
    const { head, events, sessions } = decodeHotAnswer(bytes);
    expect([head, Buffer.from(events), Buffer.from(sessions)]).toEqual([ROWS, EVENTS, SESSIONS]);
  }
});

describe('the release before, whose rows have no locale', () => {
  const { rowsVersion: _, ...earlierHead } = {
    ...ROWS,
    eventBytes: EARLIER_EVENTS.length,
    sessionBytes: EARLIER_SESSIONS.length,
  };

  test('asks without a version of rows, and gets rows that it reads', () => {
    const asked = decodeHotQuestion(Buffer.from('{"version":1,"kind":"rows","projectId":"demo"}'));
    expect(asked).toEqual({ kind: 'rows', projectId: 'demo', rowsVersion: 1 });
    const answer = Buffer.from(encodeHotAnswer({ ...ROWS, rowsVersion: 1 }, EVENTS, SESSIONS));
    const end = 4 + answer.readUInt32LE(0);
    expect(JSON.parse(answer.toString('utf8', 4, end))).toEqual({
      version: 1,
      rowsVersion: 1,
      ...earlierHead,
    });
    expect(answer.subarray(end)).toEqual(Buffer.concat([EARLIER_EVENTS, EARLIER_SESSIONS]));
  });

  test('answers without it, and its rows are read with an unknown locale', () => {
    for (const head of [{ version: 1, ...earlierHead }, earlierHead]) {
      const decoded = decodeHotAnswer(unversioned(head, EARLIER_EVENTS, EARLIER_SESSIONS));
      const lengths = { eventBytes: decoded.events.length, sessionBytes: decoded.sessions.length };
      expect(decoded.head).toEqual({ ...ROWS, ...lengths });
      for (const [table, bytes, rows] of [
        ['events', decoded.events, FOLDED.events],
        ['sessions', decoded.sessions, FOLDED.sessions],
      ] as const) {
        const unknown = { language: '', timezone: '', screen: '' };
        expect(readRows(table, bytes).map(({ values }) => values)).toEqual(
          rows.map(({ values }) => ({ ...values, ...unknown })),
        );
      }
    }
  });

  test('has its broken rows rejected', () => {
    const answer = unversioned({ version: 1, ...earlierHead }, EARLIER_EVENTS, EARLIER_SESSIONS);
    expectOnlyDecodeErrors(decodeHotAnswer, answer);
    const cut = EARLIER_EVENTS.subarray(0, EARLIER_EVENTS.length - 1);
    const head = { version: 1, ...earlierHead, eventBytes: cut.length };
    expect(() => decodeHotAnswer(unversioned(head, cut, EARLIER_SESSIONS))).toThrow('hot answer');
  });

  test('is not one after this one', () => {
    const later = { version: 1, ...ROWS, rowsVersion: ROWS_VERSION + 1 };
    expect(() => decodeHotAnswer(unversioned(later, EVENTS, SESSIONS))).toThrow(
      expect.objectContaining({ name: 'DecodeError', reason: 'version' }),
    );
    // An owner answers an asker of a later release with what it has.
    const asked = { version: 1, kind: 'rows', projectId: 'demo', rowsVersion: 9 };
    expect(decodeHotQuestion(Buffer.from(JSON.stringify(asked)))).toMatchObject({
      rowsVersion: ROWS_VERSION,
    });
  });
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
  expect(() => decodeHotAnswer(unversioned({ ...ROWS, version: 2 }, EVENTS, SESSIONS))).toThrow(version);
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
