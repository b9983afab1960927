import { z } from 'zod';
import { common, wholeNumber } from '../api.ts';

/** Days of a series at the most. */
export const ACTIVE_DAYS_MAX = 366;

/** `GET /insights/{projectId}/active_users`: the last `days`, 30 if nothing is said, or a range or dates instead. */
export const activeUsersQuery = z.object({ ...common, days: wholeNumber(1, ACTIVE_DAYS_MAX).optional() });
export type ActiveUsersQuery = z.output<typeof activeUsersQuery>;

/** By day of the site's zone: distinct visitors of the day, and of the 7 and the 30 days that end with it. */
export const activeUsersAnswer = z.array(
  z.object({ date: z.string(), dau: z.number(), wau: z.number(), mau: z.number() }),
);
export type ActiveUsersAnswer = z.output<typeof activeUsersAnswer>;
