import type { StoredId } from '../../infra/accounts/ids.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import type { StoreParameters } from '../../infra/store/store.ts';
import { SCREEN_VIEW, SESSION_END, SESSION_START } from '../../ingest/event.ts';
import type { Filter } from '../filters/filter.ts';
import { areAboutEntries, areAboutSessions, insightConditions } from '../filters/insight-conditions.ts';
import { activeUsersFilteredParts, metricsParts, passingParameters } from '../rollups/filtered-parts.ts';
import type { PageTitlesParts } from '../rollups/finalized-titles.ts';
import type { FilteredMetricsParts, TotalParts, VisitParts } from '../rollups/question-parts.ts';
import {
  type FinalizedBlocks,
  type FinalizedHours,
  finalizedKeyOf,
  openEdgesOf,
  type RecentHours,
  type RollupSpans,
  recentHours,
  rollupKeyOf,
  rollupsKeyOf,
  selectRollups,
  withoutSpan,
} from '../rollups/rollup-spans.ts';
import type { SiteParameters, Statement } from '../snapshot/statement.ts';
import type { StatementTexts } from '../snapshot/statement-texts.ts';
import type { Range, Span } from '../time/range.ts';
import { Otherwise, type Reason } from '../ways.ts';

/**
 * Plans: the statements of `sql/` that answer a question, with their parameters. Everything here is pure.
 *
 *     question ─▶ planLookup ─▶ the store ─▶ FinalizedBlocks ─┬▶ planMetrics
 *                 (no statement with filters,                 ├▶ planRanked        ─▶ statements
 *                  or over too long a span)                   ├▶ planActiveUsers
 *                                                             └▶ planNames, planEventTotal
 *
 * All plans decide alike: finalized hours and days come from rollups, all other hours from rows. A question with
 * filters reads only rows, because a rollup has no single events and sessions. With filters only on sessions, its
 * finalized part may be cached, and the plan has parts. Where a plan has no such part, it says why (`ways.ts`), and each
 * statement carries the reason for its engine.
 */

/** Questions about longer spans (five years) read only rows. */
const SPAN_HOURS_MAX = 45_000;
/** Questions about later times read only rows: the store has 32 bits for an hour of a rollup. */
const LAST_MS = 4_294_000_000_000;
/** Rows that begin and end a session in the event table. They count for no figure. */
const SYNTHETIC = [SESSION_START, SESSION_END];

/** For questions that use only rollups of days. */
export const NO_HOURS = Number.POSITIVE_INFINITY;

/** The site, and its filtered events and sessions. */
export interface FilteredSite {
  /** The site's `storedId`. */
  readonly projectId: StoredId;
  readonly filters: readonly Filter[];
}

/**
 * The statement that looks up finalized days of the spans, and finalized hours of their first day and from
 * `hoursFromMs` on; or why only rows answer. A year has 8,760 hours; questions that use only days do not look them up.
 */
export function planLookup(
  { projectId, filters }: FilteredSite,
  spans: readonly Span[],
  hoursFromMs = 0,
): Statement<'rollup-spans'> | Otherwise {
  if (filters.length > 0) return new Otherwise('filters');
  const isInReach = spans.every(
    ({ fromMs, toMs }) => fromMs >= 0 && toMs <= LAST_MS && (toMs - fromMs) / HOUR_MS <= SPAN_HOURS_MAX,
  );
  const touched = spans.filter(({ fromMs, toMs }) => fromMs < toMs);
  if (!isInReach || touched.length === 0) return new Otherwise('out-of-reach');
  const first = hourOf(Math.min(...touched.map(({ fromMs }) => fromMs)));
  const last = hourOf(Math.max(...touched.map(({ toMs }) => toMs - 1)));
  // Not before the spans, so that questions that need all of their hours share one lookup.
  const hoursFrom = Math.min(Math.max(hourOf(hoursFromMs), first), LAST_MS / 1000);
  return { name: 'rollup-spans', parameters: { site: projectId, first, last, hoursFrom } };
}

/** Also looks up for questions that have parts, with filters on the beginning of sessions (`rollups/filtered-parts.ts`). */
export function planPartsLookup(
  { projectId, filters }: FilteredSite,
  spans: readonly Span[],
): Statement<'rollup-spans'> | Otherwise {
  return areAboutEntries(filters) ? planLookup({ projectId, filters: [] }, spans) : new Otherwise('filters');
}

export interface MetricsQuestion extends FilteredSite {
  readonly range: Range;
}

/** The statements of `metrics`: over everything, and the same in parts, some of which a process caches. */
export interface MetricsPlan {
  /** Screen views, visitors and revenue of each bucket and of both spans. */
  readonly events: Statement<'metrics-events' | 'metrics-events-rollup' | 'metrics-filtered'>;
  /** Sessions that began, with bounces and durations, of each bucket and of the previous span. Undefined when `events` includes them. */
  readonly sessions: Statement<'metrics-sessions' | 'metrics-sessions-rows'> | undefined;
  readonly parts: CacheableMetrics | FilteredMetrics | Otherwise;
}

/** The two parts of a question with filters. */
export interface FilteredMetrics extends FilteredMetricsParts {
  readonly kind: 'filtered';
}

/** The statements for a process that caches the previous span, which is finalized: they read only the current span. */
export interface CacheableMetrics {
  readonly kind: 'finalized';
  /** Identifies the figures of the previous span. Both keys begin with the site and a space, so that a site can be evicted. */
  readonly previousKey: string;
  /** Identifies the rollups of the current span. */
  readonly rollupsKey: string;
  /** The figures of the previous span; needed once for each `previousKey`. */
  readonly previous: Statement<'metrics-counted'>;
  /** The rollups of the current span, with the number of visitors; needed once for each `rollupsKey`. */
  readonly counted: Statement<'metrics-counted'>;
  /** The given visitors that are in these rollups. */
  readonly members: Statement<'metrics-members'>;
  /** The rollups of the current span with their visitors, unless they are too many. */
  readonly rollups: Statement<'metrics-finalized'>;
  /** The events and sessions of the row hours. */
  readonly events: Statement<'metrics-events-rows'>;
  readonly sessions: Statement<'metrics-sessions-rows'>;
}

export function planMetrics(
  { projectId, filters, range }: MetricsQuestion,
  blocks: FinalizedBlocks | Otherwise,
): MetricsPlan {
  const { span, previous } = range;
  const { parameters: filterValues, ...texts } = insightConditions(filters, range);
  const edges = [previous.fromMs, ...range.buckets.map(({ fromMs }) => fromMs)];
  const bound = {
    ...filterValues,
    site: projectId,
    from: span.fromMs,
    to: span.toMs,
    previousFrom: previous.fromMs,
    previousTo: previous.toMs,
    edges,
    screenView: SCREEN_VIEW,
    synthetic: SYNTHETIC,
  };
  const use = { spans: [previous, span], edges, hoursFromMs: 0, days: false };
  if (filters.length > 0 && areAboutSessions(filters)) {
    const parameters = { ...bound, ...passingParameters(span, previous) };
    const parts = metricsParts({ projectId, filters, parameters: bound }, range, blocks);
    return {
      events: { name: 'metrics-filtered', parameters, texts, filters },
      sessions: undefined,
      parts: parts instanceof Otherwise ? parts : { kind: 'filtered', ...parts },
    };
  }
  const rollups = selectRollups(use, blocks);
  if (rollups instanceof Otherwise) {
    return {
      events: { name: 'metrics-events', parameters: bound, texts, filters },
      sessions: { name: 'metrics-sessions', parameters: bound, texts, filters },
      parts: rollups,
    };
  }
  const parameters = { ...bound, ...rollups };
  return {
    events: { name: 'metrics-events-rollup', parameters, why: 'finalized' },
    sessions: { name: 'metrics-sessions-rows', parameters, why: 'not-finalized' },
    parts: cacheableMetrics(range, parameters),
  };
}

function cacheableMetrics(
  { span, previous, buckets }: Range,
  bound: RollupSpans & SiteParameters & { readonly edges: readonly number[] },
): CacheableMetrics | Otherwise {
  const finalizedKey = finalizedKeyOf(bound, previous);
  if (finalizedKey instanceof Otherwise) return finalizedKey;
  const openEdges = openEdgesOf(bound, buckets, span.toMs);
  const hours = rollupKeyOf(bound, span);
  // An empty previous span leaves only the current one in the statements.
  const parameters = { ...bound, ...withoutSpan(bound, previous), previousTo: previous.fromMs };
  return {
    kind: 'finalized',
    previousKey: `${bound.site} ${previous.fromMs} ${finalizedKey}`,
    rollupsKey: `${bound.site} ${[hours, bound.edges.join(' '), openEdges.join(' ')].join('|')}`,
    previous: {
      name: 'metrics-counted',
      parameters: { ...bound, ...withoutSpan(bound, span) },
      why: 'finalized',
    },
    counted: { name: 'metrics-counted', parameters, why: 'finalized' },
    rollups: { name: 'metrics-finalized', parameters: { ...parameters, openEdges }, why: 'finalized' },
    members: { name: 'metrics-members', parameters: { ...parameters, openEdges }, why: 'finalized' },
    events: { name: 'metrics-events-rows', parameters, why: 'not-finalized' },
    sessions: { name: 'metrics-sessions-rows', parameters, why: 'not-finalized' },
  };
}

/** The statements that rank rows. */
export type RankedName = 'breakdown' | 'entry-exit' | 'pages' | 'pages-filtered';

/** A question for ranked rows of one statement. */
export interface RankedQuestion<Name extends RankedName> extends FilteredSite {
  /** The statement that reads only rows. */
  readonly statement: Name;
  /** For `$COLUMNS$`. */
  readonly columns: string;
  readonly span: Span;
  readonly page: RankedPage;
  readonly hours: FinalizedHours;
}

/** The requested rows of the ranking, and the currency of their revenue. */
export interface RankedPage {
  readonly currency: string;
  readonly limit: number;
  readonly offset: number;
}

export interface RankedPlan<Name extends RankedName> {
  /** Answers everything from rows. */
  readonly rows: Statement<Name>;
  readonly finalized: FinalizedPart | Otherwise;
}

/** Shared by the statements over the finalized part of a ranking and over the rest. */
export interface FinalizedPart {
  readonly parameters: RankedPage & RollupSpans & SiteParameters;
  readonly texts: StatementTexts;
  readonly filters: readonly Filter[];
  /** The finalized ones of the other hours. */
  readonly recent: RecentHours;
}

export function planRanked<Name extends RankedName>(
  { projectId, filters, statement, columns, span, page, hours }: RankedQuestion<Name>,
  blocks: FinalizedBlocks | Otherwise,
): RankedPlan<Name> {
  const { parameters: filterValues, ...conditions } = insightConditions(filters, { span });
  const bound = {
    ...page,
    ...filterValues,
    site: projectId,
    from: span.fromMs,
    to: span.toMs,
    screenView: SCREEN_VIEW,
  };
  const rows = { name: statement, parameters: bound, texts: { ...conditions, columns }, filters };
  const use = { spans: [span], edges: [], hoursFromMs: hours.fromMs, days: true };
  const rollups = selectRollups(use, blocks);
  if (blocks instanceof Otherwise) return { rows, finalized: blocks };
  if (rollups instanceof Otherwise) return { rows, finalized: rollups };
  const recent = recentHours(rollups, blocks, span, hours.recentFromMs);
  return { rows, finalized: { parameters: { ...bound, ...rollups }, texts: rows.texts, filters, recent } };
}

/** A question for the latest titles of pages. */
export interface PageTitlesQuestion {
  /** The site's `storedId`. */
  readonly projectId: StoredId;
  readonly span: Span;
  /** Rollups of hours are used from this time on, besides days. */
  readonly hoursFromMs: number;
  readonly pages: readonly { readonly path: string }[];
}

/** The statements for titles of pages. */
export interface PageTitlesPlan {
  /** Answers everything. */
  readonly all: Statement<'page-titles'>;
  /** The same answer in two parts. */
  readonly parts: PageTitlesParts | Otherwise;
}

export function planPageTitles(
  { projectId, span, hoursFromMs, pages }: PageTitlesQuestion,
  blocks: FinalizedBlocks | Otherwise,
): PageTitlesPlan {
  const parameters = {
    site: projectId,
    from: span.fromMs,
    to: span.toMs,
    screenView: SCREEN_VIEW,
    paths: [...new Set(pages.map(({ path }) => path))],
  };
  const rollups = selectRollups({ spans: [span], edges: [], hoursFromMs, days: true }, blocks);
  const all: Statement<'page-titles'> = { name: 'page-titles', parameters };
  if (rollups instanceof Otherwise) return { all, parts: rollups };
  // The rollups of pages also have figures, and their revenue is in one currency.
  const bound = { ...parameters, ...rollups, every: 0, currency: '' };
  return {
    all,
    parts: {
      key: rollupsKeyOf(bound),
      finalized: { name: 'page-titles-finalized', parameters: bound, why: 'finalized' },
      rows: { name: 'page-titles-rows', parameters: bound, why: 'not-finalized' },
    },
  };
}

/** A question for the visitors of the days that begin at `edges`. */
export interface ActiveUsersQuestion extends FilteredSite {
  readonly span: Span;
  readonly edges: readonly number[];
  /** Bound besides the site and the span. */
  readonly parameters: StoreParameters;
}

/** The statements of `active_users`. */
export interface ActiveUsersPlan {
  /** Answers everything. */
  readonly all: Statement<'active-users' | 'active-users-filtered' | 'active-users-rollup'>;
  /** The same answer in two parts. */
  readonly parts: VisitParts | Otherwise;
}

export function planActiveUsers(
  { projectId, filters, span, edges, parameters }: ActiveUsersQuestion,
  blocks: FinalizedBlocks | Otherwise,
): ActiveUsersPlan {
  const { parameters: filterValues, ...texts } = insightConditions(filters, { span });
  const rollups = selectRollups({ spans: [span], edges, hoursFromMs: 0, days: false }, blocks);
  const bound = {
    ...parameters,
    ...filterValues,
    site: projectId,
    from: span.fromMs,
    to: span.toMs,
    edges,
    synthetic: SYNTHETIC,
  };
  if (filters.length > 0 && areAboutSessions(filters)) {
    const values = { ...bound, screenView: SCREEN_VIEW };
    const all = { ...values, ...passingParameters(span) };
    return {
      all: { name: 'active-users-filtered', parameters: all, texts, filters },
      parts: activeUsersFilteredParts({ projectId, filters, parameters: values }, span, blocks),
    };
  }
  if (rollups instanceof Otherwise)
    return { all: { name: 'active-users', parameters: bound, texts, filters }, parts: rollups };
  const divided = { ...bound, ...rollups };
  // An empty previous span leaves only this one in the statement of `metrics`.
  const rows = { ...divided, previousFrom: span.fromMs, previousTo: span.fromMs, screenView: SCREEN_VIEW };
  return {
    all: { name: 'active-users-rollup', parameters: divided, why: 'finalized' },
    parts: {
      key: `${projectId} ${rollupKeyOf(rollups, span)} ${edges.join(' ')}`,
      finalized: { name: 'active-users-finalized', parameters: divided, why: 'finalized' },
      members: { name: 'active-users-members', parameters: divided, why: 'finalized' },
      rows: { name: 'metrics-events-rows', parameters: rows, why: 'not-finalized' },
    },
  };
}

/** The start of the hour, in seconds. */
function hourOf(ms: number): number {
  return (Math.floor(ms / HOUR_MS) * HOUR_MS) / 1000;
}

/** A question for the names of events. */
export interface NamesQuestion extends FilteredSite {
  readonly span: Span;
  readonly limit: number;
  readonly offset: number;
}

export function planNames(
  { projectId, filters, span, limit, offset }: NamesQuestion,
  blocks: FinalizedBlocks | Otherwise,
): Statement<'event-names' | 'event-names-rollup'> {
  const { parameters: filterValues, ...texts } = insightConditions(filters, { span });
  const bound = { ...filterValues, site: projectId, from: span.fromMs, to: span.toMs, limit, offset };
  const rollups = daysOf(span, blocks);
  return rollups instanceof Otherwise
    ? { name: 'event-names', parameters: bound, texts, filters, why: rollups.why }
    : { name: 'event-names-rollup', parameters: { ...bound, ...rollups }, why: 'finalized' };
}

/** A question for the number of events with these names; of all events without names. */
export interface EventTotalQuestion extends Pick<FilteredSite, 'projectId'> {
  readonly span: Span;
  readonly names: readonly string[];
}

/** The parts of a number of events; or why no rollup helps. */
export function planEventTotal(
  { projectId, span, names }: EventTotalQuestion,
  blocks: FinalizedBlocks | Otherwise,
): TotalParts | Otherwise {
  const rollups = daysOf(span, blocks);
  if (rollups instanceof Otherwise) return rollups;
  const bound = { site: projectId, from: span.fromMs, to: span.toMs, names };
  const statement = (why: Reason, part: Partial<RollupSpans>): Statement<'event-total-rollup'> => ({
    name: 'event-total-rollup',
    parameters: { ...bound, ...rollups, ...part },
    why,
  });
  return {
    key: rollupsKeyOf({ ...bound, ...rollups }, JSON.stringify(names)),
    finalized: statement('finalized', { rowHours: [] }),
    rows: statement('not-finalized', { firstDay: 0, lastDay: 0, dayKeys: [] }),
  };
}

/** Names have only rollups of days: hours of their column are read as fast from rows. */
function daysOf(span: Span, blocks: FinalizedBlocks | Otherwise): RollupSpans | Otherwise {
  const use = { spans: [span], edges: [], hoursFromMs: NO_HOURS, days: true };
  return selectRollups(use, blocks);
}
