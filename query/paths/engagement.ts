import { SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { insightConditions } from '../filters/insight-conditions.ts';
import type { Insight } from '../http/endpoint.ts';
import { RejectError } from '../reject.ts';
import { openSeam, type QuestionScope, requestedRange, type SeamSources } from '../snapshot/question.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import { type Bucket, bucketsOf, floorTo, nextAfter } from '../time/buckets.ts';
import { isRange, type Span } from '../time/range.ts';
import {
  ENGAGEMENT_DAYS_MAX,
  ENGAGEMENT_NOTE,
  type EngagementAnswer,
  type EngagementQuery,
  engagementAnswer,
  engagementQuery,
  SESSION_COUNTS,
} from './engagement-api.ts';

type EngagementRow = AnswerRow<'engagement'>;

/** `GET /insights/{projectId}/engagement` */
export function engagementInsight(sources: SeamSources): Insight<EngagementQuery, EngagementAnswer> {
  return {
    path: 'engagement',
    about: {
      summary: 'Visitors by recency, active days and sessions',
      description: ENGAGEMENT_NOTE,
      answer: engagementAnswer,
    },
    schema: engagementQuery,
    answer: (scope, query) => answerEngagement(sources, scope, query),
  };
}

/** Returns the recency, number of days and number of sessions of a range's visitors; `ENGAGEMENT_NOTE` defines them. */
export async function answerEngagement(
  sources: SeamSources,
  scope: QuestionScope,
  query: EngagementQuery,
): Promise<EngagementAnswer> {
  const { span, days } = countedDays(query, scope);
  if (days.length === 0) return engagementOf(days, []);
  const { parameters: filterValues, ...texts } = insightConditions(query.filters, { span });
  const parameters = {
    ...filterValues,
    site: scope.site.storedId,
    from: span.fromMs,
    to: span.toMs,
    edges: days.map(({ fromMs }) => fromMs),
    counts: SESSION_COUNTS,
    synthetic: [SESSION_START, SESSION_END],
  };
  const seam = await openSeam(sources, scope, query);
  const { filters } = query;
  const rows = await sources.history.ask({ name: 'engagement', parameters, texts, filters }, seam);
  return { ...engagementOf(days, rows), ...(seam.partial ? { partial: true as const } : {}) };
}

function engagementOf(days: readonly Bucket[], rows: readonly EngagementRow[]): EngagementAnswer {
  const byNumber = (kind: 'recency' | 'frequency' | 'sessions') =>
    new Map(rows.filter((row) => row.kind === kind).map(({ number, visitors }) => [number, visitors]));
  const [recency, frequency, sessions] = [byNumber('recency'), byNumber('frequency'), byNumber('sessions')];
  const daysMost = Math.max(0, ...frequency.keys());
  return {
    visitors: [...recency.values()].reduce((sum, visitors) => sum + visitors, 0),
    recency: days.map((_, index) => ({ days: index, visitors: recency.get(days.length - index) ?? 0 })),
    frequency: Array.from({ length: daysMost }, (_, index) => ({
      days_active: index + 1,
      visitors: frequency.get(index + 1) ?? 0,
    })),
    sessions: SESSION_COUNTS.map((count, index) => {
      const next = SESSION_COUNTS[index + 1];
      return {
        sessions: count,
        sessions_max: next === undefined ? null : next - 1,
        visitors: sessions.get(count) ?? 0,
      };
    }),
  };
}

/** The days of the range that have begun, with the first and the last cut to the range. */
function countedDays(
  query: EngagementQuery,
  scope: QuestionScope,
): { readonly span: Span; readonly days: readonly Bucket[] } {
  const { zone, nowMs } = scope;
  const { fromMs, toMs } = requestedRange(isRange(query) ? query : { range: '30d' }, scope).span;
  const span = { fromMs, toMs: Math.min(toMs, nextAfter(floorTo(nowMs, 'day', zone), 'day', zone)) };
  const days = bucketsOf(span, 'day', zone);
  if (days === undefined || days.length > ENGAGEMENT_DAYS_MAX)
    throw new RejectError('invalid', `range: expected at most ${ENGAGEMENT_DAYS_MAX} days`);
  return { span, days };
}
