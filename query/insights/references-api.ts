import { z } from 'zod';
import { excludedQuery, wholeNumber } from '../api.ts';
import { referenceShown } from '../definitions/definitions-api.ts';

/** CONTRACT with clients about references in a range. */

const REFERENCES_MAX = 1_000;

/** `GET /insights/{projectId}/references` */
export const referencesQuery = z.object({
  ...excludedQuery.shape,
  limit: wholeNumber(1, REFERENCES_MAX)
    .default(REFERENCES_MAX)
    .describe('The most references of the answer; if there are more, the newest ones.'),
});
export type ReferencesQuery = z.output<typeof referencesQuery>;

export const referencesAnswer = z.array(referenceShown);
export type ReferencesAnswer = z.output<typeof referencesAnswer>;
