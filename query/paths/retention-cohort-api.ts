import { z } from 'zod';
import { common } from '../api.ts';

/** CONTRACT of `GET /insights/{projectId}/retention/cohort`: its parameters and response. */

/** The widths of a cohort. */
export const COHORT_INTERVALS = ['day', 'week', 'month'] as const;
export type CohortInterval = (typeof COHORT_INTERVALS)[number];

/** Maximum number of intervals in an answer. A visitor's intervals are the bits of a 64-bit number (`sql/retention-cohort.sql`). */
export const COHORTS_MAX = 60;

/** Number of intervals in an answer without a range, up to and including the current one. */
export const COHORTS_DEFAULT: Readonly<Record<CohortInterval, number>> = { day: 30, week: 12, month: 12 };

const EVENT_NAME_MAX = 80;
const eventName = z.string().max(EVENT_NAME_MAX, `expected at most ${EVENT_NAME_MAX} characters`).optional();

/** `GET /insights/{projectId}/retention/cohort` */
export const cohortQuery = z.object({
  ...common,
  range: common.range.describe(
    "A named span of time in the site's time zone, extended to whole intervals. Default: custom if there are dates, else the newest 30 days, 12 weeks or 12 months, with the current one.",
  ),
  interval: z
    .enum(COHORT_INTERVALS)
    .default('week')
    .describe('The width of a cohort, and the time between two values. Weeks begin on Monday.'),
  firstEvent: eventName.describe(
    'The name of the event that makes a visitor a member of a cohort. Default: every event but `session_start` and `session_end`.',
  ),
  event: eventName.describe(
    'The name of the event that counts as a return. Default: every event but `session_start` and `session_end`.',
  ),
});
export type CohortQuery = z.output<typeof cohortQuery>;

/** One row for each interval of the range: the visitors who began in it, and the number of them in each interval since. */
export const cohortAnswer = z.array(
  z.object({
    cohort_interval: z
      .string()
      .describe("The first day of the interval in the site's time zone, `YYYY-MM-DD`."),
    sum: z.number().describe('The visitors of the cohort.'),
    values: z
      .array(z.number())
      .describe(
        'How many of them returned: `values[0]` in the interval of the cohort, `values[1]` in the next one, up to the last interval of the answer.',
      ),
    percentages: z
      .array(z.number())
      .describe('The values in percent of `sum`, 0 to 100. Two decimals; 0 for an empty cohort.'),
  }),
);
export type CohortAnswer = z.output<typeof cohortAnswer>;

/** The description of the endpoint: which events count, and when. */
export const COHORT_NOTE = [
  'One row per interval of the range, in order, empty ones included. A cohort is the visitors whose first event in the range was in that interval; `values[i]` is how many of them had an event `i` intervals later. Each value counts a visitor once. Without `event` and `firstEvent`, `values[0]` equals `sum`.',
  `The range is extended to whole days, weeks or months in the time zone of the site. It ends with the interval that has begun, so the last value of each row belongs to an interval that may not be over yet. At most ${COHORTS_MAX} intervals; a range with more is rejected.`,
  'Only events in the range decide who began when: a visitor who also came before the range belongs to the cohort of the first event in it. So the first cohort of a range mostly has visitors who return, and a range that begins with the site has none.',
  'With `firstEvent`, a visitor belongs to the interval of the first event of that name. With `event`, only events of that name count as a return; in the interval of the cohort they count whether they happened before or after the first event. Events before that interval do not count.',
  'Counts are exact. The visitor of an event is the profile of its session, else its own profile, else its device; so a visitor who logs in during a visit is one from its begin, and one who visited on earlier days without a login was another visitor then. Aliases apply to the events that follow them. An event counts in the interval in which it happened, also when its session began before. Filters select the events that begin a cohort and those that count as a return.',
].join('\n\n');
