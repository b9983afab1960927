import { z } from 'zod';
import { flag } from '../api.ts';
import { cursorField } from '../cursor.ts';
import { pageLimit } from '../insights/list-api.ts';
import { profileActivity } from './profile-list-api.ts';

const PROFILE_SESSIONS_MAX = 100;
const partial = flag.describe('Answer without data that cannot be reached now, instead of with 503.');

/** `GET /insights/{projectId}/profiles/{profileId}/sessions` */
export const profileSessionsQuery = z.object({
  limit: pageLimit(20, PROFILE_SESSIONS_MAX),
  cursor: cursorField,
  partial,
});
export type ProfileSessionsQuery = z.output<typeof profileSessionsQuery>;

/** `GET /insights/{projectId}/profiles/{profileId}/metrics` */
export const profileMetricsQuery = z.object({ partial });
export type ProfileMetricsQuery = z.output<typeof profileMetricsQuery>;

/** Figures of one person. Averages and rates have two decimals, and are 0 without a base. */
export const profileMetricsAnswer = z.object({
  profileId: z.string(),
  firstSeen: profileActivity.firstSeen,
  lastSeen: profileActivity.lastSeen,
  sessions: profileActivity.sessions,
  screenViews: z
    .number()
    .describe('Screen views of its sessions, and those outside of sessions that name it.'),
  totalEvents: z.number().describe('`screenViews` and `conversionEvents` together.'),
  conversionEvents: z
    .number()
    .describe(
      'Events other than screen views, `session_start` and `session_end`; credited payments included.',
    ),
  uniqueDaysActive: z
    .number()
    .describe(
      "Days of the site's time zone that a session of it touches, from the first event of the session to the last; and those of events outside of sessions.",
    ),
  avgSessionDurationMin: z
    .number()
    .describe('Average minutes from the first to the last event of a session.'),
  p90SessionDurationMin: z
    .number()
    .describe(
      'The minutes that at least 90 percent of the sessions do not exceed: that of one of them, by nearest rank.',
    ),
  avgEventsPerSession: z
    .number()
    .describe('Events within sessions, screen views included, divided by sessions.'),
  avgTimeBetweenSessionsSec: z
    .number()
    .describe(
      'Average seconds from the beginning of a session to the beginning of the next; 0 with fewer than two.',
    ),
  bounceRate: z.number().describe('Percent of sessions with at most one screen view, 0 to 100.'),
  revenue: profileActivity.revenue,
  revenueByCurrency: profileActivity.revenueByCurrency,
  partial: z
    .literal(true)
    .optional()
    .describe('Present when data could not be reached and the request has `partial=true`.'),
});
export type ProfileMetricsAnswer = z.output<typeof profileMetricsAnswer>;
