import type { z } from 'zod';
import type { ExcludedAnswer, excludedQuery } from '../api.ts';
import { type QuestionScope, requestedRange, type Sources } from '../snapshot/question.ts';
import { NO_SEAM } from '../snapshot/seam.ts';

/** `GET /insights/{projectId}/excluded`: requests of bots and filtered requests, by reason. */
export async function answerExcluded(
  { history }: Pick<Sources, 'history'>,
  scope: QuestionScope,
  query: z.output<typeof excludedQuery>,
): Promise<ExcludedAnswer> {
  const { fromMs, toMs } = requestedRange(query, scope).span;
  const parameters = { site: scope.site.storedId, from: fromMs, to: toMs, limit: query.limit };
  const rows = await history.ask({ name: 'excluded', parameters }, NO_SEAM);
  return rows.map(({ reason, name, requests }) => {
    const colon = reason.indexOf(':');
    return {
      reason: reason.slice(0, colon),
      type: reason.slice(colon + 1),
      name: name === '' ? null : name,
      requests,
    };
  });
}
