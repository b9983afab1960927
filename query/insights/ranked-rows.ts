import { metricsOf } from '../figures.ts';
import type { Filter } from '../filters/filter.ts';
import { type FinalizedPart, NO_HOURS, planLookup, planRanked, type RankedName } from '../plan/plan.ts';
import { lookUpBlocks } from '../rollups/blocks-lookup.ts';
import type { FinalizedHours } from '../rollups/rollup-spans.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { type QuestionScope, requestedRange } from '../snapshot/question.ts';
import type { Seam } from '../snapshot/seam.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import type { Span } from '../time/range.ts';
import { Otherwise, orElse } from '../ways.ts';
import type { ListQuery, RankedFigures } from './breakdown-api.ts';

/** A question for ranked rows. */
export interface RankedStatement<Name extends RankedName> {
  /** The statement of `sql/` that needs no rollups. */
  readonly name: Name;
  /** For `$COLUMNS$`; our own text. */
  readonly columns: string;
  /** The same rows from finalized hours; undefined if there is no other way than `name`. */
  readonly finalized?: FinalizedRows<AnswerRow<Name>>;
}

export interface FinalizedRows<Row> {
  /** Tests the filters of a question: it may use this way. */
  answers(filters: readonly Filter[]): boolean;
  /** The finalized hours of the span to use. */
  hoursOf(span: Span): FinalizedHours;
  /** The rows' table of days, if it is one of `ADDED_ROLLUP_TABLES`. */
  readonly addedTable?: string | undefined;
  /** None when the statement `name` is as fast. */
  ask(history: StatementRunner, part: FinalizedPart, seam: Seam): Promise<readonly Row[] | Otherwise>;
}

/** The figures of a ranked row. */
export interface RankedRow {
  readonly sessions: number;
  readonly pageviews: number;
  readonly visitors: number;
  readonly bounces: number;
  readonly durationMs: number;
  /** Minor units of the site's currency. Text, because a double may be too small. */
  readonly revenue: string;
}

/**
 * One page of ranked rows over the requested range. Rejected without the store, because memory does not hold such rows.
 * With `partial`, the rows of an unavailable owner are missing, and a bare array has no place for a mark.
 */
export async function askRankedOver<Name extends RankedName>(
  history: StatementRunner,
  seam: Seam,
  scope: QuestionScope,
  query: ListQuery,
  { name, columns, finalized }: RankedStatement<Name>,
): Promise<readonly AnswerRow<Name>[]> {
  const { span } = requestedRange(query, scope);
  const { filters } = query;
  const { storedId: projectId, currency } = scope.site;
  const hours = finalized?.hoursOf(span) ?? { fromMs: NO_HOURS, recentFromMs: NO_HOURS };
  const question = {
    projectId,
    filters,
    statement: name,
    columns,
    span,
    page: { currency, limit: query.limit, offset: query.cursor },
    hours,
  };
  const lookup = finalized?.answers(filters)
    ? planLookup({ projectId, filters: [] }, [span], Math.min(hours.fromMs, hours.recentFromMs))
    : new Otherwise(finalized === undefined ? 'no-rollups' : 'filters');
  return lookUpBlocks(history, lookup, seam, finalized?.addedTable).answer(async (blocks) => {
    const plan = planRanked(question, blocks);
    const found = await askFinalized(history, finalized, plan.finalized, seam);
    return orElse(found, (why) => history.ask({ ...plan.rows, why }, seam));
  });
}

async function askFinalized<Row>(
  history: StatementRunner,
  finalized: FinalizedRows<Row> | undefined,
  part: FinalizedPart | Otherwise,
  seam: Seam,
): Promise<readonly Row[] | Otherwise> {
  if (finalized === undefined) return new Otherwise('no-rollups');
  return part instanceof Otherwise ? part : finalized.ask(history, part, seam);
}

/**
 * The figures of a row in an answer.
 * @param rated the number of sessions behind its bounces and durations; for `pages` only sessions that began on the
 * page
 */
export function rankedFiguresOf(row: RankedRow, rated: number, currency: string): RankedFigures {
  const { bounce_rate, avg_session_duration, total_revenue } = metricsOf(
    {
      screenViews: row.pageviews,
      visitors: row.visitors,
      sessions: rated,
      bounces: row.bounces,
      durationMs: row.durationMs,
      revenue: new Map([[currency, BigInt(row.revenue)]]),
    },
    currency,
  );
  return {
    sessions: row.sessions,
    pageviews: row.pageviews,
    visitors: row.visitors,
    bounce_rate,
    avg_duration: avg_session_duration,
    revenue: total_revenue,
  };
}
