import { HOUR_MS } from '../infra/durations.ts';
import type { StoreParameters } from '../infra/store/store.ts';
import { SCREEN_VIEW, SESSION_END, SESSION_START } from '../ingest/event.ts';
import type { Filter } from './filters/filter.ts';
import { areAboutEntries, areAboutSessions, insightConditions } from './filters/insight-conditions.ts';
import { activeUsersFilteredParts, metricsParts, passingParameters } from './rollups/filtered-parts.ts';
import type { PageTitlesParts } from './rollups/finalized-titles.ts';
import type { CountedParts, QuestionParts } from './rollups/question-parts.ts';
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
} from './rollups/rollup-spans.ts';
import type { SiteParameters, Statement } from './snapshot/history.ts';
import type { StatementTexts } from './snapshot/statement-texts.ts';
import type { Range, Span } from './time/range.ts';

/**
 * Plans: which statements of `sql/` answer a question, and with which parameters. Everything here is pure.
 *
 *     question ─▶ planLookup ─▶ the store ─▶ FinalizedBlocks ─┬▶ planMetrics
 *                 (no statement with filters,                 ├▶ planRanked        ─▶ statements
 *                  or over too long a span)                   ├▶ planActiveUsers
 *                                                             └▶ planNames, planEventTotal
 *
 * Each plan makes the same decision: finalized hours and days are read from their rollups and all other hours from rows.
 * A question with filters reads rows alone, because a rollup no longer knows single events and sessions; where filters are on
 * sessions, what it reads of finalized hours may be cached, and the plan has parts.
 */

/** Questions about longer spans (five years) read rows alone. */
const SPAN_HOURS_MAX = 45_000;
/** Questions about later times read rows alone: the store has 32 bits for an hour of a rollup. */
const LAST_MS = 4_294_000_000_000;
/** Rows that begin and end a session in the event table. They count for no figure. */
const SYNTHETIC = [SESSION_START, SESSION_END];

/** For questions that use rollups of days alone, and of no hour. */
export const NO_HOURS = Number.POSITIVE_INFINITY;

/** Which site, and which of its events and sessions. */
export interface FilteredSite {
  /** The site's `storedId`. */
  readonly projectId: string;
  readonly filters: readonly Filter[];
}

/**
 * The statement that looks up which days of the spans are finalized, and which hours of their first day and from `hoursFromMs` on;
 * undefined where rows alone answer. A year has 8,760 hours, so a question that uses days alone is spared them.
 */
export function planLookup(
  { projectId, filters }: FilteredSite,
  spans: readonly Span[],
  hoursFromMs = 0,
): Statement | undefined {
  const isInReach = spans.every(
    ({ fromMs, toMs }) => fromMs >= 0 && toMs <= LAST_MS && (toMs - fromMs) / HOUR_MS <= SPAN_HOURS_MAX,
  );
  const touched = spans.filter(({ fromMs, toMs }) => fromMs < toMs);
  if (filters.length > 0 || !isInReach || touched.length === 0) return undefined;
  const first = hourOf(Math.min(...touched.map(({ fromMs }) => fromMs)));
  const last = hourOf(Math.max(...touched.map(({ toMs }) => toMs - 1)));
  // No earlier than the spans, so that questions that need all of their hours share one lookup.
  const hoursFrom = Math.min(Math.max(hourOf(hoursFromMs), first), LAST_MS / 1000);
  return { name: 'rollup-spans', parameters: { site: projectId, first, last, hoursFrom } };
}

/** The same lookup for questions that also have parts where their filters are on what sessions began with (`rollups/filtered-parts.ts`). */
export function planPartsLookup(
  { projectId, filters }: FilteredSite,
  spans: readonly Span[],
): Statement | undefined {
  return areAboutEntries(filters) ? planLookup({ projectId, filters: [] }, spans) : undefined;
}

export interface MetricsQuestion extends FilteredSite {
  readonly range: Range;
}

/** The statements of `metrics`, and which of its figures a cache may hold. */
export interface MetricsPlan {
  /** What happened: screen views, visitors and revenue of each bucket and of both spans. */
  readonly events: Statement;
  /** What began: sessions, bounces and durations of each bucket and of the previous span. Undefined where `events` says it. */
  readonly sessions: Statement | undefined;
  /** Present when all of the previous span is finalized. */
  readonly cacheable: CacheableMetrics | undefined;
  /** The same in parts, of a question with filters. */
  readonly filtered?: QuestionParts | undefined;
}

/** The same question for a process that has the figures of the previous span: figures of the current span alone. */
export interface CacheableMetrics {
  /** Identifies the figures of the previous span. Both keys begin with the site and a space, so that a site can be evicted. */
  readonly previousKey: string;
  /** Identifies what the rollups of the current span say. */
  readonly rollupsKey: string;
  /** The figures of the previous span; needed once for each `previousKey`. */
  readonly previous: Statement;
  /** What the rollups of the current span say, with the number of visitors; needed once for each `rollupsKey`. */
  readonly counted: Statement;
  /** Which of the visitors in question are among them. */
  readonly members: Statement;
  /** The same rollups with the visitors, unless these are too many. */
  readonly rollups: Statement;
  /** What happened and what began in the hours that are read from rows. */
  readonly events: Statement;
  readonly sessions: Statement;
}

export function planMetrics(
  { projectId, filters, range }: MetricsQuestion,
  blocks: FinalizedBlocks | undefined,
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
    return {
      events: { name: 'metrics-filtered', parameters, texts, filters },
      sessions: undefined,
      cacheable: undefined,
      filtered: metricsParts({ projectId, filters, parameters: bound }, range, blocks),
    };
  }
  const rollups = blocks && selectRollups(use, blocks);
  if (rollups === undefined) {
    return {
      events: { name: 'metrics-events', parameters: bound, texts, filters },
      sessions: { name: 'metrics-sessions', parameters: bound, texts, filters },
      cacheable: undefined,
    };
  }
  const parameters = { ...bound, ...rollups };
  return {
    events: { name: 'metrics-events-rollup', parameters },
    sessions: { name: 'metrics-sessions-rows', parameters },
    cacheable: cacheableMetrics(range, parameters),
  };
}

function cacheableMetrics(
  { span, previous, buckets }: Range,
  bound: RollupSpans & SiteParameters & { readonly edges: readonly number[] },
): CacheableMetrics | undefined {
  const finalizedKey = finalizedKeyOf(bound, previous);
  if (finalizedKey === undefined) return undefined;
  const openEdges = openEdgesOf(bound, buckets, span.toMs);
  const hours = rollupKeyOf(bound, span);
  // An empty previous span leaves the statements with the current one.
  const parameters = { ...bound, ...withoutSpan(bound, previous), previousTo: previous.fromMs };
  return {
    previousKey: `${bound.site} ${previous.fromMs} ${finalizedKey}`,
    rollupsKey: `${bound.site} ${[hours, bound.edges.join(' '), openEdges.join(' ')].join('|')}`,
    previous: { name: 'metrics-counted', parameters: { ...bound, ...withoutSpan(bound, span) } },
    counted: { name: 'metrics-counted', parameters },
    rollups: { name: 'metrics-finalized', parameters: { ...parameters, openEdges } },
    members: { name: 'metrics-members', parameters: { ...parameters, openEdges } },
    events: { name: 'metrics-events-rows', parameters },
    sessions: { name: 'metrics-sessions-rows', parameters },
  };
}

/** A question for ranked rows of one statement. */
export interface RankedQuestion extends FilteredSite {
  /** The statement that answers from rows alone. */
  readonly statement: string;
  /** For `$COLUMNS$`. */
  readonly columns: string;
  readonly span: Span;
  readonly page: RankedPage;
  readonly hours: FinalizedHours;
}

/** Which rows of the ranking, and the currency of their revenue. */
export interface RankedPage {
  readonly currency: string;
  readonly limit: number;
  readonly offset: number;
}

export interface RankedPlan {
  /** Answers from rows alone. */
  readonly rows: Statement;
  /** What is finalized; undefined where nothing is. */
  readonly finalized: FinalizedPart | undefined;
}

/** What statements over the finalized hours and days of a ranking, and over all other hours, share. */
export interface FinalizedPart {
  readonly parameters: RankedPage & RollupSpans & SiteParameters;
  readonly texts: StatementTexts;
  readonly filters: readonly Filter[];
  /** Those of the other hours that are finalized. */
  readonly recent: RecentHours;
}

export function planRanked(
  { projectId, filters, statement, columns, span, page, hours }: RankedQuestion,
  blocks: FinalizedBlocks | undefined,
): RankedPlan {
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
  const rollups = blocks && selectRollups(use, blocks);
  if (blocks === undefined || rollups === undefined) return { rows, finalized: undefined };
  const recent = recentHours(rollups, blocks, span, hours.recentFromMs);
  return { rows, finalized: { parameters: { ...bound, ...rollups }, texts: rows.texts, filters, recent } };
}

/** A question for the latest titles of pages. */
export interface PageTitlesQuestion {
  /** The site's `storedId`. */
  readonly projectId: string;
  readonly span: Span;
  /** From when on rollups of hours are used, besides those of days. */
  readonly hoursFromMs: number;
  readonly pages: readonly { readonly path: string }[];
}

/** The statements for titles of pages. */
export interface PageTitlesPlan {
  /** Answers everything. */
  readonly all: Statement;
  /** The same in parts; undefined where nothing is finalized. */
  readonly parts: PageTitlesParts | undefined;
}

export function planPageTitles(
  { projectId, span, hoursFromMs, pages }: PageTitlesQuestion,
  blocks: FinalizedBlocks | undefined,
): PageTitlesPlan {
  const parameters = {
    site: projectId,
    from: span.fromMs,
    to: span.toMs,
    screenView: SCREEN_VIEW,
    paths: [...new Set(pages.map(({ path }) => path))],
  };
  const rollups = blocks && selectRollups({ spans: [span], edges: [], hoursFromMs, days: true }, blocks);
  const all = { name: 'page-titles', parameters };
  if (rollups === undefined) return { all, parts: undefined };
  // The rollups of pages have figures, too, of which the revenue is in one currency.
  const bound = { ...parameters, ...rollups, every: 0, currency: '' };
  return {
    all,
    parts: {
      key: rollupsKeyOf(bound),
      finalized: { name: 'page-titles-finalized', parameters: bound },
      rows: { name: 'page-titles-rows', parameters: bound },
    },
  };
}

/** A question for the visitors of days, which begin at `edges`. */
export interface ActiveUsersQuestion extends FilteredSite {
  readonly span: Span;
  readonly edges: readonly number[];
  /** Bound besides the site and the span. */
  readonly parameters: StoreParameters;
}

/** The statements of `active_users`. */
export interface ActiveUsersPlan {
  /** Answers everything. */
  readonly all: Statement;
  /** The same in parts; undefined where nothing is finalized. */
  readonly parts: QuestionParts | undefined;
}

export function planActiveUsers(
  { projectId, filters, span, edges, parameters }: ActiveUsersQuestion,
  blocks: FinalizedBlocks | undefined,
): ActiveUsersPlan {
  const { parameters: filterValues, ...texts } = insightConditions(filters, { span });
  const rollups = blocks && selectRollups({ spans: [span], edges, hoursFromMs: 0, days: false }, blocks);
  const bound = {
    ...parameters,
    ...filterValues,
    ...rollups,
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
  if (rollups === undefined)
    return { all: { name: 'active-users', parameters: bound, texts, filters }, parts: undefined };
  // An empty previous span leaves the statement of `metrics` with this one.
  const rows = { ...bound, previousFrom: span.fromMs, previousTo: span.fromMs, screenView: SCREEN_VIEW };
  return {
    all: { name: 'active-users-rollup', parameters: bound },
    parts: {
      key: `${projectId} ${rollupKeyOf(rollups, span)} ${edges.join(' ')}`,
      finalized: { name: 'active-users-finalized', parameters: bound },
      members: { name: 'active-users-members', parameters: bound },
      rows: { name: 'metrics-events-rows', parameters: rows },
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
  blocks: FinalizedBlocks | undefined,
): Statement {
  const { parameters: filterValues, ...texts } = insightConditions(filters, { span });
  const bound = { ...filterValues, site: projectId, from: span.fromMs, to: span.toMs, limit, offset };
  const rollups = blocks && daysOf(span, blocks);
  return rollups === undefined
    ? { name: 'event-names', parameters: bound, texts, filters }
    : { name: 'event-names-rollup', parameters: { ...bound, ...rollups } };
}

/** A question for the number of events, of these names or of all when there are none. */
export interface EventTotalQuestion extends Pick<FilteredSite, 'projectId'> {
  readonly span: Span;
  readonly names: readonly string[];
}

/** Undefined when no rollup helps. */
export function planEventTotal(
  { projectId, span, names }: EventTotalQuestion,
  blocks: FinalizedBlocks | undefined,
): CountedParts | undefined {
  const rollups = blocks && daysOf(span, blocks);
  if (rollups === undefined) return undefined;
  const bound = { site: projectId, from: span.fromMs, to: span.toMs, names };
  const statement = (part: Partial<RollupSpans>): Statement => ({
    name: 'event-total-rollup',
    parameters: { ...bound, ...rollups, ...part },
  });
  return {
    key: rollupsKeyOf({ ...bound, ...rollups }, JSON.stringify(names)),
    finalized: statement({ rowHours: [] }),
    rows: statement({ firstDay: 0, lastDay: 0, dayKeys: [] }),
  };
}

/** Names have rollups of days alone: an hour of the column that holds them is read as fast. */
function daysOf(span: Span, blocks: FinalizedBlocks): RollupSpans | undefined {
  const use = { spans: [span], edges: [], hoursFromMs: NO_HOURS, days: true };
  return selectRollups(use, blocks);
}
