import { z } from 'zod';
import { exportedEvent, flag } from '../api.ts';
import { cursorField } from '../cursor.ts';
import { pageLimit } from '../insights/list-api.ts';

/** `GET /insights/{projectId}/profiles/{profileId}/journey` and `…/sessions/{sessionId}/journey` */
export const journeyQuery = z.object({
  order: z.enum(['asc', 'desc']).default('asc').describe('`asc`: oldest first. `desc`: newest first.'),
  limit: pageLimit(100),
  cursor: cursorField,
  synthetic: flag.describe('Also `session_start` and `session_end`.'),
  partial: flag.describe('Answer without data that cannot be reached now, instead of with 503.'),
});
export type JourneyQuery = z.output<typeof journeyQuery>;

/** An event of a journey. */
export const journeyEvent = exportedEvent.extend({
  sincePreviousMs: z
    .number()
    .nullable()
    .describe(
      'Milliseconds since the event before it in time, in the same journey and on whichever page; null for the first. With `synthetic=true`, synthetic events are among these.',
    ),
});
export type JourneyEvent = z.output<typeof journeyEvent>;

export const journeyAnswer = z.array(journeyEvent);
export type JourneyAnswer = z.output<typeof journeyAnswer>;
