import fc from 'fast-check';
import { storedId } from '../../infra/testing/ids.ts';
import {
  type Environment,
  type Event,
  NO_ENVIRONMENT,
  NO_SOURCE,
  REVENUE,
  SCREEN_VIEW,
  SESSION_GAP_MS,
  type Source,
} from '../event.ts';

/** A screen view with defaults; a test overrides what matters to it. */
export function plainEvent(overrides: Partial<Event> = {}): Event {
  return {
    projectId: storedId('demo'),
    deviceId: '0123456789abcdef0123456789abcdef',
    profileId: '',
    eventId: '',
    name: SCREEN_VIEW,
    occurredAtMs: START_MS,
    receivedAtMs: START_MS,
    sessionId: 'f'.repeat(32),
    credit: false,
    certain: false,
    revenue: undefined,
    currency: '',
    orderId: '',
    origin: 'https://example.org',
    path: '/',
    query: '',
    hash: '',
    title: '',
    source: NO_SOURCE,
    environment: NO_ENVIRONMENT,
    groups: [],
    properties: [],
    sdkName: '',
    sdkVersion: '',
    ...overrides,
  };
}

/** Start of arbitrary traffic: shortly before a midnight, an hour and a gap slot, so that it crosses all three. */
export const START_MS: number = Date.UTC(2024, 1, 28, 23, 50);

const SITES = ['demo', 'shop', 'größe'] as const;
const DEVICES = ['a', 'b', 'c'] as const;

/** Difficult texts: empty, non-Latin, emoji, right to left, NUL, long; always well-formed. */
export const oddText: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      '',
      '/',
      '/a',
      '/pricing?x=1',
      'größe',
      '日本語',
      '👩‍👩‍👧',
      'مرحبا',
      'a\u0000b',
    ),
  },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme', maxLength: 60 }) },
  { weight: 1, arbitrary: fc.integer({ min: 100, max: 400 }).map((length) => 'é'.repeat(length)) },
);

/** Time since the device's previous event: mostly forward, often at the edge of the gap, sometimes back. */
const stepMs: fc.Arbitrary<number> = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 300_000 }) },
  { weight: 4, arbitrary: fc.integer({ min: -2, max: 2 }).map((off) => SESSION_GAP_MS + off) },
  { weight: 2, arbitrary: fc.integer({ min: -2, max: 2 }).map((off) => off - SESSION_GAP_MS) },
  { weight: 3, arbitrary: fc.integer({ min: -3 * SESSION_GAP_MS, max: 3 * SESSION_GAP_MS }) },
  { weight: 1, arbitrary: fc.constant(0) },
);

/** Time between two arrivals: mostly short, sometimes longer than any session is held open. */
const waitMs: fc.Arbitrary<number> = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 20_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 2 * SESSION_GAP_MS }) },
  { weight: 1, arbitrary: fc.constantFrom(2 * SESSION_GAP_MS, 2 * SESSION_GAP_MS + 1) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 90_000_000 }) },
  // Another collector's clock may be behind.
  { weight: 1, arbitrary: fc.integer({ min: -5_000, max: 0 }) },
);

const source: fc.Arbitrary<Source> = fc
  .record({ referrer: oddText, utmSource: oddText })
  .map(({ referrer, utmSource }) => ({ ...NO_SOURCE, referrer, referrerName: referrer, utmSource }));

const environment: fc.Arbitrary<Environment> = fc
  .record({
    country: fc.constantFrom('', 'DE', 'JP'),
    city: oddText,
    longitude: fc.constantFrom(0, 13.5, -179.5),
    locale: fc.constantFrom(
      { language: '', timezone: '', screen: '' },
      { language: 'de', timezone: 'America/Argentina/Buenos_Aires', screen: '1920x1080' },
      { language: 'zh-Hant-TW', timezone: '', screen: '390x844' },
    ),
  })
  .map(({ locale, ...drawn }) => ({ ...NO_ENVIRONMENT, ...drawn, ...locale }));

const revenue = fc.record({
  revenue: fc.bigInt({ min: -1_000_000_000_000n, max: 1_000_000_000_000n }),
  currency: fc.constantFrom('EUR', 'JPY'),
});

const texts = fc.record({
  profileId: fc.oneof({ weight: 4, arbitrary: fc.constant('') }, { weight: 1, arbitrary: oddText }),
  origin: fc.constantFrom('', 'https://a.example', 'https://b.example'),
  path: oddText,
  query: oddText,
  hash: fc.constant(''),
  title: oddText,
  orderId: fc.constant(''),
  groups: fc.array(oddText, { maxLength: 2 }),
  properties: fc.uniqueArray(oddText, { maxLength: 3 }).map((keys) => keys.flatMap((key) => [key, 'value'])),
  sdkName: fc.constantFrom('', 'web'),
  sdkVersion: fc.constantFrom('', '1.0.0'),
});

interface EventDraft {
  readonly site: string;
  readonly device: string;
  readonly stepMs: number;
  readonly waitMs: number;
  readonly withoutSession: boolean;
  readonly withEventId: boolean;
  readonly certain: boolean;
  readonly earlierSession: number;
  readonly what: Partial<Event>;
  /** Repeats the earlier event that this number chooses. */
  readonly repeatOf: number | undefined;
}

const draft: fc.Arbitrary<EventDraft> = fc.record({
  site: fc.constantFrom(...SITES),
  device: fc.constantFrom(...DEVICES),
  stepMs,
  waitMs,
  withoutSession: fc.integer({ min: 0, max: 19 }).map((drawn) => drawn === 0),
  withEventId: fc.boolean(),
  certain: fc.boolean(),
  /** The answer names the session of the device's event this many before, if that is near enough. */
  earlierSession: fc.integer({ min: 0, max: 3 }),
  what: fc.oneof(
    { weight: 6, arbitrary: fc.constant({ name: SCREEN_VIEW }) },
    { weight: 3, arbitrary: fc.constantFrom({ name: 'click' }, { name: 'größe' }) },
    { weight: 1, arbitrary: revenue.map((money) => ({ name: REVENUE, ...money })) },
  ),
  repeatOf: fc.oneof({ weight: 7, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.nat() }),
});

/**
 * Events of a few sites and devices in order of arrival, with every problem that time has: late, out of order,
 * repeated, exactly at the gap, silent for longer than any session is held open. `sessionId` is a hint that no two
 * events share by chance; a collector's answer would often name an open session.
 */
export function eventLists(size: { readonly maxLength: number } = { maxLength: 60 }): fc.Arbitrary<Event[]> {
  return fc.array(fc.tuple(draft, texts, source, environment), size).map((drafts) => {
    const events: Event[] = [];
    const lastMs = new Map<string, number>();
    let receivedAtMs = START_MS;
    for (const [drawn, words, from, where] of drafts) {
      receivedAtMs += drawn.waitMs;
      const repeated = drawn.repeatOf === undefined ? undefined : events[drawn.repeatOf % events.length];
      if (repeated !== undefined && repeated.eventId !== '') {
        events.push({ ...repeated, receivedAtMs });
        continue;
      }
      const key = `${drawn.site} ${drawn.device}`;
      const occurredAtMs = (lastMs.get(key) ?? START_MS) + drawn.stepMs;
      lastMs.set(key, occurredAtMs);
      const index = events.length;
      const own = (index + 1).toString(16).padStart(32, '0');
      const ofDevice = events.filter(
        ({ projectId, deviceId, sessionId }) =>
          projectId === drawn.site && deviceId === drawn.device.repeat(32) && sessionId !== '',
      );
      const earlier = drawn.earlierSession === 0 ? undefined : ofDevice.at(-drawn.earlierSession);
      const isNear = earlier !== undefined && Math.abs(earlier.occurredAtMs - occurredAtMs) <= SESSION_GAP_MS;
      const answered = isNear ? earlier.sessionId : own;
      events.push({
        ...plainEvent({ ...words, source: from, environment: where, ...drawn.what }),
        projectId: storedId(drawn.site),
        deviceId: drawn.withoutSession ? '' : drawn.device.repeat(32),
        eventId: drawn.withEventId ? `event-${index}` : '',
        occurredAtMs,
        receivedAtMs,
        sessionId: drawn.withoutSession ? '' : answered,
        certain: drawn.certain && !drawn.withoutSession,
      });
    }
    return events;
  });
}
