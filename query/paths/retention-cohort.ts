import { SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { ratio } from '../figures.ts';
import { insightConditions } from '../filters/insight-conditions.ts';
import type { Insight } from '../http/endpoint.ts';
import { RejectError } from '../reject.ts';
import { openSeam, type QuestionScope, requestedRange, type SeamSources } from '../snapshot/question.ts';
import { type Bucket, bucketsOf, floorTo, nextAfter, startBefore } from '../time/buckets.ts';
import { isRange, type Span } from '../time/range.ts';
import {
  COHORT_NOTE,
  COHORTS_DEFAULT,
  COHORTS_MAX,
  type CohortAnswer,
  type CohortQuery,
  cohortAnswer,
  cohortQuery,
} from './retention-cohort-api.ts';

/** The visitors of a cohort, and the number that returned 0, 1, 2, … intervals later. */
/** `GET /insights/{projectId}/retention/cohort` */
export function cohortInsight(sources: SeamSources): Insight<CohortQuery, CohortAnswer> {
  return {
    path: 'retention/cohort',
    about: {
      summary: 'Visitors by when they first came, and how many returned since',
      description: COHORT_NOTE,
      answer: cohortAnswer,
    },
    schema: cohortQuery,
    answer: (scope, query) => answerCohorts(sources, scope, query),
  };
}

/** The cohorts of a range, and the number of each that returned in the intervals since; `COHORT_NOTE` defines them. */
export async function answerCohorts(
  sources: SeamSources,
  scope: QuestionScope,
  query: CohortQuery,
): Promise<CohortAnswer> {
  const { span, intervals } = planCohorts(query, scope);
  if (intervals.length === 0) return [];
  const { parameters: filterValues, ...texts } = insightConditions(query.filters, { span });
  const parameters = {
    ...filterValues,
    site: scope.site.storedId,
    from: span.fromMs,
    to: span.toMs,
    edges: intervals.map(({ fromMs }) => fromMs),
    intervals: intervals.length,
    firstEvent: query.firstEvent ?? '',
    event: query.event ?? '',
    synthetic: [SESSION_START, SESSION_END],
  };
  const seam = await openSeam(sources, scope, query);
  const { filters } = query;
  const rows = await sources.history.ask({ name: 'retention-cohort', parameters, texts, filters }, seam);
  const byCohort = new Map(rows.map((row) => [row.cohort, row]));
  return intervals.map(({ label }, index) => {
    const { size = 0, returned = [] } = byCohort.get(index) ?? {};
    const values = intervals.slice(index).map((_, later) => returned[later] ?? 0);
    return {
      cohort_interval: label,
      sum: size,
      values,
      percentages: values.map((value) => ratio(value * 100, size)),
    };
  });
}

/**
 * The intervals of the answer, without future ones, and their span.
 * @throws {RejectError} when they are too many, or the parameters name no range
 */
export function planCohorts(
  query: CohortQuery,
  scope: QuestionScope,
): { readonly span: Span; readonly intervals: readonly Bucket[] } {
  const { zone, nowMs } = scope;
  const { interval } = query;
  const currentMs = floorTo(nowMs, interval, zone);
  const endMs = nextAfter(currentMs, interval, zone);
  const range = isRange(query)
    ? requestedRange(query, scope).span
    : { fromMs: startBefore(currentMs, COHORTS_DEFAULT[interval] - 1, interval, zone), toMs: endMs };
  const span = {
    fromMs: floorTo(range.fromMs, interval, zone),
    toMs: Math.min(nextAfter(floorTo(range.toMs - 1, interval, zone), interval, zone), endMs),
  };
  const intervals = bucketsOf(span, interval, zone);
  if (intervals === undefined || intervals.length > COHORTS_MAX) {
    const message = `interval: the range has more than ${COHORTS_MAX} intervals of one ${interval}; choose a longer interval or a shorter range`;
    throw new RejectError('invalid', message);
  }
  return { span, intervals };
}
