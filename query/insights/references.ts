import { referencesIn } from '../definitions/definitions.ts';
import { REFERENCES_SHOWN_MAX, type ReferenceShown } from '../definitions/definitions-api.ts';
import type { Insight } from '../http/endpoint.ts';
import { type QuestionScope, requestedRange } from '../snapshot/question.ts';
import type { RangeQuestion } from '../time/range.ts';
import {
  type ReferencesAnswer,
  type ReferencesQuery,
  referencesAnswer,
  referencesQuery,
} from './references-api.ts';

/** An answer with the references in its range, for answers that are drawn as a chart. */
export function withReferences<Answer extends object>(
  answer: Answer,
  range: RangeQuestion,
  scope: QuestionScope,
): Answer & { readonly references: ReferenceShown[] } {
  const { span } = requestedRange(range, scope);
  return { ...answer, references: [...referencesIn(span, REFERENCES_SHOWN_MAX, scope.definitions)] };
}

/** `GET /insights/{projectId}/references` */
export function referencesInsight(): Insight<ReferencesQuery, ReferencesAnswer> {
  return {
    path: 'references',
    isShared: true,
    about: {
      summary: 'The references in a range',
      description:
        'Dates to mark on a chart of the same range, such as a release: oldest first, ties by id. A reference is in the range from its first instant to its last, the end excluded. `metrics` and `/export/charts` have them in their answers; series that are bare arrays, such as `active_users`, cannot carry them. A site may have 1,000 references.',
      answer: referencesAnswer,
    },
    schema: referencesQuery,
    answer: async (scope, query) => [
      ...referencesIn(requestedRange(query, scope).span, query.limit, scope.definitions),
    ],
  };
}
