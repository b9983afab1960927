import { HOUR_MS, MINUTE_MS } from '../../../infra/durations.ts';
import type { SeededRandom } from '../../../ingest/testing/random.ts';
import type { FilteredScene } from '../../filters/testing/filtered.ts';
import type { HistoryStore } from '../../testing/history-store.ts';
import type { ModelVisit, SeenEvent, VisitEvent, Visits } from '../../testing/visits.ts';
import type { Span } from '../../time/range.ts';

const NAMES = [
  'screen_view',
  'screen_view',
  'cart',
  'sign up',
  'buy',
  'session_start',
  'session_end',
] as const;
const PATHS = ['/', '/a', '/b', '/c', "/it's"] as const;
const COUNTRIES = ['DE', 'FR', '', 'ÄÖ', "O'K"] as const;
/** Texts for filters: none. */
export const NO_TEXTS = {
  referrerName: '',
  utmSource: '',
  channel: '',
  browser: '',
  browserVersion: '',
  timezone: '',
  longitude: '0',
  latitude: '0',
};

export interface JourneyOptions extends Span {
  readonly events: number;
  /** Sessions of each lane, and visitors of all lanes. */
  readonly sessions: number;
  readonly visitors: number;
}

let lastId = 0;

/**
 * Random journeys: sessions of a few hours with events of few names at whole minutes, often several in the same minute.
 * Some visitors are identified in the middle of a session, some events have no session, and some neither device nor
 * profile.
 */
export function addJourneys(visits: Visits, seeded: SeededRandom, options: JourneyOptions): void {
  const { fromMs, toMs, sessions, visitors } = options;
  for (let count = 0; count < options.events; count += 1) {
    lastId += 1;
    const lane = seeded.below(visits.lanes);
    const projectId = seeded.chance(0.05) ? 'other' : 'site';
    const slot = seeded.below(sessions);
    const sessionId = seeded.chance(0.1)
      ? ''
      : `${lane}${projectId === 'site' ? 'a' : 'b'}${slot.toString(16)}`;
    const known = sessionId === '' ? undefined : visits.visit(lane, sessionId);
    const visitor = seeded.below(visitors);
    const startMs = known?.startedAtMs ?? fromMs + seeded.below(toMs - fromMs);
    const atMs = Math.floor((startMs + seeded.below(4 * HOUR_MS)) / MINUTE_MS) * MINUTE_MS;
    const event = eventOf({
      // Ids do not rise with time. They differ in their first or in their last digits.
      id: Math.imul(lastId, 0x9e3779b1)
        .toString(16)
        .replace('-', 'f')
        .padEnd(lastId % 2 === 0 ? 32 : 0, '0'),
      sessionId,
      projectId,
      deviceId: known?.deviceId ?? (seeded.chance(0.1) ? '' : `d${visitor}`),
      profileId: seeded.chance(0.1) ? `p${visitor % 5}` : '',
      name: seeded.one(NAMES),
      atMs: Math.min(atMs, toMs + 30 * MINUTE_MS),
      path: seeded.favourite(PATHS),
      columns: { ...NO_TEXTS, country: seeded.one(COUNTRIES), properties: ['plan', seeded.one(['pro', ''])] },
    });
    visits.add(lane, event);
    if (sessionId !== '') visits.put(lane, visitWith(known, event));
  }
}

/** Adds events of the site `own`, with their sessions, in the given order; ids rise where none is given. */
export function addSteps(visits: Visits, lane: number, events: readonly Partial<VisitEvent>[]): void {
  for (const given of events) {
    lastId += 1;
    const event = eventOf({ id: lastId.toString(16), projectId: 'own', deviceId: 'd', ...given });
    visits.add(lane, event);
    if (event.sessionId !== '') visits.put(lane, visitWith(visits.visit(lane, event.sessionId), event));
  }
}

function eventOf(given: Partial<VisitEvent>): VisitEvent {
  return {
    id: '',
    sessionId: '',
    projectId: '',
    deviceId: '',
    profileId: '',
    name: '',
    atMs: 0,
    origin: '',
    path: '',
    title: '',
    revenue: 0n,
    currency: '',
    columns: { ...NO_TEXTS, country: '' },
    ...given,
  };
}

function visitWith(known: ModelVisit | undefined, event: VisitEvent): ModelVisit {
  const { sessionId, projectId, deviceId, profileId, atMs, path } = event;
  const before: ModelVisit = known ?? {
    id: sessionId,
    projectId,
    deviceId,
    profileId,
    startedAtMs: atMs,
    endedAtMs: atMs,
    screenViews: 0,
    revenue: new Map(),
    texts: { ...NO_TEXTS, country: String(event.columns?.country), entryPath: path, exitPath: path },
  };
  return {
    ...before,
    profileId: profileId || before.profileId,
    startedAtMs: Math.min(before.startedAtMs, atMs),
    endedAtMs: Math.max(before.endedAtMs, atMs),
    touchedAtMs: Math.max(before.touchedAtMs ?? 0, atMs),
  };
}

/** Cuts the open rows of every lane into a flush that reaches the store unknown to its owner. */
export async function landSome(visits: Visits, { store }: HistoryStore): Promise<void> {
  for (let lane = 0; lane < visits.lanes; lane += 1) {
    visits.cut(lane);
    await visits.land(lane, store);
  }
}

/** The journeys as filters see them. */
export function sceneOf(visits: Visits): FilteredScene {
  return { events: visits.events('site'), visits: visits.visits('site'), profiles: [], groups: [] };
}

/** Events by time, then by the 32 digits of their ids. */
export function inOrder(events: readonly SeenEvent[]): SeenEvent[] {
  const keyOf = ({ id }: SeenEvent) => id.padStart(32, '0');
  return [...events].sort((a, b) => a.atMs - b.atMs || (keyOf(a) < keyOf(b) ? -1 : 1));
}
