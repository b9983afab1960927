import { MINUTE_MS } from '../../infra/durations.ts';
import type { Store } from '../../infra/store/store.ts';
import type { SeededRandom } from '../../ingest/testing/random.ts';
import type { SessionColumn } from './row-writer.ts';
import type { ModelVisit, Visits } from './visits.ts';

const SESSIONS_PER_LANE = 80;
const VISITORS = 25;
const CURRENCIES = ['EUR', 'USD', 'JPY'] as const;
const NAMES = ['screen_view', 'screen_view', 'screen_view', 'click', 'session_start'] as const;
/** The host names of two origins are the same. */
const ORIGINS = [
  'https://a.example',
  'https://b.example',
  'https://b.example:8443',
  'http://c.example',
  '',
] as const;
const PATHS = ['/', '/a', '/A', '/it\'s \\ "q"', '/é', '/☂', '/z?', ''] as const;
const TITLES = ['', 'Home', 'Shop', '家', "It's", 'Z'] as const;

/** Values for every dimension: empty and odd ones, and names that have two parents. */
const VALUES = ['', 'one', 'two', "it's", 'Ünder', '10', '9', '☂ \\n', 'One'] as const;
const COLUMNS: readonly SessionColumn[] = [
  'referrer',
  'referrerName',
  'referrerType',
  'utmSource',
  'utmMedium',
  'utmCampaign',
  'utmTerm',
  'utmContent',
  'channel',
  'country',
  'region',
  'city',
  'device',
  'brand',
  'model',
  'browser',
  'browserVersion',
  'os',
  'osVersion',
  'language',
  'timezone',
  'screen',
];

let lastId = 0;

export interface VisitTrafficOptions {
  readonly steps: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** Events lie within their sessions, most of them near the beginning. */
  readonly isCoherent?: boolean;
  /** The share of events without a session; a tenth when absent. */
  readonly sessionlessShare?: number;
  /** Factor of every amount; 1 when absent. Large ones make sums that overflow 64 bits. */
  readonly amountScale?: bigint;
}

interface TrafficTarget extends VisitTrafficOptions {
  readonly lane: number;
  readonly projectId: string;
}

/**
 * Random events and session states. The states are not derived from the events, because most answers take both as they are.
 * Rollups rely on a session lasting as long as it has events. `metrics` with filters count a session by its state, unless it may
 * have lost events to an erasure: `allThinned` says so of all of them.
 */
export function addVisitTraffic(visits: Visits, seeded: SeededRandom, options: VisitTrafficOptions): void {
  for (let step = 0; step < options.steps; step += 1) {
    const projectId = seeded.chance(0.1) ? 'other' : 'site';
    const target = { ...options, lane: seeded.below(visits.lanes), projectId };
    addEvent(visits, seeded, target);
    changeVisit(visits, seeded, target);
  }
}

/** Notes that every session of the site may have lost events. */
export async function allThinned(store: Store): Promise<void> {
  const ids = [0, 1].flatMap((lane) =>
    Array.from({ length: SESSIONS_PER_LANE }, (_, slot) =>
      `${lane}a1b${slot.toString(16)}`.padStart(32, '0'),
    ),
  );
  await store.command(
    `INSERT INTO thinned_sessions
     SELECT 'site', toFixedString(unhex(arrayJoin({ids:Array(String)})), 16), now64(3)`,
    { ids },
  );
}

function addEvent(visits: Visits, seeded: SeededRandom, target: TrafficTarget): void {
  const { lane, projectId, fromMs, toMs, sessionlessShare = 0.1 } = target;
  lastId += 1;
  const isSale = seeded.chance(0.15);
  const sessionId = seeded.chance(sessionlessShare) ? '' : sessionIdOf(seeded, target);
  // Few distinct times, so that some titles are of the same moment.
  const anyMs = fromMs + seeded.below(Math.ceil((toMs - fromMs) / MINUTE_MS)) * MINUTE_MS;
  const visit = sessionId === '' ? undefined : visitNow(visits, seeded, target, sessionId);
  const isRetained = target.isCoherent === true && visit !== undefined;
  const atMs = isRetained ? timeWithin(visits, seeded, target, { visit, anyMs }) : anyMs;
  visits.add(lane, {
    id: lastId.toString(16),
    sessionId,
    projectId,
    ...(visit === undefined ? visitorOf(seeded) : visitorIn(visit, seeded)),
    name: isSale && seeded.chance(0.8) ? 'revenue' : seeded.one(NAMES),
    atMs,
    ...pageOf(seeded),
    title: seeded.one(TITLES),
    revenue: isSale ? BigInt(seeded.below(5_000) - 1_000) * (target.amountScale ?? 1n) : 0n,
    currency: isSale ? seeded.one(CURRENCIES) : '',
  });
}

/** Usually a time soon after the session began, else `anyMs`. The session is extended to it. */
function timeWithin(
  visits: Visits,
  seeded: SeededRandom,
  target: TrafficTarget,
  { visit, anyMs }: { readonly visit: ModelVisit; readonly anyMs: number },
): number {
  const soonMs = Math.ceil(visit.startedAtMs / MINUTE_MS + seeded.below(20)) * MINUTE_MS;
  const atMs = seeded.chance(0.9) && soonMs < target.toMs ? soonMs : anyMs;
  const startedAtMs = Math.min(visit.startedAtMs, atMs);
  visits.put(target.lane, { ...visit, startedAtMs, endedAtMs: Math.max(visit.endedAtMs, atMs) });
  return atMs;
}

/** The state of a session, which begins if there is none. */
function visitNow(visits: Visits, seeded: SeededRandom, target: TrafficTarget, id: string): ModelVisit {
  const known = visits.visit(target.lane, id);
  if (known !== undefined) return known;
  const begun = begunVisit(seeded, target, id);
  visits.put(target.lane, begun);
  return begun;
}

/** The visitor of an event in a session: the same device, and the same profile or none. */
function visitorIn({ deviceId, profileId }: ModelVisit, seeded: SeededRandom) {
  return { deviceId, profileId: seeded.chance(0.5) ? profileId : '' };
}

/** Begins a session or continues one. A late event may move its begin and source, and a profile may become known. */
function changeVisit(visits: Visits, seeded: SeededRandom, target: TrafficTarget): void {
  const { lane, projectId, fromMs, toMs } = target;
  const id = sessionIdOf(seeded, target);
  const known = visits.visit(lane, id) ?? begunVisit(seeded, target, id);
  const isLate = seeded.chance(0.2);
  const entered = isLate ? entryOf(seeded) : {};
  const exit = pageOf(seeded);
  const startedAtMs = isLate ? known.startedAtMs - seeded.below(5_400_000) : known.startedAtMs;
  visits.put(lane, {
    ...known,
    projectId,
    profileId: known.profileId === '' && seeded.chance(0.2) ? `p${seeded.below(VISITORS)}` : known.profileId,
    startedAtMs: Math.min(Math.max(startedAtMs, fromMs), toMs - 1),
    endedAtMs: known.endedAtMs + seeded.below(90_000),
    screenViews: known.screenViews + seeded.below(2),
    revenue: seeded.chance(0.3) ? sold(known.revenue, seeded, target.amountScale) : known.revenue,
    texts: { ...known.texts, ...entered, exitOrigin: exit.origin, exitPath: exit.path },
  });
}

function begunVisit(
  seeded: SeededRandom,
  { projectId, fromMs, toMs }: TrafficTarget,
  id: string,
): ModelVisit {
  const startedAtMs = fromMs + seeded.below(toMs - fromMs);
  return {
    id,
    projectId,
    ...visitorOf(seeded),
    startedAtMs,
    endedAtMs: startedAtMs,
    touchedAtMs: toMs,
    screenViews: 0,
    revenue: new Map(),
    isMixed: true,
    texts: entryOf(seeded),
  };
}

/** The columns that a session takes from its entry event. */
function entryOf(seeded: SeededRandom): ModelVisit['texts'] {
  const texts = Object.fromEntries(COLUMNS.map((column) => [column, seeded.favourite(VALUES)]));
  const { origin, path } = pageOf(seeded);
  return { ...texts, entryOrigin: origin, entryPath: path };
}

function pageOf(seeded: SeededRandom) {
  return { origin: seeded.favourite(ORIGINS), path: seeded.favourite(PATHS) };
}

function visitorOf(seeded: SeededRandom) {
  const visitor = seeded.below(VISITORS);
  return {
    deviceId: seeded.chance(0.1) ? '' : `d${visitor}`,
    profileId: visitor % 3 === 0 ? `p${visitor}` : '',
  };
}

function sold(
  revenue: ReadonlyMap<string, bigint>,
  seeded: SeededRandom,
  scale = 1n,
): ReadonlyMap<string, bigint> {
  const currency = seeded.one(CURRENCIES);
  const amount = BigInt(seeded.integer(-500, 2_000)) * scale;
  return new Map(revenue).set(currency, (revenue.get(currency) ?? 0n) + amount);
}

function sessionIdOf(seeded: SeededRandom, { lane, projectId }: TrafficTarget): string {
  const site = projectId === 'site' ? 1 : 2;
  return `${lane}a${site}b${seeded.below(SESSIONS_PER_LANE).toString(16)}`;
}
