import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { must } from '../../infra/assert.ts';
import { projectRoot } from '../../infra/root.ts';
import type { Store } from '../../infra/store/store.ts';
import { StoreError } from '../../infra/store/store-error.ts';
import { SCREEN_VIEW, SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { type Range, type RangeName, rangeOf } from '../../query/time/range.ts';
import { Zone } from '../../query/time/zone.ts';
import { shownRatio } from '../cluster/answers.ts';
import { SITE_CURRENCY } from '../traffic/made-visits.ts';
import { SITE_ZONE } from './query-site.ts';

/**
 * Answers the same questions with one statement each over only the rows of `events`, without preparation, like a plain store of
 * events would. Sessions, bounces and durations are rebuilt from the events, and visitors are counted exactly. Only history is
 * read, so the figures equal the API's until an event arrives. The statements assume that a session's profile and source do not
 * change while it lasts.
 */
export const RAW_QUESTIONS = ['metrics', 'pages', 'referrer_name'] as const;
export type RawQuestion = (typeof RAW_QUESTIONS)[number];

interface RawFigures {
  readonly sessions: number;
  readonly visitors: number;
  readonly bounces: number;
  readonly durationMs: number;
  /** Minor units of the site's currency. */
  readonly revenue: number;
}

interface RawMetricsRow extends RawFigures {
  readonly isTotal: number;
  readonly isCurrent: number;
  readonly edge: number;
  readonly screenViews: number;
}

interface RawListRow extends RawFigures {
  readonly name: string;
  readonly origin: string;
  readonly path: string;
  readonly title: string;
  readonly pageviews: number;
  /** The sessions behind bounces and durations. */
  readonly rated: number;
}

const STATEMENTS: Readonly<Record<RawQuestion, string>> = {
  metrics: 'raw-metrics',
  pages: 'raw-pages',
  referrer_name: 'raw-referrer-name',
};
const TIMEOUT_EXCEEDED = 159;
const MEMORY_LIMIT_EXCEEDED = 241;
const MINOR_UNITS = 100;

export interface RawScan {
  readonly store: Store;
  readonly site: string;
  readonly question: RawQuestion;
  readonly range: Range;
  /** Rows of a list. */
  readonly limit: number;
  readonly secondsMax: number;
}

/** The range of that name as the API computes it now. */
export function rangeNow(name: RangeName): Range {
  const range = rangeOf({ range: name }, Date.now(), must(Zone.of(SITE_ZONE), 'the zone is unknown'));
  if ('kind' in range) throw new Error(range.message);
  return range;
}

/** The raw answer in the shape of the API's; undefined when the store did not finish within its limits. */
export async function scanRaw(scan: RawScan): Promise<unknown> {
  const { store, site, question, range, limit, secondsMax } = scan;
  const sql = readFileSync(join(projectRoot, 'bench/perf/sql', `${STATEMENTS[question]}.sql`), 'utf8');
  const parameters = {
    site,
    currency: SITE_CURRENCY,
    from: range.span.fromMs,
    to: range.span.toMs,
    previousFrom: range.previous.fromMs,
    edges: [range.previous.fromMs, ...range.buckets.map(({ fromMs }) => fromMs)],
    limit,
    screenView: SCREEN_VIEW,
    sessionStart: SESSION_START,
    synthetic: [SESSION_START, SESSION_END],
  };
  try {
    const rows = await store.query(sql, parameters, { max_execution_time: secondsMax });
    return question === 'metrics'
      ? metricsOf(rows as RawMetricsRow[], range)
      : listOf(rows as RawListRow[], question);
  } catch (error) {
    const code = error instanceof StoreError ? error.code : undefined;
    if (code === TIMEOUT_EXCEEDED || code === MEMORY_LIMIT_EXCEEDED) return undefined;
    throw error;
  }
}

/** Names of figures that count visitors. */
const VISITORS = new Set(['unique_visitors', 'visitors']);
/** Rollups are expected to miss this many of n visitors, times n², because hashes collide (`hashText` in `processor/rows.ts`). */
const COLLISIONS = 2 ** -49;
/** An answer may miss this many times the expected number. */
const COLLISIONS_TIMES = 8;

/**
 * True if an answer of the API equals the raw scan's. Rollups distinguish visitors by 48-bit hashes, so among many millions an
 * answer may miss one or two.
 */
export function agrees(question: RawQuestion, answer: unknown, raw: unknown): boolean {
  return isSameFigure('', question === 'metrics' ? withoutLabels(answer) : answer, raw);
}

function isSameFigure(name: string, answered: unknown, raw: unknown): boolean {
  if (typeof answered === 'number' && typeof raw === 'number' && VISITORS.has(name)) {
    const missed = raw - answered;
    return missed >= 0 && missed <= raw ** 2 * COLLISIONS * COLLISIONS_TIMES;
  }
  if (typeof answered !== 'object' || answered === null || typeof raw !== 'object' || raw === null)
    return isDeepStrictEqual(answered, raw);
  const ofRaw: Readonly<Record<string, unknown>> = { ...raw };
  const entries = Object.entries(answered);
  return (
    entries.length === Object.keys(ofRaw).length &&
    entries.every(([key, value]) => key in ofRaw && isSameFigure(key, value, ofRaw[key]))
  );
}

/** The names and lengths of buckets are in no event. */
function withoutLabels(answer: unknown): unknown {
  const { metrics, previous, series } = answer as Readonly<Record<string, unknown>>;
  const buckets = (series as readonly Readonly<Record<string, unknown>>[]).map(
    ({ date: _, ...figures }) => figures,
  );
  return { metrics, previous, series: buckets };
}

function metricsOf(rows: readonly RawMetricsRow[], range: Range) {
  const figures = (chosen: readonly RawMetricsRow[], visitors: number) => {
    const sum = (name: 'sessions' | 'bounces' | 'durationMs' | 'revenue' | 'screenViews') =>
      chosen.reduce((total, row) => total + row[name], 0);
    const sessions = sum('sessions');
    const revenue = sum('revenue') / MINOR_UNITS;
    return {
      bounce_rate: shownRatio(sum('bounces') * 100, sessions),
      unique_visitors: visitors,
      total_sessions: sessions,
      avg_session_duration: shownRatio(sum('durationMs') / 1000, sessions),
      total_screen_views: sum('screenViews'),
      views_per_session: shownRatio(sum('screenViews'), sessions),
      total_revenue: revenue,
      revenue_by_currency: revenue === 0 ? {} : { [SITE_CURRENCY]: revenue },
    };
  };
  const buckets = rows.filter((row) => row.isTotal === 0);
  const visitorsOf = (isCurrent: number) =>
    rows.find((row) => row.isTotal === 1 && row.isCurrent === isCurrent)?.visitors ?? 0;
  const current = buckets.filter((row) => row.isCurrent === 1);
  const series = range.buckets.map(({ fromMs }) => {
    const ofBucket = current.filter((row) => row.edge === fromMs);
    return figures(
      ofBucket,
      ofBucket.reduce((sum, row) => sum + row.visitors, 0),
    );
  });
  const previous = buckets.filter((row) => row.isCurrent === 0);
  return { metrics: figures(current, visitorsOf(1)), previous: figures(previous, visitorsOf(0)), series };
}

function listOf(rows: readonly RawListRow[], question: 'pages' | 'referrer_name') {
  return rows.map(
    ({ name, origin, path, title, sessions, pageviews, visitors, rated, bounces, durationMs, revenue }) => ({
      ...(question === 'pages' ? { origin, path, title } : { name: name === '' ? null : name }),
      sessions,
      pageviews,
      visitors,
      bounce_rate: shownRatio(bounces * 100, rated),
      avg_duration: shownRatio(durationMs / 1000, rated),
      revenue: revenue / MINOR_UNITS,
    }),
  );
}
