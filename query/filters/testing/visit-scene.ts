import { must } from '../../../infra/assert.ts';
import { HOUR_MS } from '../../../infra/durations.ts';
import type { SeededRandom } from '../../../ingest/testing/random.ts';
import type { EventColumn, Row } from '../../testing/row-writer.ts';
import type { ModelVisit, VisitEvent, Visits } from '../../testing/visits.ts';

/** Values of events, sessions and filters: few, so that they match often. */
export const WORDS = ['', 'one', 'One', "it's", '10', '9.5', '☂ \\n'] as const;
export const PLACES = ['0', '13.5', '-2.5'] as const;
export const PROFILES = ['', 'p1', 'p2', 'p3'] as const;
export const GROUPS = ['g1', 'g2'] as const;
export const PATHS = ['/', '/a', '/A', '/buy'] as const;
export const NAMES = ['screen_view', 'screen_view', 'click', 'session_start', 'session_end'] as const;
const CURRENCIES = ['EUR', 'JPY'] as const;

const SESSIONS_PER_LANE = 90;
const DEVICES = 20;
const SESSION_MAX_MS = 20 * HOUR_MS;
const SHORT_SESSION_MAX_MS = 15 * 60_000;
const TEXTS = [
  'referrerName',
  'utmSource',
  'channel',
  'country',
  'browser',
  'browserVersion',
  'timezone',
] as const;

export interface FilteredTraffic {
  readonly steps: number;
  readonly fromMs: number;
  readonly toMs: number;
}

let lastId = 0;

/**
 * Random events and their sessions. Many sessions are long, so that they cross the end of a span, and many lie within an hour.
 * Events often have another country or browser than their session, and sometimes a late event changes the values of a session.
 */
export function addFilteredTraffic(visits: Visits, seeded: SeededRandom, options: FilteredTraffic): void {
  for (let step = 0; step < options.steps; step += 1) {
    const lane = seeded.below(visits.lanes);
    const isOther = seeded.chance(0.1);
    const slot = seeded.below(SESSIONS_PER_LANE);
    const sessionId = seeded.chance(0.1) ? '' : `${lane}a${isOther ? 2 : 1}b${slot.toString(16)}`;
    const known = sessionId === '' ? undefined : visits.visit(lane, sessionId);
    const fromMs = known?.startedAtMs ?? seeded.integer(options.fromMs, options.toMs - 1);
    const lengthMs = slot % 2 === 0 ? SESSION_MAX_MS : SHORT_SESSION_MAX_MS;
    const event = randomVisitEvent(seeded, {
      sessionId,
      projectId: isOther ? 'other' : 'site',
      atMs: Math.min(fromMs + seeded.below(lengthMs), options.toMs - 1),
      // A session has one device, and some sessions one profile from the beginning.
      ...(known && { deviceId: known.deviceId }),
      ...(slot % 4 === 1 && known && { profileId: known.profileId }),
    });
    // A session is opened by an event of its visitor, never by the synthetic ones.
    const opening = event.name.startsWith('session_') ? { ...event, name: 'click' } : event;
    const added = sessionId !== '' && known === undefined ? opening : event;
    visits.add(lane, added);
    if (sessionId !== '') visits.put(lane, visitAfter(seeded, known, added));
  }
}

type Named = Pick<VisitEvent, 'sessionId' | 'projectId' | 'atMs'> &
  Partial<Pick<VisitEvent, 'deviceId' | 'profileId'>>;

function randomVisitEvent(seeded: SeededRandom, named: Named): VisitEvent {
  lastId += 1;
  const isSale = seeded.chance(0.15);
  return {
    deviceId: seeded.chance(0.1) ? '' : `d${seeded.below(DEVICES)}`,
    profileId: seeded.one(PROFILES),
    ...named,
    id: lastId.toString(16),
    name: isSale ? 'revenue' : seeded.one(NAMES),
    origin: seeded.one(['https://a.example', 'http://b.example:8080', '']),
    path: seeded.one(PATHS),
    title: seeded.one(WORDS),
    revenue: isSale ? BigInt(seeded.integer(-500, 2_000)) : 0n,
    currency: isSale ? seeded.one(CURRENCIES) : '',
    columns: {
      ...randomSource(seeded),
      groups: GROUPS.filter(() => seeded.chance(0.3)),
      properties: ['k', "o'k"].flatMap((key) => (seeded.chance(0.5) ? [key, seeded.one(WORDS)] : [])),
    },
  };
}

function visitAfter(seeded: SeededRandom, known: ModelVisit | undefined, event: VisitEvent): ModelVisit {
  const { sessionId, projectId, deviceId, atMs, path, origin } = event;
  const entry = { ...randomSource(seeded), entryOrigin: origin, entryPath: path };
  const before: ModelVisit = known ?? {
    id: sessionId,
    projectId,
    deviceId,
    profileId: '',
    startedAtMs: atMs,
    endedAtMs: atMs,
    screenViews: 0,
    revenue: new Map(),
    texts: entry,
  };
  const revenue = new Map(before.revenue);
  if (event.currency !== '') {
    revenue.set(event.currency, (revenue.get(event.currency) ?? 0n) + event.revenue);
  }
  const isLate = seeded.chance(0.3);
  return {
    ...before,
    profileId: event.profileId || before.profileId,
    startedAtMs: Math.min(before.startedAtMs, atMs),
    endedAtMs: Math.max(before.endedAtMs, atMs),
    touchedAtMs: Math.max(before.touchedAtMs ?? 0, atMs),
    screenViews: before.screenViews + (event.name === 'screen_view' ? 1 : 0),
    revenue,
    texts: { ...before.texts, ...(isLate ? entry : {}), exitOrigin: origin, exitPath: path },
  };
}

function randomSource(seeded: SeededRandom): Record<string, string> {
  const texts = TEXTS.map((column) => [column, seeded.favourite(WORDS)]);
  return {
    ...Object.fromEntries(texts),
    longitude: seeded.one(PLACES),
    latitude: seeded.one(PLACES),
  };
}

/** An event as a row for `isSelected`. */
export function rowOfEvent({ columns, atMs, ...own }: VisitEvent): Row<EventColumn> {
  return { ...columns, ...own, createdAt: atMs, receivedAt: atMs };
}

/** The source and environment of a session, as an event row. */
export function rowOfVisit(visit: ModelVisit): Row<EventColumn> {
  return Object.fromEntries(
    [...TEXTS, 'longitude', 'latitude'].map((column) => [
      column,
      must(Object.entries(visit.texts).find(([name]) => name === column)?.[1], column),
    ]),
  );
}
