import type { StoreParameters } from '../../infra/store/store.ts';
import { metricsOf } from '../figures.ts';
import { insightConditions } from '../filters/insight-conditions.ts';
import type { PagedParameters } from '../rollups/rollup-pages.ts';
import { rollupSpans } from '../rollups/rollup-spans.ts';
import type { History } from '../snapshot/history.ts';
import { type ListSources, listRange, listSeam } from '../snapshot/list-question.ts';
import type { Asked } from '../snapshot/question.ts';
import type { Seam } from '../snapshot/seam.ts';
import type { ListQuery, RankedFigures } from './breakdown-api.ts';

/** One statement of `sql/` that answers with ranked rows. */
export interface RankedStatement<Row> {
  readonly question: string;
  /** For `$COLUMNS$`; our own text. */
  readonly columns: string;
  /** Bound besides the site, its currency, the span and the page. */
  readonly parameters: StoreParameters;
  /** How the same rows are had from sums; for questions without filters. */
  readonly summed?: RollupRows<Row>;
}

export interface RollupRows<Row> {
  /** Sums of hours from this time on will do, beside those of days. */
  readonly hoursFromMs: number;
  ask(history: Pick<History, 'ask'>, parameters: PagedParameters, seam: Seam): Promise<readonly Row[]>;
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
  { question, columns, parameters, summed }: RankedStatement<Row>,
): Promise<readonly Row[]> {
  const range = listRange(query, asked);
  const seam = await listSeam(sources, asked, query);
  const { site } = asked;
  const conditions = insightConditions(query.filters, { span: range.span });
  const bound = {
    ...parameters,
    ...conditions.parameters,
    site: site.storedId,
    currency: site.currency,
    from: range.span.fromMs,
    to: range.span.toMs,
    limit: query.limit,
    offset: query.cursor,
  };
  if (summed !== undefined && query.filters.length === 0) {
    const { hoursFromMs } = summed;
    const asked = { projectId: site.storedId, spans: [range.span], edges: [], hoursFromMs, days: true };
    const sums = await rollupSpans(sources.history, asked, seam);
    if (sums !== undefined) return summed.ask(sources.history, { ...bound, ...sums }, seam);
  }
  return sources.history.ask<Row>(question, bound, seam, { ...conditions, columns });
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
