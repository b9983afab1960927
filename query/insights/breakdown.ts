import { nextRows } from '../cursor.ts';
import type { Insight } from '../http/endpoint.ts';
import type { ListSources } from '../snapshot/list-question.ts';
import type { Asked } from '../snapshot/question.ts';
import {
  type BreakdownAnswer,
  breakdownAnswer,
  type ListQuery,
  listQuery,
  type TrafficQuery,
  trafficQueries,
} from './breakdown-api.ts';
import { columnsText, DIMENSION_NAMES, type DimensionName, dimensionOf, sumsOf } from './dimensions.ts';
import { askRanked, figuresOf, type RankedRow } from './ranked-rows.ts';

interface BreakdownRow extends RankedRow {
  readonly prefix: string;
  readonly name: string;
}

/**
 * The sessions that began in a range, by a dimension: those with most sessions first. Refused without the store; with
 * `partial` answered without the sessions of an owner that is away, and not marked.
 */
export async function answerBreakdown(
  sources: ListSources,
  asked: Asked,
  query: ListQuery,
  name: DimensionName,
): Promise<BreakdownAnswer> {
  const dimension = dimensionOf(name);
  const columns = columnsText(dimension);
  const rows = await askRanked<BreakdownRow>(sources, asked, query, {
    question: 'breakdown',
    columns,
    parameters: {},
    summed: {
      // There are sums of days alone: the sessions of an hour are read as soon as its sums would be.
      hoursFromMs: Number.POSITIVE_INFINITY,
      ask: (history, parameters, seam) =>
        history.ask('breakdown-rollup', parameters, seam, { columns, sums: sumsOf(dimension) }),
    },
  });
  return rows.map((row) => ({
    name: row.name === '' ? null : row.name,
    ...(dimension.parent === undefined ? {} : { prefix: row.prefix === '' ? null : row.prefix }),
    ...figuresOf(row, row.sessions, asked.site.currency),
  }));
}

/** `GET /insights/{projectId}/{dimension}`, of every dimension. */
export function breakdownInsights(sources: ListSources): readonly Insight<ListQuery, BreakdownAnswer>[] {
  return DIMENSION_NAMES.map((name) => ({
    path: name,
    about: { summary: `Sessions by ${name}`, answer: breakdownAnswer },
    schema: listQuery,
    answer: (asked, query) => answerBreakdown(sources, asked, query, name),
    next: nextRows,
  }));
}

/** `GET /insights/{projectId}/traffic/referrers`, `…/geo` and `…/devices`: the same rows, by what `breakdown` says. */
export function trafficInsights(sources: ListSources): readonly Insight<TrafficQuery, BreakdownAnswer>[] {
  const answer = (asked: Asked, query: TrafficQuery) =>
    answerBreakdown(sources, asked, query, query.breakdown);
  const about = (summary: string) => ({ summary, answer: breakdownAnswer });
  return [
    {
      path: 'traffic/referrers',
      about: about('Sessions by where they came from'),
      schema: trafficQueries.referrers,
      answer,
      next: nextRows,
    },
    {
      path: 'traffic/geo',
      about: about('Sessions by place'),
      schema: trafficQueries.geo,
      answer,
      next: nextRows,
    },
    {
      path: 'traffic/devices',
      about: about('Sessions by what they were made with'),
      schema: trafficQueries.devices,
      answer,
      next: nextRows,
    },
  ];
}
