import fc from 'fast-check';
import { expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { BUCKETS_MAX, bucketsOf, INTERVALS, labelOf } from './buckets.ts';
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
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
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
      expect(bucket?.label).toBe(labelByText(atMs, interval, zone));
    }),
    { numRuns: 300 },
  );
});

/** The label of an instant, from the text of its wall clock. Only Lord Howe's hour of the jump differs. */
function labelByText(atMs: number, interval: (typeof INTERVALS)[number], zone: Zone): string {
  if (zone.name === 'Australia/Lord_Howe' && interval === 'hour') {
    const buckets = bucketsOf({ fromMs: atMs, toMs: atMs + 1 }, interval, zone);
    return buckets?.[0]?.label ?? '';
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

test('an hour that happens twice has two buckets of one label', () => {
  const fromMs = Date.parse('2026-10-24T23:30:00Z');
  const labels = bucketsOf({ fromMs, toMs: fromMs + 3 * HOUR_MS }, 'hour', zones.of('Europe/Berlin'));
  expect(labels?.map(({ label }) => label.slice(11, 16))).toEqual(['01:00', '02:00', '02:00', '03:00']);
});

test('after a half-hour jump, hours still begin at full hours of the wall clock', () => {
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
});

test('more buckets than the maximum are rejected', () => {
  const zone = zones.of('UTC');
  expect(bucketsOf({ fromMs: 0, toMs: BUCKETS_MAX * 60_000 }, 'minute', zone)?.length).toBe(BUCKETS_MAX);
  expect(bucketsOf({ fromMs: 0, toMs: BUCKETS_MAX * 60_000 + 1 }, 'minute', zone)).toBeUndefined();
});

test('labels of minutes and hours have a time, those of days and longer do not', () => {
  const wall = Date.UTC(2026, 2, 4, 5, 6);
  expect(INTERVALS.map((interval) => labelOf(wall, interval))).toEqual([
    '2026-03-04 05:06:00',
    '2026-03-04 05:06:00',
    '2026-03-04',
    '2026-03-02',
    '2026-03-01',
  ]);
});
