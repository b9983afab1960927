import { z } from 'zod';
import { common } from '../api.ts';

/** CONTRACT of `GET /insights/{projectId}/engagement`: its parameters and response. */

/** Maximum number of days in a range. */
export const ENGAGEMENT_DAYS_MAX = 366;

/** Lower bounds of the rows of `sessions`; each row ends before the next. */
export const SESSION_COUNTS = [0, 1, 2, 3, 4, 5, 6, 11, 21, 51, 101] as const;

/** `GET /insights/{projectId}/engagement` */
export const engagementQuery = z.object({
  ...common,
  range: common.range.describe(
    "A named span of time in the site's time zone. Default: 30d, or custom if there are dates.",
  ),
});
export type EngagementQuery = z.output<typeof engagementQuery>;

const visitors = z.number().describe('Distinct visitors.');

export const engagementAnswer = z.object({
  visitors: z.number().describe('Distinct visitors of the range. Each list adds up to it.'),
  recency: z
    .array(
      z.object({
        days: z
          .number()
          .describe(
            'Days from the last event of these visitors to the last day of the range; 0 for visitors of that day.',
          ),
        visitors,
      }),
    )
    .describe('A row for each day of the range, from its last day back.'),
  frequency: z
    .array(
      z.object({
        days_active: z.number().describe('The number of days on which they had events.'),
        visitors,
      }),
    )
    .describe('A row for each number of days, from 1 to that of the most frequent visitor.'),
  sessions: z
    .array(
      z.object({
        sessions: z
          .number()
          .describe('The least number of sessions. 0: all events in the range have no session.'),
        sessions_max: z
          .number()
          .nullable()
          .describe('The greatest number of sessions; null without a limit.'),
        visitors,
      }),
    )
    .describe('Visitors by the number of their sessions with events in the range. Always the same rows.'),
  partial: z
    .literal(true)
    .optional()
    .describe('Present when data could not be reached and the request has `partial=true`.'),
});
export type EngagementAnswer = z.output<typeof engagementAnswer>;

/** The description of the endpoint: which events count, and when. */
export const ENGAGEMENT_NOTE = [
  'The visitors of a range by how recently they came, on how many days, and in how many sessions. Each visitor is in one row of each list.',
  `Days are those of the site's time zone. Days of the range that have not begun are left out, so "0 days" means today where the range reaches beyond it. The first and the last day count from and up to the moments at which the range begins and ends. At most ${ENGAGEMENT_DAYS_MAX} days; a longer range is rejected.`,
  'Counts are exact. The visitor of an event is the profile of its session, else its own profile, else its device; so a visitor who logs in during a visit counts once, and one who visits on another day without a login is another visitor. Aliases apply to the events that follow them. An event counts on the day on which it happened; a session over midnight counts on both days, as one session. A session that began before the range counts where it has events in it. `session_start` and `session_end` do not count. Filters select the events.',
].join('\n\n');
