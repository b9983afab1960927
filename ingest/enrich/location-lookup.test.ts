import { mkdtemp, rename, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ManualClock } from '../../infra/clock.ts';
import { type MmdbValue, mmdb } from '../testing/mmdb.ts';
import { LocationDatabase } from './location-database.ts';
import { LocationLookup } from './location-lookup.ts';
import { locationOf, NO_LOCATION } from './location-record.ts';

const NOW_MS = Date.UTC(2026, 5, 1);
const BUILT_MS = Date.UTC(2026, 4, 1);

let folder = '';
const lines: string[] = [];
const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(line) });
const clock = new ManualClock(NOW_MS);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'locations-'));
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(() => {
  lines.length = 0;
});

function flat(country: string, city = ''): MmdbValue {
  return { country_code: country, state1: 'Region', city, latitude: 1.5, longitude: -2.25 };
}

function nested(country: string): MmdbValue {
  return {
    continent: { code: 'EU' },
    country: { iso_code: country, names: { de: 'Land', en: 'Country' } },
    subdivisions: [
      { iso_code: 'BB', names: { de: 'Brandenburg!', en: 'Brandenburg' } },
      { iso_code: 'X', names: { en: 'Smaller' } },
    ],
    city: { geoname_id: 7, names: { en: 'Frankfurt (Oder)' } },
    location: { accuracy_radius: 20, latitude: 52.34714, longitude: 14.55062, time_zone: 'Europe/Berlin' },
  };
}

interface Written {
  readonly type?: string;
  readonly builtAtMs?: number;
}

function database(record: MmdbValue, { type = 'Some-City', builtAtMs = BUILT_MS }: Written = {}): Buffer {
  return mmdb({ networks: [['8.8.8.0/24', record]], ipVersion: 4, type, builtAtMs });
}

async function freshFolder(): Promise<string> {
  return mkdtemp(join(folder, 'each-'));
}

function open(path: string): Promise<LocationLookup> {
  return LocationLookup.open({ path, clock, log });
}

/** The logged messages; fails when a line contains the address. */
function logged(): string[] {
  expect(lines.join('')).not.toContain('8.8.8.8');
  return lines.map((line) => String((JSON.parse(line) as { msg: unknown }).msg));
}

describe('the bundled data', () => {
  let locations: LocationLookup;
  beforeAll(async () => {
    locations = await open('');
  });

  test.each([
    ['8.8.8.8', 'US', 'California', 'Mountain View'],
    ['1.1.1.1', 'AU', 'New South Wales', 'Sydney'],
    ['91.198.174.192', 'NL', 'North Holland', 'Amsterdam'],
    ['193.99.144.80', 'DE', 'Lower Saxony', 'Hanover'],
    ['212.58.244.20', 'GB', 'England', 'London'],
    ['133.11.0.1', 'JP', 'Tokyo', 'Chiyoda City'],
    ['41.185.8.1', 'ZA', 'Western Cape', 'Cape Town'],
    ['129.132.19.216', 'CH', 'Zurich', 'Zurich'],
    ['2a00:1450:4001::1', 'DE', 'Hesse', 'Frankfurt am Main'],
    ['2001:200::1', 'JP', 'Kanagawa', 'Fujisawa'],
    ['2804:14d::1', 'BR', 'Sao Paulo', 'Sao Paulo'],
    ['2001:620::1', 'CH', 'Zurich', 'Zurich'],
    ['2c0f:fb50::1', 'KE', 'Nairobi Area', 'Nairobi'],
  ])('locates %s in %s, %s, %s', (address, country, region, city) => {
    expect(locations.of(address)).toMatchObject({ country, region, city });
  });

  test('has coordinates to four decimals', () => {
    expect(locations.of('8.8.8.8')).toMatchObject({ longitude: -122.085, latitude: 37.422 });
  });

  test.each([
    '',
    '0.0.0.0',
    '10.0.0.1',
    '127.0.0.1',
    '169.254.1.1',
    '172.16.0.1',
    '192.168.1.1',
    '203.0.113.7',
    '255.255.255.255',
    '::1',
    'fe80::1',
    'fe80::1%eth0',
    'fc00::1',
    '2001:db8::1',
    '8.8.8',
    '8.8.8.8.8',
    '256.8.8.8',
    'unknown',
    '8.8.8.8/32',
    ':::',
  ])('has no location for %j', (address) => {
    expect(locations.of(address)).toBe(NO_LOCATION);
  });

  test('gives every address a country or nothing, and coordinates on Earth', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string()), (address) => {
        const { country, longitude, latitude } = locations.of(address);
        expect(country).toMatch(/^([A-Z]{2})?$/);
        expect(Math.abs(longitude)).toBeLessThanOrEqual(180);
        expect(Math.abs(latitude)).toBeLessThanOrEqual(90);
      }),
    );
    expect(locations.unreadable).toBe(0);
  });

  test('reports its age and is read once', async () => {
    expect(locations.builtAtMs).toBeGreaterThan(Date.UTC(2026, 0, 1));
    expect(locations.loadedAtMs).toBe(NOW_MS);
    expect(locations.isFailing).toBe(false);
    await locations.refresh();
    expect(logged()).toEqual([]);
  });
});

describe('a record', () => {
  test('in the nested layout of MaxMind is read; parentheses without districts belong to the name', () => {
    expect(locationOf(nested('DE'), { districts: false })).toEqual({
      country: 'DE',
      region: 'Brandenburg',
      city: 'Frankfurt (Oder)',
      longitude: 14.5506,
      latitude: 52.3471,
    });
  });

  const flatRecord = {
    country_code: 'us',
    state1: 'Texas',
    city: 'Paris',
    latitude: 33.66,
    longitude: -95.56,
  };
  test.each<[fact: string, record: unknown, location: object]>([
    [
      'flat',
      flatRecord,
      { country: 'US', region: 'Texas', city: 'Paris', longitude: -95.56, latitude: 33.66 },
    ],
    ['with a district', { ...flatRecord, city: 'Zurich (Zurich (Kreis 1) / City)' }, { city: 'Zurich' }],
    ['that is all parentheses', { ...flatRecord, city: '(Somewhere)' }, { city: '(Somewhere)' }],
    [
      'of a country alone',
      { country: { iso_code: 'FR' } },
      { country: 'FR', region: '', longitude: 0, latitude: 0 },
    ],
    [
      'with a code for its region',
      { country: { iso_code: 'FR' }, subdivisions: [{ iso_code: 'IDF' }] },
      { region: 'IDF' },
    ],
    ['with names of other types', { ...flatRecord, city: 7, state1: null }, { city: '', region: '' }],
    ['with a long name', { ...flatRecord, city: 'x'.repeat(1000) }, { city: 'x'.repeat(128) }],
    ['on the equator', { ...flatRecord, latitude: -0.00001 }, { latitude: 0 }],
  ])('%s is read', (_fact, record, location) => {
    expect(locationOf(record, { districts: true })).toMatchObject(location);
  });

  test.each<[fact: string, record: unknown]>([
    ['null', null],
    ['a text', 'DE'],
    ['a list', []],
    ['without a country', { city: { names: { en: 'Berlin' } } }],
    ['with an empty country', { ...flatRecord, country_code: '' }],
    ['with the name of a country', { ...flatRecord, country_code: 'Germany' }],
    ['of an unknown country', { ...flatRecord, country_code: 'ZZ' }],
    ['too far north', { ...flatRecord, latitude: 91 }],
    ['too far west', { ...flatRecord, longitude: -180.1 }],
    ['with no number for a latitude', { ...flatRecord, latitude: Number.NaN }],
    ['with a text for a longitude', { ...flatRecord, longitude: '7' }],
  ])('%s has no location', (_fact, record) => {
    expect(locationOf(record, { districts: true })).toBe(NO_LOCATION);
  });

  test('of any shape gives a location or none, and never throws', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (country, location) => {
        const records = [
          { country, location, subdivisions: location, city: country },
          { country_code: country, ...{ location } },
        ];
        for (const record of records)
          expect(Object.keys(locationOf(record, { districts: true }))).toHaveLength(5);
      }),
    );
  });
});

describe('a configured database', () => {
  test('replaces the bundled one and may be nested', async () => {
    const path = join(await freshFolder(), 'own.mmdb');
    await writeFile(path, database(nested('PL')));
    const locations = await open(path);
    expect(locations.of('8.8.8.8')).toMatchObject({ country: 'PL', city: 'Frankfurt (Oder)' });
    expect(locations.of('1.1.1.1')).toBe(NO_LOCATION);
    expect(locations.of('2001:200::1')).toBe(NO_LOCATION);
    expect(locations.builtAtMs).toBe(BUILT_MS);
  });

  test('gives all addresses of a network one location in memory', () => {
    const parsed = LocationDatabase.parse(database(flat('DE', 'Berlin')));
    if (parsed.kind !== 'database') throw new Error('the database is not read');
    const location = parsed.database.of('8.8.8.1');
    expect(location).toMatchObject({ country: 'DE', city: 'Berlin' });
    expect(parsed.database.of('8.8.8.2')).toBe(location);
  });

  test('of both address families covers both', async () => {
    const path = join(await freshFolder(), 'own.mmdb');
    const networks: readonly (readonly [string, MmdbValue])[] = [
      ['8.8.8.0/24', flat('US')],
      ['2001:200::/32', flat('JP')],
    ];
    await writeFile(path, mmdb({ networks, ipVersion: 6, type: 'Some-City', builtAtMs: BUILT_MS }));
    const locations = await open(path);
    expect(
      ['8.8.8.8', '2001:200::1', '8.8.9.1', '2001:201::1'].map((address) => locations.of(address).country),
    ).toEqual(['US', 'JP', '', '']);
  });

  test('in a folder: cities before countries, newer before older, other kinds ignored', async () => {
    const path = await freshFolder();
    await writeFile(
      join(path, 'a.mmdb'),
      database(flat('AA'), { type: 'X-Country', builtAtMs: BUILT_MS + 9e6 }),
    );
    await writeFile(join(path, 'b.mmdb'), database(flat('BB'), { builtAtMs: BUILT_MS }));
    await writeFile(join(path, 'c.mmdb'), database(flat('CC'), { builtAtMs: BUILT_MS + 1e6 }));
    await writeFile(join(path, 'd.mmdb'), database({ autonomous_system_number: 15169 }, { type: 'X-ASN' }));
    await writeFile(join(path, 'notes.txt'), 'no database');
    const locations = await open(path);
    expect(locations.of('8.8.8.8').country).toBe('CC');
    await rm(join(path, 'c.mmdb'));
    await locations.refresh();
    expect(locations.of('8.8.8.8').country).toBe('BB');
    expect(locations.isFailing).toBe(false);
    expect(logged().filter((line) => line !== 'location database read')).toEqual([]);
  });

  test('that replaces another is read at the next refresh, also for cached addresses', async () => {
    const path = join(await freshFolder(), 'own.mmdb');
    await writeFile(path, database(flat('DE')));
    const locations = await open(path);
    expect(locations.of('8.8.8.8').country).toBe('DE');
    await writeFile(`${path}.part`, database(flat('FR'), { builtAtMs: BUILT_MS + 1000 }));
    await rename(`${path}.part`, path);
    expect(locations.of('8.8.8.8').country).toBe('DE');
    clock.advance(1000);
    await Promise.all([locations.refresh(), locations.refresh()]);
    expect(locations.of('8.8.8.8').country).toBe('FR');
    expect(locations.builtAtMs).toBe(BUILT_MS + 1000);
    expect(locations.loadedAtMs).toBe(clock.nowMs());
    expect(logged()).toEqual(['location database read', 'location database read']);
  });

  test('that is half written leaves the previous one in use, is logged once, and is read when complete', async () => {
    const path = join(await freshFolder(), 'own.mmdb');
    await writeFile(path, database(flat('DE')));
    const locations = await open(path);
    const next = database(flat('FR'));
    for (const length of [0, 10, next.length - 20]) {
      await writeFile(path, next.subarray(0, length));
      await locations.refresh();
      expect(locations.of('8.8.8.8').country).toBe('DE');
      expect(locations.isFailing).toBe(true);
    }
    await writeFile(path, next);
    await locations.refresh();
    expect(locations.of('8.8.8.8').country).toBe('FR');
    expect(locations.isFailing).toBe(false);
    expect(logged()).toEqual([
      'location database read',
      'a location database cannot be read, the data in use stays',
      'location database read',
      'location databases can be read again',
    ]);
  });

  test('that is deleted stays in use until there is one again', async () => {
    const path = join(await freshFolder(), 'own.mmdb');
    await writeFile(path, database(flat('DE')));
    const locations = await open(path);
    await rm(path);
    await locations.refresh();
    expect(locations.of('8.8.8.8').country).toBe('DE');
    expect(locations.isFailing).toBe(true);
    await writeFile(path, database(flat('FR')));
    await locations.refresh();
    expect(locations.of('8.8.8.8').country).toBe('FR');
  });

  test('that is missing at startup leaves locations empty, is logged once, and is read when it appears', async () => {
    const path = await freshFolder();
    const locations = await open(path);
    await locations.refresh();
    expect(locations.of('8.8.8.8')).toBe(NO_LOCATION);
    expect([locations.isFailing, locations.loadedAtMs, locations.builtAtMs]).toEqual([true, 0, 0]);
    expect(logged()).toEqual(['no location database can be read, locations stay empty']);
    await writeFile(join(path, 'own.mmdb'), database(flat('DE')));
    await locations.refresh();
    expect(locations.of('8.8.8.8').country).toBe('DE');
    expect(locations.isFailing).toBe(false);
  });

  test('without countries is rejected when it is the only one', async () => {
    const path = join(await freshFolder(), 'own.mmdb');
    await writeFile(path, database({ autonomous_system_number: 15169 }));
    const locations = await open(path);
    expect(locations.isFailing).toBe(true);
    expect(lines.join('')).toContain('contains no countries');
  });

  test('is not read again while size, time and inode stay the same', async () => {
    const path = join(await freshFolder(), 'own.mmdb');
    const bytes = database(flat('DE'));
    await writeFile(path, bytes);
    await utimes(path, 1, 1);
    const locations = await open(path);
    bytes.write('FR', bytes.indexOf('DE'));
    await writeFile(path, bytes);
    await utimes(path, 1, 1);
    await locations.refresh();
    expect(locations.of('8.8.8.8').country).toBe('DE');
    await utimes(path, 2, 2);
    await locations.refresh();
    expect(locations.of('8.8.8.8').country).toBe('FR');
  });

  test('cut or changed anywhere is rejected or still answers, and never throws', () => {
    const whole = database(nested('DE'));
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(255), fc.boolean(), (at, value, cut) => {
        const bytes = cut ? whole.subarray(0, at) : Buffer.from(whole);
        if (!cut) bytes[at] = value;
        const parsed = LocationDatabase.parse(bytes);
        if (parsed.kind === 'database') expect(Object.keys(parsed.database.of('8.8.8.8'))).toHaveLength(5);
        else expect(parsed.reason).not.toBe('');
        if (cut) expect(parsed.kind).not.toBe('database');
      }),
    );
  });
});

test('a record that cannot be read gives no location and is counted', async () => {
  const path = join(await freshFolder(), 'own.mmdb');
  const networks: readonly (readonly [string, MmdbValue])[] = [
    ['1.1.1.0/24', flat('AU')],
    ['8.8.8.0/24', flat('US')],
  ];
  const bytes = mmdb({ networks, ipVersion: 4, type: 'Some-City', builtAtMs: BUILT_MS });
  // Overwrites the second record's map with an extended type of 0, which no record may have.
  bytes.fill(0, bytes.lastIndexOf('country_code') - 2, bytes.lastIndexOf('country_code'));
  await writeFile(path, bytes);
  const locations = await open(path);
  expect(locations.of('1.1.1.1').country).toBe('AU');
  expect(locations.of('8.8.8.8')).toBe(NO_LOCATION);
  expect(locations.unreadable).toBe(1);
  await truncate(path);
  await locations.refresh();
  expect(locations.unreadable).toBe(1);
});

test('an address is evicted by the second eviction after its last look-up, and their number is bounded', async () => {
  const path = join(await freshFolder(), 'own.mmdb');
  await writeFile(path, database(flat('DE')));
  const locations = await open(path);
  locations.of('8.8.8.8');
  locations.of('10.0.0.1');
  locations.evict();
  expect(locations.addresses).toBe(1);
  locations.of('8.8.8.8');
  locations.evict();
  expect(locations.of('8.8.8.8').country).toBe('DE');
  locations.evict();
  locations.evict();
  expect(locations.addresses).toBe(0);
  for (let index = 0; index < 120_000; index += 1)
    locations.of(`8.${index >> 16}.${(index >> 8) & 255}.${index & 255}`);
  expect(locations.addresses).toBeLessThanOrEqual(50_000);
});
