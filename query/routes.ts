import type { Clock } from '../infra/clock.ts';
import {
  excludedAnswer,
  excludedQuery,
  exportAnswer,
  exportQuery,
  liveAnswer,
  liveQuery,
  metricsAnswer,
  metricsQuery,
  SYNTHETIC_EVENTS,
} from './api.ts';
import type { Definitions } from './definitions/definitions.ts';
import { answerCharts, chartRange } from './export/charts.ts';
import { chartsAnswer, chartsQuery } from './export/charts-api.ts';
import { type ExportQuestion, exportEndpoint, type NamedSite } from './export/endpoint.ts';
import { answerExport } from './export/events.ts';
import { STREAM_FORMS, streamExport } from './export/streams.ts';
import { factsText } from './filters/names.ts';
import { type Directory, siteFor } from './http/access.ts';
import { type Insight, insight, type ScopeOf } from './http/endpoint.ts';
import { type AnyEndpoint, anyEndpoint } from './http/serve.ts';
import { activeUsersInsight } from './insights/active-users.ts';
import { breakdownInsights, trafficInsights } from './insights/breakdown.ts';
import { eventListInsight } from './insights/event-list.ts';
import { answerExcluded } from './insights/excluded.ts';
import { goalsInsight } from './insights/goals.ts';
import { answerLiveDetails, askLive, toldLive } from './insights/live.ts';
import { answerMetrics } from './insights/metrics.ts';
import { entryExitInsight, pagesInsight } from './insights/pages.ts';
import { referencesInsight, withReferences } from './insights/references.ts';
import { sessionListInsight } from './insights/session-list.ts';
import { eventNamesInsight, propertyKeysInsight, propertyValuesInsight } from './insights/vocabulary.ts';
import type { LiveTokens } from './live/live-tokens.ts';
import { liveTokenEndpoint } from './live/token-endpoint.ts';
import { engagementInsight } from './paths/engagement.ts';
import { funnelInsight } from './paths/funnel.ts';
import { retentionInsight } from './paths/retention.ts';
import { cohortInsight } from './paths/retention-cohort.ts';
import { userFlowInsight } from './paths/user-flow.ts';
import { peopleEndpoints } from './people/people-endpoints.ts';
import type { PeopleSources } from './people/people-sources.ts';
import { type ReportSources, reportDataInsight, reportListInsight } from './reports/reports.ts';
import type { AnswerCaches } from './rollups/answer-caches.ts';
import { searchConsoleEndpoints } from './search-console/search-console.ts';
import type { SiteMemory } from './site-memory.ts';
import type { SharedAnswers } from './snapshot/shared-answers.ts';
import { Zones } from './time/zone.ts';

const STREAM_NOTE = `All matching events as of one moment, without pages. Oldest hour first, and within an hour by session, time and id; Parquet is unordered unless \`limit\` or \`cursor\` is given. The stream is no faster than its reader. An answer that breaks off ends without its last chunk, which every HTTP client reports; \`cursor\` continues it. A reader that reads nothing for a minute is disconnected. Three streams run at a time, two of one team. A request for another one waits up to 30 seconds, then it is answered 503. While others wait, a stream pauses now and then to let them go first, and a reader that reads less than 64 KiB per second, averaged over 20 seconds and counted before compression, is disconnected.\n\n${SYNTHETIC_EVENTS}`;

const METRICS_NOTE = `Returns totals, the totals of the previous period, and a time series. Sessions, bounces and durations count where the session began; screen views, visitors and revenue count where their event happened. \`previous\` covers a period of the same length that ends where the range begins. With \`goal\`, conversions count where the session began; those of \`previous\` reached the goal in the previous period. \`goal\` needs the store: without it, also ranges that memory answers are 503. Filters on source and environment (\`referrer*\`, \`utm*\`, \`channel\`, \`country\` to \`model\`) apply to the session, as its first event set it, and facts (${factsText()}) to its current state. All other filters apply to the event.`;

const CHARTS_NOTE = [
  'Returns one or more time series of events, optionally broken down by fields.',
  'Segments: `event` counts events. `user` counts distinct visitors: the profile of the session, else of the event, else the device. `session` counts distinct sessions. `group` counts distinct groups. `user_average` is events per visitor, of events that have a visitor. `one_event_per_user` counts each visitor once, at the first such event in the range.',
  '`property_sum`, `property_average`, `property_max` and `property_min` read `property` as a number and skip events where it is not a decimal number. The property is a key of `properties`, or `revenue` in major units. Amounts of different currencies are never combined: a series of `revenue` counts those in the currency of the site, or in the one that `currency` names for the series or the chart. Broken down by `currency`, every currency has rows of its own. A formula over series of different currencies is rejected.',
  '`*` stands for every event except `session_start` and `session_end`, which count only when named. Filters apply to the fields of each event, and facts such as `isBounce` to its session. A response has at most 500,000 figures.',
].join('\n\n');

/** The sources of every question, and the sites and caches they belong to. */
export interface QuestionSources extends PeopleSources, ReportSources {
  readonly directory: Directory;
  readonly definitions: Definitions;
  readonly clock: Clock;
  readonly memory: SiteMemory;
  readonly caches: AnswerCaches;
  readonly answers: SharedAnswers;
  readonly tokens: LiveTokens;
}

/** The endpoint of every question below `/insights` and `/export`. */
export function questionEndpoints(sources: QuestionSources): AnyEndpoint[] {
  const { directory, definitions, clock, caches } = sources;
  const zones = new Zones();
  const scopeOf: ScopeOf = (client, projectId) => {
    const site = siteFor(client, projectId, directory);
    const nowMs = clock.nowMs();
    if (site.retentionDays !== null) caches.evictRemoved(site.storedId, nowMs);
    const defined = definitions.of(site.storedId);
    const isShared = client.proof?.kind === 'share';
    return {
      site,
      zone: zones.of(site.timezone),
      nowMs,
      definitions: isShared ? { ...defined, isShared } : defined,
    };
  };
  const endpoint = <Parameters, Answer>(question: Insight<Parameters, Answer>) =>
    anyEndpoint(
      insight(scopeOf, {
        ...question,
        answer: (scope, parameters, pathValues) =>
          sources.answers.answer({ path: question.path, scope, parameters, pathValues }, () =>
            question.answer(scope, parameters, pathValues),
          ),
      }),
    );
  const exported = <Parameters extends NamedSite>(question: ExportQuestion<Parameters>) =>
    anyEndpoint(exportEndpoint(scopeOf, directory, question));
  sources.memory.onEvict((storedId) => {
    caches.evict(storedId);
    sources.history.evict(storedId);
  });
  return [
    endpoint({
      path: 'live',
      isShared: true,
      about: {
        summary: 'Visitors on the site now',
        description:
          'Devices with an event in the last five minutes. With details=true also the top pages, countries and referrers, and the last 30 minutes.',
        answer: liveAnswer,
      },
      schema: liveQuery,
      answerAtOnce: (scope, { details }) => (details ? undefined : toldLive(sources.hot, scope)),
      answer: (scope, { details }) =>
        details ? answerLiveDetails(sources.hot, scope) : askLive(sources.hot, scope),
    }),
    endpoint({
      path: 'metrics',
      isShared: true,
      about: {
        summary: 'The figures of a range, of the range before it, and over time',
        description: METRICS_NOTE,
        answer: metricsAnswer,
      },
      schema: metricsQuery,
      answer: async (scope, query) =>
        withReferences(await answerMetrics(sources, scope, query, caches.figures), query, scope),
    }),
    anyEndpoint(liveTokenEndpoint(scopeOf, sources.tokens)),
    ...breakdownInsights(sources, caches.rankings).map((question) => endpoint(question)),
    ...trafficInsights(sources, caches.rankings).map((question) => endpoint(question)),
    endpoint(goalsInsight(sources)),
    endpoint(referencesInsight()),
    endpoint(pagesInsight(sources, caches.pages)),
    endpoint(entryExitInsight(sources, caches)),
    endpoint(eventListInsight(sources)),
    endpoint(eventNamesInsight(sources)),
    endpoint(propertyKeysInsight(sources)),
    endpoint(propertyValuesInsight(sources)),
    endpoint(sessionListInsight(sources)),
    endpoint(activeUsersInsight(sources, caches.visits)),
    endpoint(retentionInsight(sources, caches.visits)),
    endpoint(cohortInsight(sources)),
    endpoint(engagementInsight(sources)),
    endpoint(funnelInsight(sources)),
    endpoint(userFlowInsight(sources)),
    ...searchConsoleEndpoints(sources, scopeOf),
    endpoint(reportListInsight(sources)),
    endpoint(reportDataInsight(sources)),
    endpoint({
      path: 'excluded',
      about: {
        summary: 'Requests that were accepted but not recorded',
        description:
          'Bots by type and name, filtered requests by the site setting that filtered them. Counted by whole hours in UTC.',
        answer: excludedAnswer,
      },
      schema: excludedQuery,
      answer: (scope, query) => answerExcluded(sources, scope, query),
    }),
    ...peopleEndpoints(sources, scopeOf),
    exported({
      path: 'events',
      about: {
        summary: 'Raw events, newest first, in pages',
        description: `A read client exports its own site; a root client names a site of its team. A limit above 1000 counts as 1000.\n\n${SYNTHETIC_EVENTS}`,
        answer: exportAnswer,
      },
      schema: exportQuery,
      answer: async (scope, parameters) => ({
        json: await sources.answers.answer({ path: 'export/events', scope, parameters }, () =>
          answerExport(sources, scope, parameters, caches.totals),
        ),
      }),
    }),
    exported({
      path: 'charts',
      about: { summary: 'Figures of event series over time', description: CHARTS_NOTE, answer: chartsAnswer },
      schema: chartsQuery,
      answer: async (scope, query) => {
        const charts = await answerCharts(sources, scope, query);
        return { json: withReferences(charts, chartRange(query), scope) };
      },
    }),
    ...STREAM_FORMS.map((form) =>
      exported({
        path: `events.${form.extension}`,
        about: {
          summary: form.summary,
          description: form.note === undefined ? STREAM_NOTE : `${STREAM_NOTE}\n\n${form.note}`,
          answer: { contentType: form.mediaType },
        },
        schema: form.schema,
        answer: (scope, query) => streamExport(sources, scope, query, form),
      }),
    ),
  ];
}
