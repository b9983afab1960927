import { SYNTHETIC_EVENTS } from '../api.ts';
import type { AnyEndpoint } from '../http/serve.ts';
import { isDimensionName } from '../insights/dimensions.ts';

const RANKED =
  'Rows cover the sessions that began in the range. Sorted by sessions in descending order, then by name. `name` is null when the value is unknown.';
const VOCABULARY = 'Use it to build filters. Sorted by number of events in descending order, then by name.';
const FILTERED =
  'Filters on source and environment (`referrer*`, `utm*`, `channel`, `country` to `model`) apply to the session, as its first event set it, and facts (`entryPath`, `exitPath`, `isBounce`, `duration`, `screenViews`) to its current state. All other filters apply to the event.';
const NO_SECRETS = 'Secrets and their hashes are never returned.';

/** Descriptions of the endpoints whose own `about` has none, by pattern. */
const NOTES: Readonly<Record<string, string>> = {
  '/insights/:projectId/metrics': `Returns totals, the totals of the previous period, and a time series. Sessions, bounces and durations count where the session began; screen views, visitors and revenue count where their event happened. \`previous\` covers a period of the same length that ends where the range begins. With \`goal\`, conversions count where the session began; those of \`previous\` reached the goal in the previous period. \`goal\` needs the store: without it, also ranges that memory answers are 503. ${FILTERED}`,
  '/insights/:projectId/traffic/referrers': RANKED,
  '/insights/:projectId/traffic/geo': RANKED,
  '/insights/:projectId/traffic/devices': RANKED,
  '/insights/:projectId/pages':
    'A page is an origin and a path. Sessions, screen views and visitors are those of the page; revenue includes all events on it. Bounces and durations cover the sessions that entered on the page. With `goal`, the conversions of a page are the sessions that viewed it in the range and have an event of the goal in the range, before or after. Sorted by sessions in descending order, then by path.',
  '/insights/:projectId/pages/entry_exit':
    'All figures cover the sessions that entered, or exited so far, on the page. Sorted by sessions in descending order, then by path.',
  '/insights/:projectId/events': `Newest first, ties by id. \`session_start\` and \`session_end\` are returned only when \`event\` names them. With \`partial=true\`, unreachable events are missing without a mark in the response.\n\n${SYNTHETIC_EVENTS}`,
  '/insights/:projectId/events/names': VOCABULARY,
  '/insights/:projectId/events/properties': VOCABULARY,
  '/insights/:projectId/events/property_values': VOCABULARY,
  '/insights/:projectId/sessions':
    'Returns the sessions that began in the range, in their current state. Newest first, ties by id. Source, location and software are those of the first event.',
  '/insights/:projectId/active_users':
    'One row per day in the time zone of the site. Counts are exact; a visitor counts once in each window. A bare array has no place for references: `GET /insights/{projectId}/references` has those of the range.',
  '/insights/:projectId/profiles/:profileId':
    'Returns the profile with every acknowledged update, and its 20 newest events. Returns 404 when neither an update nor an event names the profile.',
  '/insights/:projectId/groups/:groupId':
    'Returns the group with every acknowledged update, and its members in pages, ordered by id; `x-next-cursor` has the cursor of the next page. A profile is a member once `assign_group` names it. A group exists once `group` or `assign_group` names it; returns 404 otherwise.',
  '/export/charts': [
    'Returns one or more time series of events, optionally broken down by fields.',
    'Segments: `event` counts events. `user` counts distinct visitors: the profile of the session, else of the event, else the device. `session` counts distinct sessions. `group` counts distinct groups. `user_average` is events per visitor, of events that have a visitor. `one_event_per_user` counts each visitor once, at the first such event in the range.',
    '`property_sum`, `property_average`, `property_max` and `property_min` read `property` as a number and skip events where it is not a decimal number. The property is a key of `properties`, or `revenue` in major units. Amounts of different currencies are never combined: a series of `revenue` counts those in the currency of the site, or in the one that `currency` names for the series or the chart. Broken down by `currency`, every currency has rows of its own. A formula over series of different currencies is rejected.',
    '`*` stands for every event except `session_start` and `session_end`, which count only when named. Filters apply to the fields of each event, and facts such as `isBounce` to its session. A response has at most 500,000 figures.',
  ].join('\n\n'),
  '/manage/clients': `Returns the clients of the team, or of one site, newest first. Clients of a deleted site are hidden until it is restored, and removed when it is purged; root clients belong to the team and stay. ${NO_SECRETS}`,
  '/manage/clients/:clientId': NO_SECRETS,
  '/manage/shares':
    'Returns the shared links of the team, or of one site, newest first. Tokens and passphrases are never returned.',
  '/manage/shares/:shareId': 'Tokens and passphrases are never returned.',
  '/manage/users':
    'Returns the users of the team, newest first. Passphrases and their hashes are never returned.',
  '/manage/users/:userId': 'Passphrases and their hashes are never returned.',
  '/manage/projects/:projectId/erasures/:erasureId': 'Returns one erasure receipt of the site.',
  '/manage/references':
    'Returns the references of the team, or of one site, newest first. A reference is a date to mark on charts, such as a release.',
  '/manage/references/:referenceId': 'The reference may belong to any site of the team.',
  '/manage/integrations':
    'Returns the integrations of the team, or of one site, newest first. An integration delivers the events of a site to an object storage bucket, as files by site and hour.',
  '/manage/integrations/:integrationId':
    'Returns the settings of the integration and the progress of its delivery in `status`.',
  '/manage/projects/:projectId/segments':
    'Returns the segments of the site, newest first. A segment is a named set of filters, which questions take as `segment`.',
  '/manage/projects/:projectId/segments/:segmentId': 'The segment must belong to the site in the path.',
  '/manage/projects/:projectId/goals':
    'Returns the goals of the site, newest first. `GET /insights/{projectId}/goals` has their conversions.',
  '/manage/projects/:projectId/goals/:goalId': 'The goal must belong to the site in the path.',
  '/manage/projects/:projectId/dashboards':
    'Returns the dashboards of the site, newest first. A dashboard groups reports.',
  '/manage/projects/:projectId/dashboards/:dashboardId': 'The dashboard must belong to the site in the path.',
  '/manage/projects/:projectId/dashboards/:dashboardId/reports':
    'Returns the reports of the dashboard, newest first. A report is a stored chart definition.',
  '/manage/projects/:projectId/dashboards/:dashboardId/reports/:reportId':
    'The report must belong to the dashboard in the path.',
};

/** The description of an endpoint whose `about` has a summary only; undefined when there is none. */
export function noteOn({ pattern }: Pick<AnyEndpoint, 'pattern'>): string | undefined {
  const note = NOTES[pattern];
  if (note !== undefined) return note;
  const dimension = /^\/insights\/:projectId\/(\w+)$/.exec(pattern)?.[1];
  return dimension !== undefined && isDimensionName(dimension) ? RANKED : undefined;
}
