import fc from 'fast-check';
import { expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { majorUnits } from '../../infra/money.ts';
import { storedId } from '../../infra/testing/ids.ts';
import type { Environment, Event, Source } from '../../ingest/event.ts';
import { oddText, plainEvent, START_MS } from '../../ingest/testing/events.ts';
import { EVENTS_COLUMNS } from '../rows.ts';
import { FoldRun, messageOf } from '../testing/run.ts';
import { readRows, type StoredRow } from '../testing/stored-rows.ts';
import { type FedEvent, readEvent } from './fed-event.ts';
import { RowReader } from './row-reader.ts';

/** Folds events into one flush; returns its rows as bytes. */
function rowsOf(events: readonly Event[]): Buffer {
  const run = new FoldRun();
  run.take(messageOf(events, 1));
  run.flush();
  return must(run.batches[0], 'there was a flush').events.writer.bytes();
}

function readAll(bytes: Buffer, projectId: string): FedEvent[] {
  const row = new RowReader(bytes);
  const events: FedEvent[] = [];
  while (row.offset < bytes.length) events.push(readEvent(row, { projectId, index: events.length }));
  // Every row was read to its very end.
  expect(row.offset).toBe(bytes.length);
  return events;
}

test('an event in the feed has exactly these fields', () => {
  const event = plainEvent({
    projectId: storedId('shop~2'),
    profileId: 'user-1',
    eventId: 'sent-as',
    name: 'revenue',
    sessionId: 'ab'.repeat(16),
    revenue: -1234n,
    currency: 'EUR',
    orderId: 'A-1',
    origin: 'https://shop.example',
    path: '/größe',
    query: 'q=1',
    hash: 'top',
    title: 'a\u0001b"\\\n',
    source: {
      referrer: 'https://search.example/',
      referrerName: 'Search',
      referrerType: 'search',
      utmSource: 's',
      utmMedium: 'm',
      utmCampaign: 'c',
      utmTerm: 't',
      utmContent: 'n',
      channel: 'Paid Search',
    },
    environment: {
      country: 'DE',
      region: 'Berlin',
      city: 'Berlin',
      longitude: 13.41,
      latitude: 52.52437,
      browser: 'Firefox',
      browserVersion: '127.0',
      os: 'Linux',
      osVersion: '6',
      device: 'desktop',
      brand: 'Acme',
      model: 'One',
      language: 'de-DE',
      timezone: 'Europe/Berlin',
      screen: '1920x1080',
    },
    groups: ['g1', 'g2'],
    properties: ['plan', 'pro', '__proto__', 'odd'],
    sdkName: 'node',
    sdkVersion: '1.3.1',
  });
  const [start, fed] = readAll(rowsOf([event]), 'shop');
  expect(start).toMatchObject({ name: 'session_start', sequence: [0, 1, 0], revenue: null, properties: {} });
  expect(JSON.parse(JSON.stringify(fed))).toEqual(
    JSON.parse(`{
      "id": "07000000000000000100000000000000", "sequence": [0, 1, 1], "name": "revenue",
      "deviceId": "0123456789abcdef0123456789abcdef", "profileId": "user-1",
      "sessionId": "abababababababababababababababab", "projectId": "shop",
      "createdAt": "2024-02-28T23:50:00.000Z", "path": "/größe", "origin": "https://shop.example",
      "title": "a\\u0001b\\"\\\\\\n", "country": "DE", "city": "Berlin", "os": "Linux", "browser": "Firefox",
      "device": "desktop", "groups": ["g1", "g2"], "properties": {"plan": "pro", "__proto__": "odd"},
      "profile": {"id": "user-1"},
      "meta": {"eventId": "sent-as", "receivedAt": "2024-02-28T23:50:00.000Z", "query": "q=1", "hash": "top"},
      "referrer": "https://search.example/", "referrerName": "Search", "referrerType": "search",
      "region": "Berlin", "longitude": 13.41, "latitude": 52.52437, "brand": "Acme", "model": "One",
      "browserVersion": "127.0", "osVersion": "6", "language": "de-DE", "timezone": "Europe/Berlin",
      "screen": "1920x1080", "revenue": -12.34, "currency": "EUR", "orderId": "A-1",
      "utmSource": "s", "utmMedium": "m", "utmCampaign": "c", "utmTerm": "t", "utmContent": "n",
      "channel": "Paid Search", "sdkName": "node", "sdkVersion": "1.3.1"
    }`),
  );
});

function textsOf<Name extends string>(...names: readonly Name[]): fc.Arbitrary<Record<Name, string>> {
  const texts = fc.array(oddText, { minLength: names.length, maxLength: names.length });
  return texts.map(
    (drawn) =>
      Object.fromEntries(names.map((name, index) => [name, drawn[index] ?? ''])) as Record<Name, string>,
  );
}

const source: fc.Arbitrary<Source> = textsOf(
  ...(['referrer', 'referrerName', 'referrerType', 'utmSource', 'utmMedium', 'utmCampaign'] as const),
  ...(['utmTerm', 'utmContent', 'channel'] as const),
);
const single = fc.float({ min: -180, max: 180, noNaN: true });
const environment: fc.Arbitrary<Environment> = fc
  .tuple(
    textsOf('country', 'region', 'city', 'browser', 'browserVersion', 'os', 'osVersion'),
    textsOf('device', 'brand', 'model', 'language', 'timezone', 'screen'),
    fc.record({ longitude: single, latitude: single }),
  )
  .map(([place, machine, coordinates]) => ({ ...place, ...machine, ...coordinates }));

const anyEvent: fc.Arbitrary<Event> = fc
  .record({
    own: textsOf('eventId', 'orderId', 'name', 'origin', 'path', 'query', 'hash', 'title', 'profileId'),
    sdk: textsOf('sdkName', 'sdkVersion'),
    device: fc.constantFrom('', 'a', 'b'),
    agoMs: fc.integer({ min: 0, max: 2_000_000_000 }),
    money: fc.option(
      fc.record({
        revenue: fc.bigInt({ min: -9_007_199_254_740_991n, max: 9_007_199_254_740_991n }),
        currency: fc.constantFrom('EUR', 'JPY', 'KWD', 'CLF'),
      }),
      { nil: undefined },
    ),
    source,
    environment,
    groups: fc.array(oddText, { maxLength: 3 }),
    properties: fc.uniqueArray(oddText, { maxLength: 4 }).map((keys) => keys.flatMap((key) => [key, key])),
  })
  .map(({ own, sdk, device, agoMs, money, ...rest }) =>
    plainEvent({
      ...own,
      ...sdk,
      ...money,
      ...rest,
      deviceId: device.repeat(32),
      sessionId: device === '' ? '' : device.repeat(32),
      occurredAtMs: START_MS - agoMs,
    }),
  );

/** The values of each column as the feed shows them, by a separate decoder. */
const FED: Readonly<Record<string, (fed: FedEvent) => unknown>> = {
  partition: ({ sequence }) => sequence[0],
  flushNumber: ({ sequence }) => sequence[1],
  sessionId: ({ sessionId }) => sessionId || '0'.repeat(32),
  createdAt: ({ createdAt }) => Date.parse(createdAt),
  receivedAt: ({ meta }) => Date.parse(meta.receivedAt),
  eventId: ({ meta }) => meta.eventId,
  query: ({ meta }) => meta.query,
  hash: ({ meta }) => meta.hash,
  longitude: ({ longitude }) => Math.fround(longitude ?? 0),
  latitude: ({ latitude }) => Math.fround(latitude ?? 0),
  properties: ({ properties }) => properties,
};

function expectSame(fed: FedEvent, { values }: StoredRow): void {
  expect(Object.keys(values)).toEqual([...EVENTS_COLUMNS]);
  for (const column of EVENTS_COLUMNS) {
    const own = FED[column] ?? ((event: FedEvent) => event[column as keyof FedEvent]);
    let stored = values[column];
    if (column === 'properties') stored = Object.fromEntries(stored as [string, string][]);
    if (column === 'revenue')
      stored = values.currency === '' ? null : majorUnits(BigInt(String(stored)), String(values.currency));
    // Zero has no sign here.
    if (typeof stored === 'number') stored += 0;
    expect([column, own(fed)]).toEqual([column, stored]);
  }
  expect(fed.profile).toEqual(values.profileId === '' ? null : { id: values.profileId });
}

test('every column of every row is read back as it was written', () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { minLength: 1, maxLength: 6 }), (events) => {
      const bytes = rowsOf(events);
      const fed = readAll(bytes, 'demo');
      const rows = readRows('events', bytes);
      expect(fed).toHaveLength(rows.length);
      for (const [index, row] of rows.entries()) {
        const event = must(fed[index], 'there is one for each row');
        expectSame(event, row);
        expect(JSON.parse(JSON.stringify(event))).toEqual(event);
      }
    }),
    { numRuns: 200 },
  );
});

test('a skipped row is skipped to its very end', () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { minLength: 1, maxLength: 6 }), (events) => {
      const bytes = rowsOf(events);
      const row = new RowReader(bytes);
      const ends = readRows('events', bytes).map(() => {
        row.skip(0, EVENTS_COLUMNS.length);
        return row.offset;
      });
      expect(ends.at(-1)).toBe(bytes.length);
    }),
  );
});
