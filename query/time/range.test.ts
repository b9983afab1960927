import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY_MS } from '../../infra/durations.ts';
import { RANGES, type Range, type RangeQuestion, rangeOf } from './range.ts';
import { Zones } from './zone.ts';

const zones = new Zones();
// A Saturday.
const NOW_MS = Date.parse('2026-11-21T10:20:30.400Z');

function range(question: RangeQuestion, zone = 'UTC', nowMs = NOW_MS): Range {
  const made = rangeOf(question, nowMs, zones.of(zone));
  if ('kind' in made) throw new Error(made.message);
  return made;
}

function text({ span, previous, interval, buckets }: Range): string {
  const time = (ms: number) => new Date(ms).toISOString().replace(/:00\.000Z$/, '');
  return [previous.fromMs, previous.toMs, span.fromMs, span.toMs]
    .map(time)
    .concat(interval, String(buckets.length))
    .join(' ');
}

test.each([
  ['30min', '2026-11-21T09:21 2026-11-21T09:51 2026-11-21T09:51 2026-11-21T10:21 minute 30'],
  ['lastHour', '2026-11-21T08:21 2026-11-21T09:21 2026-11-21T09:21 2026-11-21T10:21 minute 60'],
  ['last24h', '2026-11-19T11:00 2026-11-20T11:00 2026-11-20T11:00 2026-11-21T11:00 hour 24'],
  ['today', '2026-11-20T00:00 2026-11-21T00:00 2026-11-21T00:00 2026-11-22T00:00 hour 24'],
  ['yesterday', '2026-11-19T00:00 2026-11-20T00:00 2026-11-20T00:00 2026-11-21T00:00 hour 24'],
  ['7d', '2026-11-08T00:00 2026-11-15T00:00 2026-11-15T00:00 2026-11-22T00:00 day 7'],
  ['30d', '2026-09-23T00:00 2026-10-23T00:00 2026-10-23T00:00 2026-11-22T00:00 day 30'],
  ['3m', '2026-05-22T00:00 2026-08-22T00:00 2026-08-22T00:00 2026-11-22T00:00 day 92'],
  ['6m', '2025-11-22T00:00 2026-05-22T00:00 2026-05-22T00:00 2026-11-22T00:00 week 27'],
  ['12m', '2024-11-22T00:00 2025-11-22T00:00 2025-11-22T00:00 2026-11-22T00:00 month 13'],
  ['monthToDate', '2026-10-01T00:00 2026-10-22T00:00 2026-11-01T00:00 2026-11-22T00:00 day 21'],
  ['lastMonth', '2026-09-01T00:00 2026-10-01T00:00 2026-10-01T00:00 2026-11-01T00:00 day 31'],
  ['yearToDate', '2025-01-01T00:00 2025-11-22T00:00 2026-01-01T00:00 2026-11-22T00:00 month 11'],
  ['lastYear', '2024-01-01T00:00 2025-01-01T00:00 2025-01-01T00:00 2026-01-01T00:00 month 12'],
] as const)('%s is %s', (name, expected) => {
  expect(text(range({ range: name }))).toBe(expected);
});

test.each([
  ['a range of nothing is that of the last seven days', {}, 'UTC', '2026-11-15T00:00:00.000Z', 7],
  [
    'dates without a range are custom',
    { startDate: '2026-01-01', endDate: '2026-01-01' },
    'UTC',
    '2026-01-01T00:00:00.000Z',
    24,
  ],
  [
    'days are those of the site',
    { startDate: '2026-07-01', endDate: '2026-07-03' },
    'Asia/Kolkata',
    '2026-06-30T18:30:00.000Z',
    3,
  ],
  [
    'today has 25 hours when the clock is put back',
    { startDate: '2026-10-25', endDate: '2026-10-25' },
    'Europe/Berlin',
    '2026-10-24T22:00:00.000Z',
    25,
  ],
  [
    'a time without a zone is the site’s',
    { startDate: '2026-07-01 10:00', endDate: '2026-07-01 11:00' },
    'Europe/Berlin',
    '2026-07-01T08:00:00.000Z',
    60,
  ],
  [
    'an instant has its own zone',
    { startDate: '2026-07-01T10:00:00+05:30', endDate: '2026-07-01T05:00:00Z' },
    'Europe/Berlin',
    '2026-07-01T04:30:00.000Z',
    30,
  ],
])('%s', (_name, question, zone, from, buckets) => {
  const made = range(question, zone);
  expect(new Date(made.span.fromMs).toISOString()).toBe(from);
  expect(made.buckets.length).toBe(buckets);
});

test.each([
  [{ range: '7d', startDate: '2026-01-01' }, 'range:'],
  [{ range: 'custom' }, 'startDate:'],
  [{ startDate: '2026-01-01' }, 'endDate:'],
  [{ endDate: '2026-01-01' }, 'startDate:'],
  [{ startDate: '2026-01-02', endDate: '2026-01-01' }, 'endDate:'],
  [{ startDate: '2026-02-29', endDate: '2026-03-01' }, 'startDate:'],
  [{ startDate: '2026-02-28', endDate: 'tomorrow' }, 'endDate:'],
  [{ startDate: '0001-01-01', endDate: '2026-03-01' }, 'startDate:'],
  [{ startDate: '2026-01-01', endDate: '2026-12-31', interval: 'minute' }, 'interval:'],
] as const)('%o is rejected, naming %s', (question, name) => {
  const made = rangeOf(question, NOW_MS, zones.of('UTC'));
  expect('kind' in made && made.message.startsWith(name)).toBe(true);
});

test.each([
  ['2026-01-01T00:00Z', '2026-01-01T02:00Z', 'minute'],
  ['2026-01-01T00:00Z', '2026-01-01T02:01Z', 'hour'],
  ['2026-01-01', '2026-01-02', 'hour'],
  ['2026-01-01', '2026-01-03', 'day'],
  ['2026-01-01', '2026-04-02', 'day'],
  ['2026-01-01', '2026-04-03', 'week'],
  ['2026-01-01', '2026-07-05', 'week'],
  ['2026-01-01', '2026-07-06', 'month'],
])('the default interval from %s to %s is %s', (startDate, endDate, interval) => {
  expect(range({ startDate, endDate }, 'Europe/Berlin').interval).toBe(interval);
});

test('two days have hourly buckets, even with 49 hours or a jump at the end', () => {
  expect(range({ startDate: '2026-10-24', endDate: '2026-10-25' }, 'Europe/Berlin').buckets.length).toBe(49);
  expect(range({ startDate: '2018-11-02', endDate: '2018-11-03' }, 'America/Sao_Paulo').interval).toBe(
    'hour',
  );
});

test('the days before a month to date end where the range begins, in a shorter month too', () => {
  const march = range({ range: 'monthToDate' }, 'UTC', Date.parse('2026-03-31T12:00:00Z'));
  expect(march.previous).toEqual({ fromMs: Date.UTC(2026, 1, 1), toMs: Date.UTC(2026, 2, 1) });
  const leap = range({ range: 'yearToDate' }, 'UTC', Date.parse('2028-02-29T12:00:00Z'));
  expect(leap.previous).toEqual({ fromMs: Date.UTC(2027, 0, 1), toMs: Date.UTC(2027, 2, 1) });
});

test('at any time in any zone, ranges up to now hold the current instant, and the previous span ends where they begin or before', () => {
  const cases = fc.record({
    name: fc.constantFrom(...RANGES.filter((name) => name !== 'custom')),
    zone: fc.constantFrom(
      'UTC',
      'Europe/Berlin',
      'Asia/Kathmandu',
      'America/Sao_Paulo',
      'Australia/Lord_Howe',
      'Pacific/Apia',
    ),
    nowMs: fc.integer({ min: Date.UTC(1995, 0), max: Date.UTC(2035, 0) }),
  });
  fc.assert(
    fc.property(cases, ({ name, zone, nowMs }) => {
      const { span, previous, buckets } = range({ range: name }, zone, nowMs);
      const ended = name === 'yesterday' || name === 'lastMonth' || name === 'lastYear';
      expect(span.fromMs <= nowMs && nowMs < span.toMs).toBe(!ended);
      if (ended) expect(span.toMs).toBeLessThanOrEqual(nowMs);
      expect(previous.fromMs).toBeLessThan(previous.toMs);
      expect(previous.toMs).toBeLessThanOrEqual(span.fromMs);
      expect(span.fromMs - previous.toMs).toBeLessThan(
        32 * DAY_MS + (name === 'yearToDate' ? 366 * DAY_MS : 0),
      );
      expect(buckets[0]?.fromMs).toBe(span.fromMs);
    }),
    { numRuns: 300 },
  );
});
