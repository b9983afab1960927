import { SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { type Goal, goalsShown } from '../definitions/definitions.ts';
import { areWithinLimits, combinedFilters, type Filter } from '../filters/filter.ts';
import { goalBits, insightConditions } from '../filters/insight-conditions.ts';
import type { Insight } from '../http/endpoint.ts';
import { byBytes } from '../rank-order.ts';
import { openSeam, type QuestionScope, requestedRange, type SeamSources } from '../snapshot/question.ts';
import { conversionFiguresOf } from './conversions.ts';
import { type GoalFiguresAnswer, type GoalsQuery, goalFiguresAnswer, goalsQuery } from './goals-api.ts';

/** `GET /insights/{projectId}/goals` */
export function goalsInsight(sources: SeamSources): Insight<GoalsQuery, GoalFiguresAnswer> {
  return {
    path: 'goals',
    isShared: true,
    about: {
      summary: 'All goals of the site with their conversions',
      description:
        'The conversions of every goal of the site, most first, ties by name. A conversion is a session that began in the range, matches the filters, and has at least one event of the goal in the range, so that a session counts once for each goal, however often it reached it. The event of the goal need not match the filters itself. The answer has no pages: a site has at most 50 goals. Filters that exceed their limits together with those of one goal are 400. A shared link gets the goals that test only what the link shows. Without the store it is 503.',
      answer: goalFiguresAnswer,
    },
    schema: goalsQuery,
    answer: (scope, query) => answerGoals(sources, scope, query),
  };
}

/** Counts all goals over one seam, in batches of one statement each, one after the other. */
export async function answerGoals(
  sources: SeamSources,
  scope: QuestionScope,
  query: GoalsQuery,
): Promise<GoalFiguresAnswer> {
  const { filters } = query;
  const { span } = requestedRange(query, scope);
  const batches = batchesOf(goalsShown(scope.definitions), filters);
  const seam = await openSeam(sources, scope, query);
  const { parameters: filterValues, sessions } = insightConditions(filters, { span });
  const answer: GoalFiguresAnswer = [];
  for (const goals of batches) {
    const { parameters, ...texts } = goalBits(goals.map((goal) => goal.filters));
    const bound = {
      ...filterValues,
      ...parameters,
      site: scope.site.storedId,
      from: span.fromMs,
      to: span.toMs,
      synthetic: [SESSION_START, SESSION_END],
      count: goals.length,
    };
    const conditions = sessions === undefined ? texts : { ...texts, sessions };
    // Its lists are in the order of the goals, and empty without sessions.
    const [row] = await sources.history.ask({ name: 'goals', parameters: bound, texts: conditions }, seam);
    for (const [place, goal] of goals.entries()) {
      const { id, name, type } = goal.record;
      const conversions = row?.conversions[place] ?? 0;
      const visitors = row?.visitors[place] ?? 0;
      const figures = conversionFiguresOf(goal, row?.sessions ?? 0, { conversions, visitors });
      answer.push({ id, name, type, ...figures });
    }
  }
  return answer.sort((a, b) => b.conversions - a.conversions || byBytes(a.name, b.name));
}

/** A batch fits into the limits of one list of filters, so its statement is no larger than any other. */
function batchesOf(goals: readonly Goal[], filters: readonly Filter[]): readonly (readonly Goal[])[] {
  const batches: Goal[][] = [];
  for (const goal of goals) {
    combinedFilters([filters, goal.filters]);
    const last = batches.at(-1);
    const lists = [filters, ...(last ?? []).map((one) => one.filters), goal.filters];
    if (last !== undefined && areWithinLimits(lists)) last.push(goal);
    else batches.push([goal]);
  }
  return batches;
}
