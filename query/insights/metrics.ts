import type { z } from 'zod';
import type { MetricsAnswer, metricsQuery } from '../api.ts';
import type { Goal } from '../definitions/definitions.ts';
import { addFigures, type Figures, metricsOf, type RangeFigures } from '../figures.ts';
import {
  type CacheableMetrics,
  type MetricsPlan,
  type MetricsQuestion,
  planMetrics,
  planPartsLookup,
} from '../plan/plan.ts';
import { distinctVisitors } from '../rollups/added-visitors.ts';
import { AnswerCaches } from '../rollups/answer-caches.ts';
import { lookUpBlocks } from '../rollups/blocks-lookup.ts';
import { countWith } from '../rollups/rollup-cache.ts';
import {
  askRollupFigures,
  countedFigures,
  type FiguresCache,
  type RollupFigures,
} from '../rollups/rollup-figures.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { openSeam, type QuestionScope, requestedRange, type Sources } from '../snapshot/question.ts';
import type { Seam } from '../snapshot/seam.ts';
import { StoreAwayError } from '../snapshot/store-rejects.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import type { Range } from '../time/range.ts';
import { Otherwise, orElse } from '../ways.ts';
import {
  askedGoal,
  askRangeConversions,
  type Conversions,
  conversionFiguresOf,
  type RangeConversions,
} from './conversions.ts';
import { figuresFromMemory, isInMemory } from './memory-figures.ts';

/**
 * `GET /insights/{projectId}/metrics`. Without the store, some ranges are answered from the owners' memory; their
 * questions do not wait for a silent store.
 */
export async function answerMetrics(
  sources: Sources,
  scope: QuestionScope,
  query: z.output<typeof metricsQuery>,
  cache = new AnswerCaches().figures,
): Promise<MetricsAnswer> {
  const range = requestedRange(query, scope);
  const { storedId: projectId, currency } = scope.site;
  const goal = askedGoal(query, scope);
  const history =
    goal === undefined && isInMemory(range, query) ? sources.history.impatient : sources.history;
  try {
    const seam = await openSeam({ ...sources, history }, scope, query);
    const question = { projectId, filters: query.filters, range };
    const [figures, conversions] = await Promise.all([
      historyFigures(history, question, seam, cache),
      goal && askRangeConversions(history, question, goal, range, seam),
    ]);
    const converted = goal && conversions && { goal, ...conversions };
    return metricsAnswerOf(range, figures, { currency, partial: seam.partial, converted });
  } catch (error) {
    // Memory has only counts, so it knows no conversions.
    if (goal !== undefined || !(error instanceof StoreAwayError)) throw error;
    const memory = await figuresFromMemory(sources.hot, scope, range, query);
    if (memory === undefined) throw error;
    return metricsAnswerOf(range, memory.figures, { currency, partial: memory.isPartial });
  }
}

/** The figures of a range over history and hot rows: plan the statements, run them, merge their rows. */
export async function historyFigures(
  history: StatementRunner,
  question: MetricsQuestion,
  seam: Seam,
  cache = new AnswerCaches().figures,
): Promise<RangeFigures> {
  const { previous, span } = question.range;
  const lookup = lookUpBlocks(history, planPartsLookup(question, [previous, span]), seam);
  return lookup.answer((blocks) =>
    plannedFigures(history, planMetrics(question, blocks), question, seam, cache),
  );
}

async function plannedFigures(
  history: StatementRunner,
  plan: MetricsPlan,
  { range }: MetricsQuestion,
  seam: Seam,
  cache: FiguresCache,
): Promise<RangeFigures> {
  return orElse(await figuresInParts(history, plan, range, seam, cache), async (why) => {
    const [events, sessions] = await Promise.all([
      history.ask({ why, ...plan.events }, seam),
      plan.sessions === undefined ? [] : history.ask({ why, ...plan.sessions }, seam),
    ]);
    return mergeFigures(range, events, sessions);
  });
}

async function figuresInParts(
  history: StatementRunner,
  { parts }: MetricsPlan,
  range: Range,
  seam: Seam,
  cache: FiguresCache,
): Promise<RangeFigures | Otherwise> {
  if (parts instanceof Otherwise) return parts;
  return parts.kind === 'filtered'
    ? cache.filtered.ask(history, parts, range, seam)
    : cachedFigures(history, parts, range, seam, cache);
}

/**
 * Events of a bucket; with `isTotal`, of a whole span. Includes sessions that began there if it comes from rollups, or
 * with filters on sessions.
 */
type EventFigures = AnswerRow<MetricsPlan['events']['name']>;
/** Sessions that began in the bucket at `edge`. */
type SessionFigures = AnswerRow<'metrics-sessions'>;

function mergeFigures(
  range: Range,
  events: readonly EventFigures[],
  sessions: readonly SessionFigures[],
): RangeFigures {
  const totals = events.filter(({ isTotal }) => isTotal === 1);
  const eventsByEdge = byEdge(events.filter(({ isTotal }) => isTotal === 0));
  const sessionsByEdge = byEdge(sessions);
  const [before, current] = [0, 1].map((isCurrent) => totals.find((row) => row.isCurrent === isCurrent));
  const begunBefore = sessionsByEdge.get(range.previous.fromMs);
  // Sessions add up over buckets, because each began in one.
  const begun = sessions.filter((row) => row !== begunBefore);
  return {
    current: addFigures([current, ...begun], current?.visitors ?? 0),
    previous: addFigures([before, begunBefore], before?.visitors ?? 0),
    buckets: range.buckets.map(({ fromMs }) => {
      const row = eventsByEdge.get(fromMs);
      return addFigures([row, sessionsByEdge.get(fromMs)], row?.visitors ?? 0);
    }),
  };
}

/** Events of a bucket from rows only, with its visitors. */
type RowFigures = AnswerRow<'metrics-events-rows'>;

/**
 * The figures with the previous span and the current rollups from the cache. None when the rows have too many visitors
 * to unite them with the rollups' here.
 */
async function cachedFigures(
  history: StatementRunner,
  plan: CacheableMetrics,
  range: Range,
  seam: Seam,
  cache: FiguresCache,
): Promise<RangeFigures | Otherwise> {
  const { rollupsKey: key } = plan;
  const declined = cache.counted.declines(key);
  if (declined !== undefined) return declined;
  const [previous, rollup, events, sessions] = await Promise.all([
    previousFigures(history, plan, cache),
    cache.isHeld(key)
      ? cache.rollups.get(key, () => askRollupFigures(history, plan.rollups, cache.rollups.hashesMax))
      : NOT_HELD,
    history.ask(plan.events, seam),
    history.ask(plan.sessions, seam),
  ]);
  const rows = { events, sessions };
  const visitors = rollup instanceof Otherwise ? [] : distinctVisitors(events);
  if (!(rollup instanceof Otherwise || cache.rollups.noteRows(key, visitors.length))) {
    const visitorsByEdge = new Map(events.map(({ edge, visitorHashes }) => [edge, visitorHashes]));
    const whole = countWith(rollup.total?.visitors, visitors);
    const inBucket = (edge: number) =>
      countWith(rollup.buckets.get(edge)?.visitors, visitorsByEdge.get(edge) ?? []);
    return { ...mergeRollup(range, rollup, rows, { whole, inBucket }), previous };
  }
  const span = await countedFigures(history, { key, ...plan }, cache, events);
  if (span instanceof Otherwise) return span;
  const { figures, added } = span;
  const whole = (figures.total?.visitors.count ?? 0) + added.whole;
  const inBucket = (edge: number) =>
    (figures.buckets.get(edge)?.visitors.count ?? 0) + (added.byEdge.get(edge) ?? 0);
  return { ...mergeRollup(range, figures, rows, { whole, inBucket }), previous };
}

/** The visitors of rollups are loaded only when they are known to be few enough. */
const NOT_HELD = new Otherwise('too-many');

/** The figures of the previous span, which is finalized. */
function previousFigures(
  history: StatementRunner,
  { previousKey, previous }: CacheableMetrics,
  cache: FiguresCache,
): Promise<Figures> {
  return cache.previous.getOrLoad(previousKey, async () => {
    const { answer } = await askRollupFigures(history, previous, 0);
    return addFigures([answer.total?.row], answer.total?.visitors.count ?? 0);
  });
}

/** The figures from rows, by bucket. */
interface RowsByEdge {
  readonly events: readonly RowFigures[];
  readonly sessions: readonly SessionFigures[];
}

/** The number of visitors in rollups and rows together, in the whole span and in the bucket that begins at an edge. */
interface VisitorCounts {
  readonly whole: number;
  readonly inBucket: (edge: number) => number;
}

function mergeRollup(
  { buckets }: Range,
  { total, buckets: rollups }: RollupFigures,
  { events, sessions }: RowsByEdge,
  { whole, inBucket }: VisitorCounts,
): Omit<RangeFigures, 'previous'> {
  const eventsByEdge = byEdge(events);
  const sessionsByEdge = byEdge(sessions);
  return {
    current: addFigures([total?.row, ...events, ...sessions], whole),
    buckets: buckets.map(({ fromMs }) =>
      addFigures(
        [rollups.get(fromMs)?.row, eventsByEdge.get(fromMs), sessionsByEdge.get(fromMs)],
        inBucket(fromMs),
      ),
    ),
  };
}

function byEdge<Row extends { readonly edge: number }>(rows: readonly Row[]): ReadonlyMap<number, Row> {
  return new Map(rows.map((row) => [row.edge, row]));
}

/** The parts of an answer beside the figures. */
interface AnswerParts {
  readonly currency: string;
  readonly partial: boolean;
  readonly converted?: (RangeConversions & { readonly goal: Goal }) | undefined;
}

function metricsAnswerOf(
  range: Range,
  figures: RangeFigures,
  { currency, partial, converted }: AnswerParts,
): MetricsAnswer {
  const rates = (counted: Figures, conversions: Conversions | undefined) => ({
    ...metricsOf(counted, currency),
    ...(converted && conversionFiguresOf(converted.goal, counted.sessions, conversions)),
  });
  return {
    metrics: rates(figures.current, converted?.current),
    previous: rates(figures.previous, converted?.previous),
    series: figures.buckets.map((bucket, index) => ({
      date: range.buckets[index]?.label ?? '',
      ...rates(bucket, converted?.byEdge.get(range.buckets[index]?.fromMs ?? 0)),
    })),
    interval: range.interval,
    ...(partial ? { partial: true as const } : {}),
  };
}
