import { ADDED_ROLLUP_TABLES } from '../../processor/rows.ts';
import { nextRows } from '../cursor.ts';
import { areAboutSessions } from '../filters/insight-conditions.ts';
import type { About, Insight } from '../http/endpoint.ts';
import { NO_HOURS } from '../plan/plan.ts';
import { AnswerCaches } from '../rollups/answer-caches.ts';
import { rankedHoursOf } from '../rollups/session-rankings.ts';
import { openSeam, type QuestionScope, requestedRange, type SeamSources } from '../snapshot/question.ts';
import { orElse } from '../ways.ts';
import {
  type BreakdownAnswer,
  breakdownAnswer,
  type ListQuery,
  listQuery,
  type TrafficQuery,
  trafficQueries,
} from './breakdown-api.ts';
import { askedGoal, askRowConversions, conversionFiguresOf } from './conversions.ts';
import {
  columnsText,
  DIMENSION_NAMES,
  type DimensionName,
  dimensionOf,
  rollupTableOf,
} from './dimensions.ts';
import { askRankedOver, rankedFiguresOf } from './ranked-rows.ts';

/** The sessions that began in a range, by a dimension. The values with the most sessions come first. */
export async function answerBreakdown(
  sources: SeamSources,
  asked: QuestionScope,
  query: ListQuery,
  name: DimensionName,
  rankings = new AnswerCaches().rankings,
): Promise<BreakdownAnswer> {
  const dimension = dimensionOf(name);
  const columns = columnsText(dimension);
  const rollupTable = rollupTableOf(dimension);
  const hasRollups = query.filters.length === 0 && rollupTable !== undefined;
  const goal = askedGoal(query, asked);
  const { history } = sources;
  const seam = await openSeam(sources, asked, query);
  const rows = await askRankedOver(history, seam, asked, query, {
    name: 'breakdown',
    columns,
    finalized: {
      answers: areAboutSessions,
      // Dimensions have only rollups of days: reading an hour of sessions is as fast as reading its rollup would be.
      hoursOf: (span) => ({
        ...rankedHoursOf(span, asked.nowMs),
        ...(hasRollups && { fromMs: NO_HOURS }),
      }),
      addedTable: hasRollups && ADDED_ROLLUP_TABLES.includes(rollupTable) ? rollupTable : undefined,
      ask: async (runner, part, over) => {
        if (!hasRollups) return rankings.ask(runner, part, over);
        const { parameters } = part;
        const texts = { columns, rollupTable };
        const ranked = await rankings.ask(runner, { ...part, texts }, over);
        return orElse(ranked, (why) =>
          runner.ask({ name: 'breakdown-rollup', parameters, texts, why }, over),
        );
      },
    },
  });
  const { span } = requestedRange(query, asked);
  const question = { projectId: asked.site.storedId, filters: query.filters, span, rows };
  const conversionsOf = goal && (await askRowConversions(history, columns, question, goal, seam));
  return rows.map((row) => ({
    name: row.name === '' ? null : row.name,
    ...(dimension.parent === undefined ? {} : { prefix: row.prefix === '' ? null : row.prefix }),
    ...rankedFiguresOf(row, row.sessions, asked.site.currency),
    ...(goal && conversionFiguresOf(goal, row.sessions, conversionsOf?.(row))),
  }));
}

function aboutRanking(summary: string): About {
  return {
    summary,
    description:
      'Rows cover the sessions that began in the range. Sorted by sessions in descending order, then by name. `name` is null when the value is unknown.',
    answer: breakdownAnswer,
  };
}

/** `GET /insights/{projectId}/{dimension}`, of every dimension. */
export function breakdownInsights(
  sources: SeamSources,
  rankings = new AnswerCaches().rankings,
): readonly Insight<ListQuery, BreakdownAnswer>[] {
  return DIMENSION_NAMES.map((name) => ({
    path: name,
    isShared: true,
    about: aboutRanking(`Sessions by ${name}`),
    schema: listQuery,
    answer: (asked, query) => answerBreakdown(sources, asked, query, name, rankings),
    next: nextRows,
  }));
}

/** `GET /insights/{projectId}/traffic/referrers`, `…/geo` and `…/devices`: the same rows, by the dimension `breakdown`. */
export function trafficInsights(
  sources: SeamSources,
  rankings = new AnswerCaches().rankings,
): readonly Insight<TrafficQuery, BreakdownAnswer>[] {
  const answer = (asked: QuestionScope, query: TrafficQuery) =>
    answerBreakdown(sources, asked, query, query.breakdown, rankings);
  return [
    {
      path: 'traffic/referrers',
      isShared: true,
      about: aboutRanking('Sessions by source'),
      schema: trafficQueries.referrers,
      answer,
      next: nextRows,
    },
    {
      path: 'traffic/geo',
      isShared: true,
      about: aboutRanking('Sessions by location'),
      schema: trafficQueries.geo,
      answer,
      next: nextRows,
    },
    {
      path: 'traffic/devices',
      isShared: true,
      about: aboutRanking('Sessions by device and software'),
      schema: trafficQueries.devices,
      answer,
      next: nextRows,
    },
  ];
}
