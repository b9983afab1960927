import { z } from 'zod';
import { common, wholeNumber } from '../api.ts';

/** Maximum number of days in an answer. */
export const ACTIVE_DAYS_MAX = 366;

/** `GET /insights/{projectId}/active_users`: the last `days`, 30 by default, or a range. */
export const activeUsersQuery = z.object({
  ...common,
  days: wholeNumber(1, ACTIVE_DAYS_MAX)
    .optional()
    .describe(
      'The number of days up to today. Default: 30, if there is no range. Not together with a range or dates.',
    ),
});
export type ActiveUsersQuery = z.output<typeof activeUsersQuery>;

/** For each day in the site's zone: distinct visitors of the day, and of the 7 and 30 days that end with it. */
export const activeUsersAnswer = z.array(
  z.object({
    date: z.string().describe("A day of the site's time zone, `YYYY-MM-DD`."),
    dau: z.number().describe('Distinct visitors of the day.'),
    wau: z.number().describe('Distinct visitors of the 7 days that end with it.'),
    mau: z.number().describe('Distinct visitors of the 30 days that end with it.'),
  }),
);
export type ActiveUsersAnswer = z.output<typeof activeUsersAnswer>;
