import { SCREEN_VIEW, SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { ratio, twoDecimals } from '../figures.ts';
import type { Insight } from '../http/endpoint.ts';
import { openSeam, type QuestionScope } from '../snapshot/question.ts';
import type { Zone } from '../time/zone.ts';
import { rejectUnknownProfile } from './known-profile.ts';
import type { PeopleSources } from './people-sources.ts';
import { revenueOf } from './profile-activity.ts';
import {
  type ProfileMetricsAnswer,
  type ProfileMetricsQuery,
  profileMetricsAnswer,
  profileMetricsQuery,
} from './profile-metrics-api.ts';

const MINUTE_MS = 60_000;
const QUARTER_MS = 900_000;
const DAY_MS = 86_400_000;

interface MetricsRow {
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
  readonly sessions: number;
  readonly screenViews: number;
  readonly otherEvents: number;
  readonly sessionEvents: number;
  readonly durationMs: number;
  readonly p90Ms: number;
  readonly bounces: number;
  readonly betweenMs: number;
  /** Quarters of an hour since 1970. */
  readonly quarters: readonly number[];
  readonly revenue: Readonly<Record<string, string>>;
}

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
  { profileId, partial }: ProfileMetricsQuery & { readonly profileId: string },
): Promise<ProfileMetricsAnswer> {
  const { site, zone } = scope;
  const seam = await openSeam(sources, scope, { partial });
  const parameters = {
    site: site.storedId,
    profileId,
    screenView: SCREEN_VIEW,
    synthetic: [SESSION_START, SESSION_END],
  };
  const [row] = await sources.history.ask<MetricsRow>({ name: 'profile-metrics', parameters }, seam);
  const isSeen = row !== undefined && row.quarters.length > 0;
  if (!isSeen) await rejectUnknownProfile(sources, scope, seam, profileId);
  const { sessions = 0, screenViews = 0, otherEvents = 0 } = row ?? {};
  return {
    profileId,
    firstSeen: isSeen ? new Date(row.firstSeenMs).toISOString() : null,
    lastSeen: isSeen ? new Date(row.lastSeenMs).toISOString() : null,
    sessions,
    screenViews,
    totalEvents: screenViews + otherEvents,
    conversionEvents: otherEvents,
    uniqueDaysActive: daysOf(row?.quarters ?? [], zone),
    avgSessionDurationMin: ratio((row?.durationMs ?? 0) / MINUTE_MS, sessions),
    p90SessionDurationMin: twoDecimals((row?.p90Ms ?? 0) / MINUTE_MS),
    avgEventsPerSession: ratio(row?.sessionEvents ?? 0, sessions),
    avgTimeBetweenSessionsSec: ratio((row?.betweenMs ?? 0) / 1000, Math.max(sessions - 1, 0)),
    bounceRate: ratio((row?.bounces ?? 0) * 100, sessions),
    ...revenueOf(row?.revenue ?? {}, site.currency),
    ...(seam.partial ? { partial: true as const } : {}),
  };
}

/** How many days of the zone these quarters lie in. Every offset since 1972 is whole quarters. */
function daysOf(quarters: readonly number[], zone: Zone): number {
  return new Set(quarters.map((quarter) => Math.floor(zone.wallMs(quarter * QUARTER_MS) / DAY_MS))).size;
}
