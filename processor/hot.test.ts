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
} from './hot.ts';
import { EVENTS_COLUMNS, SESSIONS_COLUMNS } from './rows.ts';
import { FoldRun, messageOf } from './testing/run.ts';
import { readRows, type StoredRow, withoutColumns } from './testing/stored-rows.ts';

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
const MISSING_IN_1 = [...LOCALE_COLUMNS, 'mixed', 'creditedAt'];
const bytesOf = (rows: readonly StoredRow[]) => Buffer.concat(rows.map(({ bytes }) => bytes));
const earlierOf = (rows: readonly StoredRow[], columns: readonly string[]) =>
  Buffer.concat(rows.map((row) => withoutColumns(row, columns, MISSING_IN_1)));
/** The rows as an owner of version 1 has them. */
const EARLIER_EVENTS = earlierOf(FOLDED.events, EVENTS_COLUMNS);
const EARLIER_SESSIONS = earlierOf(FOLDED.sessions, SESSIONS_COLUMNS);

const QUESTIONS: readonly HotQuestion[] = [
  { kind: 'live', projectId: 'demo', reads: HOT_VERSION, nowMs: 1_700_000_000_000 },
  { kind: 'live-details', projectId: 'demo', reads: HOT_VERSION, nowMs: 1_700_000_000_000 },
  { kind: 'rows', projectId: 'dëmo', reads: HOT_VERSION },
  { kind: 'minutes', projectId: 'demo', reads: HOT_VERSION, fromMs: 0 },
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

/** An answer in the form before heads had a version. */
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
      "8e2c6058b29547642f270a4f6ce3a14c4036d0067f7fd7a08e0cd7dbd8619372",
      "52d30b4d1bd5ec0194d4b4be89309275ebbbc5d91b88c48f1624be2bc395becb",
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
  const { head, events, sessions } = decodeHotAnswer(ROWS_ANSWER);
  expect([head, Buffer.from(events), Buffer.from(sessions)]).toEqual([ROWS, EVENTS, SESSIONS]);
});

test('flushes in the memory of the asker and in the store may be named', () => {
  const question = { kind: 'rows', projectId: 'demo', reads: HOT_VERSION, held: [6, 0] } as const;
  expect(decodeHotQuestion(encodeHotQuestion(question))).toEqual(question);
  const head = { ...ROWS, storedFlush: 9 };
  expect(decodeHotAnswer(encodeHotAnswer(head, EVENTS, SESSIONS)).head).toEqual(head);
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

describe('processes of version 1', () => {
  const earlierHead = { ...ROWS, eventBytes: EARLIER_EVENTS.length, sessionBytes: EARLIER_SESSIONS.length };
  const asked = (text: string) => decodeHotQuestion(Buffer.from(text));

  test('read questions, and get answers that they read', () => {
    for (const question of QUESTIONS)
      expect(JSON.parse(Buffer.from(encodeHotQuestion(question)).toString())).toMatchObject({ version: 1 });
    expect(asked('{"version":1,"kind":"rows","projectId":"demo"}')).toEqual({
      kind: 'rows',
      projectId: 'demo',
      reads: 1,
    });
    const answers = [ROWS, ...HEADS].map((head) => {
      const isRows = head === ROWS;
      const answer = Buffer.from(
        encodeHotAnswer(head, isRows ? EVENTS : undefined, isRows ? SESSIONS : undefined, 1),
      );
      const end = 4 + answer.readUInt32LE(0);
      return { head: JSON.parse(answer.toString('utf8', 4, end)), rows: answer.subarray(end) };
    });
    expect(answers.map(({ head }) => head)).toEqual([
      { version: 1, ...earlierHead },
      { version: 1, kind: 'live', visitors: 7 },
      {
        version: 1,
        kind: 'live-details',
        visitors: 6,
        pages: [['/', 6]],
        countries: [['DE', 5]],
        referrers: [['', 5]],
      },
      { version: 1, kind: 'minutes', partition: 3, minutes: [MINUTE] },
      { version: 1, kind: 'unavailable', reason: 'lagging' },
    ]);
    expect(answers[0]?.rows).toEqual(Buffer.concat([EARLIER_EVENTS, EARLIER_SESSIONS]));
  });

  test('give rows that are read as rows of today, whose locale is unknown and whose profiles may be mixed', () => {
    const unknown = { language: '', timezone: '', screen: '' };
    for (const head of [{ version: 1, ...earlierHead }, earlierHead]) {
      const decoded = decodeHotAnswer(unversioned(head, EARLIER_EVENTS, EARLIER_SESSIONS));
      const lengths = { eventBytes: decoded.events.length, sessionBytes: decoded.sessions.length };
      expect(decoded.head).toEqual({ ...ROWS, ...lengths });
      expect(readRows('events', decoded.events).map(({ values }) => values)).toEqual(
        FOLDED.events.map(({ values }) => ({ ...values, ...unknown })),
      );
      expect(readRows('sessions', decoded.sessions).map(({ values }) => values)).toEqual(
        FOLDED.sessions.map(({ values }) => {
          const isNamed = values.profileId !== '';
          const creditedAt = isNamed ? Number(values.touchedAt) + 60_000 : 0;
          return { ...values, ...unknown, mixed: isNamed ? 1 : 0, creditedAt };
        }),
      );
    }
    expect(FOLDED.sessions.some(({ values }) => values.profileId === 'päul')).toBe(true);
  });

  test('have their broken rows rejected', () => {
    const answer = unversioned({ version: 1, ...earlierHead }, EARLIER_EVENTS, EARLIER_SESSIONS);
    expectOnlyDecodeErrors(decodeHotAnswer, answer);
    const cut = EARLIER_EVENTS.subarray(0, EARLIER_EVENTS.length - 1);
    const head = { version: 1, ...earlierHead, eventBytes: cut.length };
    expect(() => decodeHotAnswer(unversioned(head, cut, EARLIER_SESSIONS))).toThrow('hot answer');
  });

  test('are not those of a later version, which get what there is', () => {
    expect(asked('{"version":1,"reads":9,"kind":"rows","projectId":"demo"}')).toMatchObject({
      reads: HOT_VERSION,
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
