import { ratio } from '../figures.ts';
import type { Insight } from '../http/endpoint.ts';
import { askVisits } from '../insights/visits.ts';
import { RejectError } from '../reject.ts';
import { AnswerCaches } from '../rollups/answer-caches.ts';
import type { VisitRow } from '../rollups/finalized-visits.ts';
import { type QuestionScope, requestedRange, type SeamSources } from '../snapshot/question.ts';
import { type Bucket, bucketsOf, floorTo, nextAfter, startBefore } from '../time/buckets.ts';
import { isRange, type Span } from '../time/range.ts';
import {
  RETENTION_NOTE,
  RETENTION_WEEKS_DEFAULT,
  RETENTION_WEEKS_MAX,
  type RetentionAnswer,
  type RetentionQuery,
  retentionAnswer,
  retentionQuery,
} from './retention-api.ts';

/** Distances to the next visit: the next week, and everything later. */
const WINDOW_WEEKS = 2;

/** `GET /insights/{projectId}/retention` */
export function retentionInsight(
  sources: SeamSources,
  visits = new AnswerCaches().visits,
): Insight<RetentionQuery, RetentionAnswer> {
  return {
    path: 'retention',
    about: {
      summary: 'Visitors of each week who came again in the next',
      description: RETENTION_NOTE,
      answer: retentionAnswer,
    },
    schema: retentionQuery,
    answer: (scope, query) => answerRetention(sources, scope, query, visits),
  };
}

/** The visitors of each whole week, and the number that came again in the next; `RETENTION_NOTE` defines them. */
export async function answerRetention(
  sources: SeamSources,
  scope: QuestionScope,
  query: RetentionQuery,
  visits = new AnswerCaches().visits,
): Promise<RetentionAnswer> {
  const { weeks, next } = shownWeeks(query, scope);
  const first = weeks[0];
  if (first === undefined) return [];
  const rows = await askVisits(sources, scope, query, {
    span: { fromMs: first.fromMs, toMs: next.toMs },
    windows: { edges: [...weeks.map(({ fromMs }) => fromMs), next.fromMs], windowMax: WINDOW_WEEKS },
    visits,
  });
  return retentionOf(weeks, rows);
}

function retentionOf(weeks: readonly Bucket[], rows: readonly VisitRow[]): RetentionAnswer {
  const visitorsOf = (of: readonly VisitRow[]) => of.reduce((sum, { visitors }) => sum + visitors, 0);
  return weeks.map(({ label }, index) => {
    const ofWeek = rows.filter(({ day }) => day === index + 1);
    const active = visitorsOf(ofWeek);
    const retained = visitorsOf(ofWeek.filter(({ daysUntilNext }) => daysUntilNext === 1));
    return {
      date: label,
      active_users: active,
      retained_users: retained,
      retention: ratio(retained * 100, active),
    };
  });
}

/** The weeks with a row, and the week after the last of them. */
function shownWeeks(
  query: RetentionQuery,
  scope: QuestionScope,
): { readonly weeks: readonly Bucket[]; readonly next: Span } {
  const { zone, nowMs } = scope;
  // The newest complete week. It has no row, because the next week is not complete.
  const newestMs = startBefore(floorTo(nowMs, 'week', zone), 1, 'week', zone);
  const range = isRange(query)
    ? requestedRange(query, scope).span
    : { fromMs: startBefore(newestMs, RETENTION_WEEKS_DEFAULT, 'week', zone), toMs: newestMs };
  const nextMs = Math.min(floorTo(range.toMs, 'week', zone), newestMs);
  const weeks = bucketsOf({ fromMs: firstWeekMs(range.fromMs, scope), toMs: nextMs }, 'week', zone);
  if (weeks === undefined || weeks.length > RETENTION_WEEKS_MAX)
    throw new RejectError('invalid', `range: expected at most ${RETENTION_WEEKS_MAX} weeks`);
  return { weeks, next: { fromMs: nextMs, toMs: nextAfter(nextMs, 'week', zone) } };
}

/** The start of the first week that begins at `fromMs` or later. */
function firstWeekMs(fromMs: number, { zone }: QuestionScope): number {
  const beginMs = floorTo(fromMs, 'week', zone);
  return beginMs === fromMs ? beginMs : nextAfter(beginMs, 'week', zone);
}
