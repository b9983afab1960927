import type { SeededRandom } from '../../../ingest/testing/random.ts';
import type { EventColumn, Row } from '../../testing/row-writer.ts';
import type { KnownEntity } from './evaluate.ts';

/** The time of everything in a scene, to within a few milliseconds. */
export const SCENE_AT_MS = Date.parse('2026-06-10T00:00:00Z');

/** Values of rows and filters: few enough to match often, and with everything that is hard to quote. */
export const TEXTS = [
  '',
  '/',
  '/Été',
  '/ÉTÉ/b',
  'a',
  'A',
  'abc',
  "o'key",
  'a\\b',
  'a\nb',
  "a\tb\r'",
  'nul\u0000l',
  '☂😀',
  '{values0:Array(String)}',
  '{part0_0:String}',
  "'); DROP TABLE events --",
  '/* x */',
  '`$FILTER$` $& %_',
  '\\N',
  'null',
  'true',
  '5',
  '-2.50',
  '1e3',
  '140.0.1',
  ' 5',
  '5\n',
  '0.1',
  '+5',
  '9007199254740993',
  'inf',
  '1e400',
] as const;
/** Property keys. */
export const KEYS = ['k', "o'k", 'a.b', '{key0:String}', '\\', '☂'] as const;
/** Profile ids; the first means no profile, and the last has no record. */
export const IDS = ['', 'p1', 'p2', 'p3', "p'4", 'unknown'] as const;
const CURRENCIES = ['', 'EUR', 'JPY', 'BHD', 'CLF'] as const;

/** An event of the site `site`, with columns of every kind. */
export function randomEvent(seeded: SeededRandom, index: number): Row<EventColumn> {
  return {
    id: (index + 1).toString(16),
    sessionId: seeded.chance(0.3) ? '' : seeded.one(['ab', 'cd']),
    projectId: 'site',
    name: seeded.one(['screen_view', 'click']),
    deviceId: seeded.one(TEXTS),
    profileId: seeded.one(IDS),
    revenue: BigInt(seeded.one([0, 5, 1_234, -250, 500_000])),
    currency: seeded.one(CURRENCIES),
    createdAt: SCENE_AT_MS + seeded.below(5),
    receivedAt: SCENE_AT_MS + seeded.below(5),
    path: seeded.one(TEXTS),
    referrerName: seeded.one(TEXTS),
    utmSource: seeded.one(TEXTS),
    browserVersion: seeded.one(TEXTS),
    language: seeded.one(TEXTS),
    timezone: seeded.one(TEXTS),
    screen: seeded.one(TEXTS),
    longitude: seeded.one([0, 0, 13.4, -2.5]),
    latitude: seeded.one([0, 0, 5]),
    groups: randomGroups(seeded),
    properties: randomProperties(seeded),
  };
}

/** A profile or a group. */
export function randomRecord(seeded: SeededRandom, id: string): KnownEntity {
  const flat = randomProperties(seeded);
  const properties = flat.flatMap((key, index) => (index % 2 === 0 ? [[key, flat[index + 1] ?? '']] : []));
  return {
    id,
    columns: {
      firstName: seeded.one(TEXTS),
      email: seeded.one(TEXTS),
      type: seeded.one(['', 'company']),
      name: seeded.one(TEXTS),
    },
    properties: Object.fromEntries(properties),
    groups: randomGroups(seeded),
    createdAt: SCENE_AT_MS + seeded.below(5),
    updatedAt: SCENE_AT_MS + seeded.below(5),
  };
}

function randomProperties(seeded: SeededRandom): string[] {
  return KEYS.filter(() => seeded.chance(0.4)).flatMap((key) => [key, seeded.one(TEXTS)]);
}

function randomGroups(seeded: SeededRandom): string[] {
  return ["p'4", 'p1', 'p2', 'unknown', ''].filter(() => seeded.chance(0.25));
}
