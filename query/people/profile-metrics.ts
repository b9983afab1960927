import { must } from '../../infra/assert.ts';
import { DAY_MS, MINUTE_MS } from '../../infra/durations.ts';
import type { ProfileId } from '../../ingest/event.ts';
import { SCREEN_VIEW, SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { ratio, twoDecimals } from '../figures.ts';
import type { Insight } from '../http/endpoint.ts';
import { openSeam, type QuestionScope } from '../snapshot/question.ts';
import type { Zone } from '../time/zone.ts';
import { rejectUnknownProfile } from './known-profile.ts';
import type { PeopleSources } from './people-sources.ts';
import { revenueOf } from './profile-activity.ts';
import {
  type EventFigures,
  figuresOfSessions,
  type SessionFigures,
  withEventsAlone,
} from './profile-figures.ts';
import {
  type ProfileMetricsAnswer,
  type ProfileMetricsQuery,
  profileMetricsAnswer,
  profileMetricsQuery,
} from './profile-metrics-api.ts';
import { type ProfilePlace, STATES_MAX, sessionsOfProfile } from './profile-states.ts';

const QUARTER_MS = 900_000;

/** `GET /insights/{projectId}/profiles/{profileId}/metrics` */
export function profileMetricsInsight(
  sources: PeopleSources,
): Insight<ProfileMetricsQuery, ProfileMetricsAnswer> {
  return {
    path: 'profiles/:profileId/metrics',
    about: {
      summary: 'What the visits of a profile add up to',
      description: [
        'Figures over all time that the site retains. They cover the sessions whose profile it is now, with all of their events, and the events outside of sessions that name it. Events that name it within a session which has another profile by now count for the other one.',
        'Returns 404 when neither an update nor a session nor an event names the profile. A profile without events has null times, and 0 everywhere else.',
      ].join('\n\n'),
      answer: profileMetricsAnswer,
    },
    schema: profileMetricsQuery,
    answer: (scope, query, { profileId = '' } = {}) =>
      answerProfileMetrics(sources, scope, { ...query, profileId }),
  };
}

/** The figures of a profile. @throws {RejectError} 404 when there is no such profile */
export async function answerProfileMetrics(
  sources: PeopleSources,
  scope: QuestionScope,
  { profileId, partial }: ProfileMetricsQuery & { readonly profileId: ProfileId },
  statesMax = STATES_MAX,
): Promise<ProfileMetricsAnswer> {
  const { site, zone } = scope;
  const seam = await openSeam(sources, scope, { partial });
  const { history, kept } = sources;
  const place = { history, kept, seam, site: site.storedId, profileId };
  const [ofSessions, alone] = await Promise.all([sessionFigures(place, statesMax), figuresAlone(place)]);
  const figures = withEventsAlone(ofSessions, alone);
  const isSeen = figures.quarters.length > 0;
  if (!isSeen) await rejectUnknownProfile(sources, scope, seam, profileId);
  const { sessions, screenViews, otherEvents } = figures;
  return {
    profileId,
    firstSeen: isSeen ? new Date(figures.firstSeenMs).toISOString() : null,
    lastSeen: isSeen ? new Date(figures.lastSeenMs).toISOString() : null,
    sessions,
    screenViews,
    totalEvents: screenViews + otherEvents,
    conversionEvents: otherEvents,
    uniqueDaysActive: daysOf(figures.quarters, zone),
    avgSessionDurationMin: ratio(figures.durationMs / MINUTE_MS, sessions),
    p90SessionDurationMin: twoDecimals(figures.p90Ms / MINUTE_MS),
    avgEventsPerSession: ratio(ofSessions.screenViews + ofSessions.otherEvents, sessions),
    avgTimeBetweenSessionsSec: ratio(figures.betweenMs / 1000, Math.max(sessions - 1, 0)),
    bounceRate: ratio(figures.bounces * 100, sessions),
    ...revenueOf(figures.revenue, site.currency),
    ...(seam.partial ? { partial: true as const } : {}),
  };
}

/** Sums over the sessions: computed here if they are few, otherwise in the store. */
async function sessionFigures(place: ProfilePlace, statesMax: number): Promise<SessionFigures> {
  const rows = await sessionsOfProfile(place, statesMax);
  if (rows !== undefined) return figuresOfSessions(rows);
  const { history, seam, site, profileId } = place;
  const [row] = await history.ask({ name: 'profile-metrics', parameters: { site, profileId } }, seam);
  return must(row, 'sums without a row');
}

async function figuresAlone({ history, seam, site, profileId }: ProfilePlace): Promise<EventFigures> {
  const parameters = { site, profileId, screenView: SCREEN_VIEW, synthetic: [SESSION_START, SESSION_END] };
  const [row] = await history.ask({ name: 'profile-alone', parameters }, seam);
  return must(row, 'sums without a row');
}

/** Number of days of the zone that contain these quarters. Every offset since 1972 is whole quarters. */
function daysOf(quarters: readonly number[], zone: Zone): number {
  return new Set(quarters.map((quarter) => Math.floor(zone.wallMs(quarter * QUARTER_MS) / DAY_MS))).size;
}
