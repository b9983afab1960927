import type { z } from 'zod';
import type { ExcludedAnswer, excludedQuery } from '../api.ts';
import { RejectError } from '../reject.ts';
import type { Asked, Sources } from '../snapshot/question.ts';
import { NO_SEAM } from '../snapshot/seam.ts';
import { rangeOf } from '../time/range.ts';

interface ExcludedRow {
  readonly reason: string;
  readonly name: string;
  readonly requests: number;
}

/** `GET /insights/{projectId}/excluded`: bots and filtered requests, by what they were. */
export async function answerExcluded(
  { history }: Pick<Sources, 'history'>,
  { site, zone, nowMs }: Asked,
  query: z.output<typeof excludedQuery>,
): Promise<ExcludedAnswer> {
  const range = rangeOf(query, nowMs, zone);
  if ('kind' in range) throw new RejectError('invalid', range.message);
  const { fromMs, toMs } = range.span;
  const parameters = { site: site.storedId, from: fromMs, to: toMs, limit: query.limit };
  const rows = await history.ask<ExcludedRow>('excluded', parameters, NO_SEAM);
  return rows.map(({ reason, name, requests }) => {
    const colon = reason.indexOf(':');
    return {
      reason: reason.slice(0, colon),
      type: reason.slice(colon + 1),
      name: name === '' ? null : name,
      requests: Number(requests),
    };
  });
}
