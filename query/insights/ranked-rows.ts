import type { StoreParameters } from '../../infra/store.ts';
import { insightConditions } from '../filters/insight-conditions.ts';
import type { History } from '../history.ts';
import type { Asked } from '../question.ts';
import { summedHours } from '../rollups/summed-hours.ts';
import type { Seam } from '../seam.ts';
import type { ListQuery, RankedFigures } from './breakdown-api.ts';
import { metricsOf } from './figures.ts';
import { type ListSources, listRange, listSeam } from './list-question.ts';

/** One statement of `sql/` that answers with ranked rows. */
export interface RankedStatement {
  readonly question: string;
  /** For `$COLUMNS$`; our own text. */
  readonly columns: string;
  /** Bound besides the site, its currency, the span and the page. */
  readonly parameters: StoreParameters;
  /** Answers with the same rows from sums of hours; used without filters, where the hours are not too many. */
  readonly askSummed?: <Row extends object>(
    history: Pick<History, 'ask'>,
    parameters: StoreParameters & { readonly limit: number; readonly offset: number },
    seam: Seam,
  ) => Promise<Row[]>;
}

/** What the statements sum up for a row. */
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
 * One page of the rows of a statement over the range that is asked for. Without the store it is refused, whatever is
 * asked: memory does not hold what it takes. With `partial` an owner that is away is left out; a list cannot bear a
 * mark that says so, hence nothing does.
 */
export async function askRanked<Row extends object>(
  sources: ListSources,
  asked: Asked,
  query: ListQuery,
  { question, columns, parameters, askSummed }: RankedStatement,
): Promise<Row[]> {
  const range = listRange(query, asked);
  const seam = await listSeam(sources, asked, query);
  const { site } = asked;
  const conditions = insightConditions(query.filters, { span: range.span });
  const bound = {
    ...parameters,
    ...conditions.parameters,
    site: site.id,
    currency: site.currency,
    from: range.span.fromMs,
    to: range.span.toMs,
    limit: query.limit,
    offset: query.cursor,
  };
  if (askSummed !== undefined && query.filters.length === 0) {
    const { span } = range;
    const hours = await summedHours(sources.history, { projectId: site.id, spans: [span], edges: [] }, seam);
    if (hours !== undefined) return askSummed<Row>(sources.history, { ...bound, ...hours }, seam);
  }
  return sources.history.ask<Row>(question, bound, seam, columns, conditions);
}

/**
 * A row as it is answered. `rated` is the number of sessions that its bounces and durations are of, which for a page
 * are not those that saw it.
 */
export function figuresOf(row: RankedRow, rated: number, currency: string): RankedFigures {
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
