import fc from 'fast-check';
import { expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import { BUCKETS_MAX, bucketsOf, floorTo, INTERVALS, labelOf } from './buckets.ts';
import { pointOf } from './range.ts';
import { type Zone, Zones } from './zone.ts';

const zones = new Zones();
const ZONE_NAMES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/St_Johns',
  'America/Sao_Paulo',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Asia/Beirut',
  'Africa/Cairo',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Pacific/Chatham',
  'Antarctica/Troll',
];
const LENGTHS_MS = {
  minute: HOUR_MS,
  hour: 3 * DAY_MS,
  day: 40 * DAY_MS,
  week: 200 * DAY_MS,
  month: 900 * DAY_MS,
};

const spans = fc.record({
  zone: fc.constantFrom(...ZONE_NAMES).map((name) => zones.of(name)),
  interval: fc.constantFrom(...INTERVALS),
  fromMs: fc.integer({ min: Date.UTC(1990, 0), max: Date.UTC(2035, 0) }),
  part: fc.double({ min: 0.001, max: 1, noNaN: true }),
});

test('buckets tile a span exactly, in every zone', () => {
  fc.assert(
    fc.property(spans, ({ zone, interval, fromMs, part }) => {
      const toMs = fromMs + Math.ceil(part * LENGTHS_MS[interval]);
      const buckets = must(bucketsOf({ fromMs, toMs }, interval, zone), 'there are not too many');
      expect(buckets[0]?.fromMs).toBe(fromMs);
      for (let index = 1; index < buckets.length; index += 1) {
        expect(buckets[index]?.fromMs).toBeGreaterThan(buckets[index - 1]?.fromMs ?? 0);
      }
      expect(buckets.at(-1)?.fromMs).toBeLessThan(toMs);
    }),
    { numRuns: 300 },
  );
});

test('every instant lies in the bucket with the label of its unit', () => {
  fc.assert(
    fc.property(spans, fc.double({ min: 0, max: 0.999, noNaN: true }), (span, place) => {
      const { zone, interval, fromMs, part } = span;
      const toMs = fromMs + Math.ceil(part * LENGTHS_MS[interval]);
      const atMs = fromMs + Math.floor(place * (toMs - fromMs));
      const buckets = must(bucketsOf({ fromMs, toMs }, interval, zone), 'there are not too many');
      const bucket = buckets.findLast((candidate) => candidate.fromMs <= atMs);
      expect(bucket?.label.slice(0, 19)).toBe(labelByText(atMs, interval, zone));
    }),
    { numRuns: 300 },
  );
});

/**
 * The label of an instant, from the text of its wall clock and without the offset of a second pass. The hour of Lord
 * Howe that begins with a jump differs.
 */
function labelByText(atMs: number, interval: (typeof INTERVALS)[number], zone: Zone): string {
  if (zone.name === 'Australia/Lord_Howe' && interval === 'hour') {
    const buckets = bucketsOf({ fromMs: atMs, toMs: atMs + 1 }, interval, zone);
    return buckets?.[0]?.label.slice(0, 19) ?? '';
  }
  const text = new Date(zone.wallMs(atMs)).toISOString();
  if (interval === 'minute') return `${text.slice(0, 10)} ${text.slice(11, 16)}:00`;
  if (interval === 'hour') return `${text.slice(0, 10)} ${text.slice(11, 13)}:00:00`;
  if (interval === 'day') return text.slice(0, 10);
  if (interval === 'month') return `${text.slice(0, 7)}-01`;
  const noon = new Date(`${text.slice(0, 10)}T12:00:00Z`);
  noon.setUTCDate(noon.getUTCDate() - ((noon.getUTCDay() + 6) % 7));
  return noon.toISOString().slice(0, 10);
}

test.each([
  ['Europe/Berlin', '2026-03-28T23:00:00Z', 23],
  ['Europe/Berlin', '2026-10-24T22:00:00Z', 25],
  ['America/Sao_Paulo', '2018-11-04T03:00:00Z', 23],
  ['Asia/Kolkata', '2026-10-24T18:30:00Z', 24],
])('a day in %s from %s has %i hours', (name, from, hours) => {
  const zone = zones.of(name);
  const fromMs = Date.parse(from);
  const days = must(bucketsOf({ fromMs, toMs: fromMs + 2 * DAY_MS }, 'day', zone), 'two days');
  expect((days[1]?.fromMs ?? 0) - fromMs).toBe(hours * HOUR_MS);
  const hourly = bucketsOf({ fromMs, toMs: days[1]?.fromMs ?? 0 }, 'hour', zone);
  expect(hourly?.length).toBe(hours);
});

test('the second pass of an hour that happens twice has the offset in its label', () => {
  const fromMs = Date.parse('2026-10-24T23:30:00Z');
  const labels = bucketsOf({ fromMs, toMs: fromMs + 3 * HOUR_MS }, 'hour', zones.of('Europe/Berlin'));
  expect(labels?.map(({ label }) => label.slice(11))).toEqual([
    '01:00:00',
    '02:00:00',
    '02:00:00+01:00',
    '03:00:00',
  ]);
});

test.each([
  ['Europe/Berlin', '2026-10-25T01:00:00Z', '2026-10-25 02:00:00+01:00'],
  ['America/New_York', '2026-11-01T06:00:00Z', '2026-11-01 01:00:00-05:00'],
  ['America/Sao_Paulo', '2018-02-18T02:00:00Z', '2018-02-17 23:00:00-03:00'],
  ['Australia/Sydney', '2026-04-04T16:00:00Z', '2026-04-05 02:00:00+10:00'],
  ['Pacific/Chatham', '2026-04-04T14:15:00Z', '2026-04-05 03:00:00+12:45'],
  ['America/St_Johns', '2026-11-01T04:30:00Z', '2026-11-01 01:00:00-03:30'],
  // The clocks went from 00:01 back to 23:01 of the day before.
  ['America/St_Johns', '2006-10-29T02:31:00Z', '2006-10-28 23:01:00-03:30'],
  ['Europe/Berlin', '2026-10-25T02:00:00Z', '2026-10-25 03:00:00'],
  ['Europe/Berlin', '2026-03-29T01:00:00Z', '2026-03-29 03:00:00'],
  ['America/New_York', '2026-03-08T07:00:00Z', '2026-03-08 03:00:00'],
  ['Australia/Sydney', '2026-10-03T16:00:00Z', '2026-10-04 03:00:00'],
])('in %s the hour from %s is called %s', (name, at, label) => {
  const zone = zones.of(name);
  const fromMs = Date.parse(at);
  const span = { fromMs: fromMs - 3 * HOUR_MS, toMs: fromMs + 3 * HOUR_MS };
  const buckets = must(bucketsOf(span, 'hour', zone), 'a few hours');
  expect(buckets.find((bucket) => bucket.fromMs === fromMs)?.label).toBe(label);
});

test.each([
  ['Europe/Berlin', '2026-10-25T00:00:00Z'],
  ['Europe/Berlin', '2026-03-29T00:00:00Z'],
  ['America/New_York', '2026-11-01T06:00:00Z'],
  ['America/Sao_Paulo', '2018-02-18T02:00:00Z'],
  ['America/St_Johns', '2006-10-29T02:31:00Z'],
  ['Australia/Lord_Howe', '2026-04-04T15:00:00Z'],
  ['Australia/Lord_Howe', '2026-10-03T15:30:00Z'],
  ['Antarctica/Troll', '2026-10-25T01:00:00Z'],
  ['Africa/Casablanca', '2026-02-15T02:00:00Z'],
])(
  'around the change of clocks in %s at %s every label names one bucket, and where it begins',
  (name, at) => {
    const zone = zones.of(name);
    for (const interval of ['minute', 'hour'] as const) {
      const fromMs = floorTo(Date.parse(at) - 5 * HOUR_MS, 'hour', zone);
      const buckets = must(bucketsOf({ fromMs, toMs: fromMs + 10 * HOUR_MS }, interval, zone), 'ten hours');
      expect(new Set(buckets.map(({ label }) => label)).size).toBe(buckets.length);
      for (const { fromMs: beginMs, label } of buckets) expect(pointOf(label, zone)?.fromMs).toBe(beginMs);
    }
  },
);

test('after a half-hour jump back, hours still begin at full hours of the wall clock', () => {
  const zone = zones.of('Australia/Lord_Howe');
  const fromMs = Date.parse('2026-04-04T13:00:00Z'); // Midnight; at 02:00 the clock goes back to 01:30.
  const buckets = must(bucketsOf({ fromMs, toMs: fromMs + 4 * HOUR_MS }, 'hour', zone), 'four hours');
  expect(buckets.map(({ label }) => label.slice(11))).toEqual([
    '00:00:00',
    '01:00:00',
    '02:00:00',
    '03:00:00',
  ]);
  expect((buckets[2]?.fromMs ?? 0) - (buckets[1]?.fromMs ?? 0)).toBe(1.5 * HOUR_MS);
  const minutes = bucketsOf(
    { fromMs: fromMs + 2 * HOUR_MS - 1, toMs: fromMs + 2.5 * HOUR_MS },
    'minute',
    zone,
  );
  expect(minutes?.slice(0, 2).map(({ label }) => label.slice(11))).toEqual(['01:59:00', '01:30:00+10:30']);
  expect(minutes?.at(-1)?.label.slice(11)).toBe('01:59:00+10:30');
});

test('an hour of which a jump skips the first half begins at the jump', () => {
  const zone = zones.of('Australia/Lord_Howe');
  const fromMs = Date.parse('2026-10-03T14:30:00Z'); // 01:00; at 02:00 the clock goes to 02:30.
  const buckets = must(bucketsOf({ fromMs, toMs: fromMs + 2.5 * HOUR_MS }, 'hour', zone), 'three hours');
  expect(
    buckets.map(({ fromMs: beginMs, label }) => [(beginMs - fromMs) / HOUR_MS, label.slice(11)]),
  ).toEqual([
    [0, '01:00:00'],
    [1, '02:30:00'],
    [1.5, '03:00:00'],
  ]);
});

test('more buckets than the maximum are rejected', () => {
  const zone = zones.of('UTC');
  expect(bucketsOf({ fromMs: 0, toMs: BUCKETS_MAX * 60_000 }, 'minute', zone)?.length).toBe(BUCKETS_MAX);
  expect(bucketsOf({ fromMs: 0, toMs: BUCKETS_MAX * 60_000 + 1 }, 'minute', zone)).toBeUndefined();
});

test('labels of minutes and hours have a time, those of days and longer do not', () => {
  const atMs = Date.UTC(2026, 2, 4, 5, 6);
  expect(INTERVALS.map((interval) => labelOf(atMs, interval, zones.of('UTC')))).toEqual([
    '2026-03-04 05:06:00',
    '2026-03-04 05:06:00',
    '2026-03-04',
    '2026-03-02',
    '2026-03-01',
  ]);
});
