import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { must } from '../../infra/assert.ts';
import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import { projectRoot } from '../../infra/root.ts';
import type { Store, StoreParameters } from '../../infra/store/store.ts';
import {
  ENVIRONMENT_COLUMNS,
  LANES_DEFAULT,
  REVENUE,
  SCREEN_VIEW,
  SESSION_END,
  SESSION_GAP_MS,
  SESSION_START,
  SOURCE_COLUMNS,
} from '../../ingest/event.ts';
import { SAME_TIME } from '../../processor/rows.ts';
import { UsageError } from '../cluster/options.ts';

/** Properties of a made-up site. Shares are from 0 to 1; an exponential number is cut to a whole one. */
export const DISTRIBUTION = {
  bounceShare: 0.45,
  furtherViewsMean: 2.6,
  furtherViewsMax: 18,
  otherEventsMean: 2.8,
  otherEventsMax: 8,
  /** The share of events that are no screen view; about one in a hundred of all. */
  revenueShare: 0.025,
  knownShare: 0.12,
  /** Visits of one known profile in a year. */
  visitsPerProfile: 12,
  /** Visits by a visitor of some hours before, which is the same device unless midnight lay between. */
  returnShare: 0.2,
  pages: 3_000,
  referrers: 20_000,
  utmShare: 0.08,
  /** Events that bring an id, as every event of the browser script does. */
  eventIdShare: 1,
  /** The last day's visits relative to the first day's. */
  growth: 1.5,
} as const;

/** Visits by hour of the day in UTC and by day of the week from Sunday on, in any unit. */
const HOUR_WEIGHTS = [2, 1, 1, 1, 2, 4, 7, 10, 12, 13, 13, 13, 12, 13, 13, 12, 12, 12, 13, 14, 13, 10, 6, 4];
const WEEKDAY_WEIGHTS = [7, 11, 11.5, 11.5, 11, 10, 6.5];

export const SITE_CURRENCY = 'EUR';
const DAYS = 365;
const FLUSH_MS = 2_000;
/** A new version of the collector every week. */
const PUBLISHER_MS = 7 * DAY_MS;
const EVENTS_PER_MESSAGE = 1.5;
/** The service's default: a session whose last event is older has been evicted, and its end written. */
export const SESSION_RETAIN_MS = HOUR_MS;
const SLICE_SESSIONS = 200_000;
const SESSIONS_MIN = 1_000;

/** The data to fill the store with: `events` of the site up to `endMs`, all of it determined by the seed. */
export interface StorePlan {
  readonly seed: number;
  readonly events: number;
  readonly site: string;
  readonly endMs: number;
}

/** Fills the empty tables of a store, slice by slice, and reports progress. */
export async function fillStore(
  store: Store,
  plan: StorePlan,
  say: (line: string) => void,
): Promise<{ readonly sessions: number; readonly acknowledged: number; readonly flushNumber: number }> {
  const startedMs = performance.now();
  const sessions = Math.round(plan.events / eventsPerSession());
  if (sessions < SESSIONS_MIN) throw new UsageError('--events: too few to fill every day of a year');
  const parameters = parametersOf(plan, sessions);
  const slices = `${store.database}_slices`;
  await store.command(`CREATE DATABASE IF NOT EXISTS ${slices}`);
  const run = (name: string, slice: Readonly<Record<string, number>>) =>
    store.command(statement(name, `${slices}.slice`), { ...parameters, ...slice });
  for (let first = 0; first < sessions; first += SLICE_SESSIONS) {
    const slice = {
      first,
      count: Math.min(SLICE_SESSIONS, sessions - first),
      slice: first / SLICE_SESSIONS,
    };
    await run('site-slice', slice);
    await run('site-events', slice);
    await run('site-sessions', slice);
    const share = (first + slice.count) / sessions;
    say(progress(share, plan.events, (performance.now() - startedMs) / 1_000));
  }
  await store.command(`DROP DATABASE ${slices}`);
  // The store looks for expired ids once a day and in one run of parts; a year of days would have cleared all.
  await store.command('ALTER TABLE events MATERIALIZE TTL', {}, { mutations_sync: 1 });
  const flushNumber = Math.floor((DAYS * DAY_MS) / FLUSH_MS);
  await run('site-markers', { flushNumber });
  const [counted] = await store.query<{ acknowledged: number }>(
    'SELECT count() AS acknowledged FROM events WHERE name NOT IN {synthetic:Array(String)}',
    { synthetic: [SESSION_START, SESSION_END] },
  );
  return { sessions, acknowledged: must(counted, 'a count without a row').acknowledged, flushNumber };
}

/** The mean number of clients' events in a session. */
export function eventsPerSession(): number {
  const { bounceShare, furtherViewsMean, furtherViewsMax, otherEventsMean, otherEventsMax } = DISTRIBUTION;
  const views = bounceShare + (1 - bounceShare) * (2 + wholeMean(furtherViewsMean, furtherViewsMax));
  return views + wholeMean(otherEventsMean, otherEventsMax);
}

/** The mean of an exponential number that is cut to a whole one and to `most`: the sum of P(at least k). */
function wholeMean(mean: number, most: number): number {
  let sum = 0;
  for (let least = 1; least <= most; least += 1) sum += Math.exp(-least / mean);
  return sum;
}

function parametersOf(plan: StorePlan, sessions: number): StoreParameters {
  const { site, endMs } = plan;
  const startMs = endMs - DAYS * DAY_MS;
  return {
    ...DISTRIBUTION,
    seed: plan.seed,
    site,
    startMs,
    endMs,
    dayEdges: dayEdges(sessions, startMs),
    hourEdges: hourEdges(startMs),
    profiles: Math.max(10, Math.round((sessions * DISTRIBUTION.knownShare) / DISTRIBUTION.visitsPerProfile)),
    sessionsPerHour: sessions / DAYS / 24,
    lanes: LANES_DEFAULT,
    laneHash: laneHashOf(site),
    flushMs: FLUSH_MS,
    sessionGapMs: SESSION_GAP_MS,
    sessionRetainMs: SESSION_RETAIN_MS,
    publisherMs: PUBLISHER_MS,
    messagesPerMs: plan.events / EVENTS_PER_MESSAGE / LANES_DEFAULT / (DAYS * DAY_MS),
    origin: 'https://www.example.com',
    currency: SITE_CURRENCY,
    screenView: SCREEN_VIEW,
    revenue: REVENUE,
    sessionStart: SESSION_START,
    sessionEnd: SESSION_END,
    sameTime: SAME_TIME,
  };
}

/**
 * The first session of each day, and at the end their number. Days are 24 hours, counted back from the end, so they
 * contain hours of two days of the week, whose weights are mixed.
 */
function dayEdges(sessions: number, startMs: number): number[] {
  const first = new Date(startMs);
  const sumOf = (weights: readonly number[]) => weights.reduce((sum, weight) => sum + weight, 0);
  const laterShare = sumOf(HOUR_WEIGHTS.slice(0, first.getUTCHours())) / sumOf(HOUR_WEIGHTS);
  const weekdayWeight = (day: number) => WEEKDAY_WEIGHTS[(first.getUTCDay() + day) % 7] ?? 0;
  const weights = Array.from({ length: DAYS }, (_, day) => {
    const weight = weekdayWeight(day) * (1 - laterShare) + weekdayWeight(day + 1) * laterShare;
    return weight * (1 + ((DISTRIBUTION.growth - 1) * day) / DAYS);
  });
  return cumulated(weights).map((share) => Math.round(share * sessions));
}

/** The share of a day's sessions before each hour of it; the day begins at the hour of `startMs`. */
function hourEdges(startMs: number): number[] {
  const first = new Date(startMs).getUTCHours();
  return cumulated([...HOUR_WEIGHTS.slice(first), ...HOUR_WEIGHTS.slice(0, first)]);
}

/** From 0 to 1, one more than there are weights. */
function cumulated(weights: readonly number[]): number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let before = 0;
  const edges = weights.map((weight) => {
    const edge = before / total;
    before += weight;
    return edge;
  });
  return [...edges, 1];
}

/** The state of `laneOf` behind the site's id, where the device's begins. */
function laneHashOf(site: string): number {
  let hash = 0x811c9dc5;
  for (const byte of [...Buffer.from(site, 'latin1'), 0xff]) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

function statement(name: string, slice: string): string {
  return readFileSync(join(projectRoot, 'bench/traffic/sql', `${name}.sql`), 'utf8')
    .replaceAll('$SLICE$', slice)
    .replaceAll('$SOURCE_AND_SETTING$', [...SOURCE_COLUMNS, ...ENVIRONMENT_COLUMNS].join(', '));
}

function progress(share: number, events: number, seconds: number): string {
  const perSec = Math.round((share * events) / seconds / 1_000);
  const leftS = Math.round((seconds / share) * (1 - share));
  return `loading: ${(share * 100).toFixed(0).padStart(3)} %, ${perSec}k events/s, ${leftS} s left`;
}
