import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { Zones } from './zone.ts';

const FROM_MS = Date.parse('1970-06-01T00:00:00Z');
const TO_MS = Date.parse('2036-06-01T00:00:00Z');
const PLACES = 150;
// Half and quarter hours, a jump of half an hour, a skipped day, an offset with seconds until 1972, four jumps a year.
const NAMES = [
  'UTC',
  'Europe/Berlin',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Africa/Monrovia',
  'Africa/Casablanca',
  'America/St_Johns',
];

/** The runtime's own name of the offset: GMT, GMT+5:45, GMT-0:44:30. */
function namedOffsetMs(format: Intl.DateTimeFormat, atMs: number): number {
  const name = format.formatToParts(atMs).find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign = '', hours = 0, minutes = 0, seconds = 0] =
    /^GMT(?:([+-])(\d+)(?::(\d+))?(?::(\d+))?)?$/.exec(name) ?? [];
  const ms = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
  return sign === '-' ? -ms : ms;
}

test.each(NAMES)('offsets of %s are those of the runtime, also around changes and from the cache', (name) => {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
  const random = new SeededRandom(name.length);
  const zone = new Zones().of(name);
  const instants: number[] = [];
  for (let place = 0; place < PLACES; place += 1) {
    let low = FROM_MS + random.below((TO_MS - FROM_MS) / 1000) * 1000;
    let high = low + 120 * DAY_MS;
    instants.push(low);
    if (namedOffsetMs(format, low) === namedOffsetMs(format, high)) continue;
    while (high - low > 1000) {
      const middle = Math.floor((low + high) / 2000) * 1000;
      if (namedOffsetMs(format, middle) === namedOffsetMs(format, low)) low = middle;
      else high = middle;
    }
    instants.push(high - HOUR_MS, high - 1000, high - 1, high, high + 1, high + HOUR_MS - 1, high + HOUR_MS);
  }
  expect(instants.length).toBeGreaterThan(
    name === 'UTC' || name === 'Asia/Kathmandu' ? PLACES - 1 : PLACES + 6,
  );
  for (const atMs of [...instants, ...instants.slice(0, 100)])
    expect([atMs, zone.offsetMs(atMs)]).toEqual([atMs, namedOffsetMs(format, atMs)]);
});

test('the last instants of a date have an offset too', () => {
  expect(new Zones().of('UTC').offsetMs(8_640_000_000_000_000)).toBe(0);
});
