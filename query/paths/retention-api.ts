import { z } from 'zod';
import { common } from '../api.ts';

/** CONTRACT of `GET /insights/{projectId}/retention`: its parameters and response. */

/** Number of weeks in an answer without a range. */
export const RETENTION_WEEKS_DEFAULT = 12;
/** Maximum number of weeks in an answer: two years, with the incomplete weeks at their ends. */
export const RETENTION_WEEKS_MAX = 106;

/** `GET /insights/{projectId}/retention` */
export const retentionQuery = z.object({
  ...common,
  range: common.range.describe(
    `A named span of time in the site's time zone. Default: the ${RETENTION_WEEKS_DEFAULT} newest weeks whose next week is over, or custom if there are dates.`,
  ),
});
export type RetentionQuery = z.output<typeof retentionQuery>;

/** By week: its visitors, and how many of them came again in the next week. */
export const retentionAnswer = z.array(
  z.object({
    date: z.string().describe("The Monday on which the week begins in the site's time zone, `YYYY-MM-DD`."),
    active_users: z.number().describe('Distinct visitors of the week.'),
    retained_users: z.number().describe('Those of them who are also visitors of the next week.'),
    retention: z
      .number()
      .describe(
        'Percent of the visitors of the week who were retained, 0 to 100. Two decimals; 0 without visitors.',
      ),
  }),
);
export type RetentionAnswer = z.output<typeof retentionAnswer>;

/** The description of the endpoint: which events count, and when. */
export const RETENTION_NOTE = [
  'One row per whole week, Monday to Sunday in the time zone of the site: the distinct visitors of the week, and how many of them had an event in the next week, too. In order, weeks without visitors included.',
  `A week has a row if it lies within the range as a whole, and its next week is over; so a row never changes again, unless late events come. The next week is read even if it lies after the range. A range without such a week returns an empty array. At most ${RETENTION_WEEKS_MAX} weeks; a longer range is rejected.`,
  'Counts are exact. The visitor of an event is the profile of its session, else its own profile, else its device; so a visitor who logs in during a visit counts once, and one who visits on another day without a login is another visitor. Aliases apply to the events that follow them. An event counts in the week in which it happened, also when its session began in the week before. `session_start` and `session_end` do not count. Filters select the events of both weeks.',
].join('\n\n');
