import { metricsOf } from '../figures.ts';
import { planLookup, planRanked } from '../plan.ts';
import type { PagedParameters } from '../rollups/rollup-pages.ts';
import { askBlocksInTable, askFinalizedBlocks } from '../rollups/rollup-spans.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { openSeam, type QuestionScope, requestedRange, type SeamSources } from '../snapshot/question.ts';
import type { Seam } from '../snapshot/seam.ts';
import type { ListQuery, RankedFigures } from './breakdown-api.ts';

/** A question whose answer is ranked rows. */
export interface RankedStatement<Row> {
  /** The statement of `sql/` that answers from rows alone. */
  readonly name: string;
  /** For `$COLUMNS$`; our own text. */
  readonly columns: string;
  /** How the same rows come from rollups, for questions without filters; undefined where there are no rollups. */
  readonly rollups?: RollupRows<Row>;
}

export interface RollupRows<Row> {
  /** Rollups of hours are used from this time on, besides those of days. */
  readonly hoursFromMs: number;
  /** The table of days that they come from, if it is one of `ADDED_ROLLUP_TABLES`. */
  readonly addedTable?: string | undefined;
  ask(history: StatementRunner, parameters: PagedParameters, seam: Seam): Promise<readonly Row[]>;
}

/** The figures of a ranked row. */
export interface RankedRow {
  readonly sessions: number;
  readonly pageviews: number;
  readonly visitors: number;
  readonly bounces: number;
  readonly durationMs: number;
  /** Minor units of the site's currency, as text, since they may be more than a double holds. */
  readonly revenue: string;
}

/**
 * One page of ranked rows over the requested range. Rejected while the store is away, because memory does not hold such
 * rows. With `partial` the rows of an owner that is away are missing, and a bare array has no place to say so.
 */
export async function askRanked<Row extends object>(
  sources: SeamSources,
  scope: QuestionScope,
  query: ListQuery,
  statement: RankedStatement<Row>,
): Promise<readonly Row[]> {
  const seam = await openSeam(sources, scope, query);
  return askRankedOver(sources.history, seam, scope, query, statement);
}

/** The same over a given seam. */
export async function askRankedOver<Row extends object>(
  history: StatementRunner,
  seam: Seam,
  scope: QuestionScope,
  query: ListQuery,
  { name, columns, rollups }: RankedStatement<Row>,
): Promise<readonly Row[]> {
  const { span } = requestedRange(query, scope);
  const question = {
    projectId: scope.site.storedId,
    filters: query.filters,
    statement: name,
    columns,
    span,
    page: { currency: scope.site.currency, limit: query.limit, offset: query.cursor },
    hoursFromMs: rollups?.hoursFromMs ?? Number.POSITIVE_INFINITY,
  };
  const lookup = rollups && planLookup(question, [span]);
  const addedTable = rollups?.addedTable;
  const blocks =
    addedTable === undefined
      ? await askFinalizedBlocks(history, lookup, seam)
      : await askBlocksInTable(history, lookup, addedTable, seam);
  const plan = planRanked(question, blocks);
  if (rollups === undefined || plan.rollups === undefined) return history.ask<Row>(plan.rows, seam);
  return rollups.ask(history, plan.rollups, seam);
}

/**
 * The figures of a row in an answer.
 * @param rated the number of sessions that its bounces and durations belong to; for `pages` not those that saw the page
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
