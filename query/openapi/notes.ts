import type { AnyEndpoint } from '../http/serve.ts';
import { isDimensionName } from '../insights/dimensions.ts';

const RANKED =
  'Rows are about the sessions that began in the range: most sessions first, ties by name. `name` is null where it is not known.';
const VOCABULARY = 'What a filter can say: most events first, ties by name.';
const FILTERED =
  'Filters on source and setting (`referrer*`, `utm*`, `channel`, `country` to `model`) are about the session as its first event made it, all others about the event itself.';

/** What the endpoints themselves leave unsaid, by pattern. */
const NOTES: Readonly<Record<string, string>> = {
  '/insights/:projectId/metrics': `Sessions, bounces and durations count where the session began; screen views, visitors and revenue where their event happened. \`previous\` is about a span as long that ends where this one begins. ${FILTERED}`,
  '/insights/:projectId/traffic/referrers': RANKED,
  '/insights/:projectId/traffic/geo': RANKED,
  '/insights/:projectId/traffic/devices': RANKED,
  '/insights/:projectId/pages':
    'A page is an origin and a path. Sessions, screen views and visitors are those of the page, revenue that of all events on it; bounces and durations are of the sessions that began there. Most sessions first, ties by path.',
  '/insights/:projectId/pages/entry_exit':
    'All figures are of the sessions that began, or ended so far, on the page. Most sessions first, ties by path.',
  '/insights/:projectId/events':
    'Newest first, ties by id. `session_start` and `session_end` are listed only where `event` names them. With `partial=true` the events that cannot be reached are left out, which a bare list cannot say.',
  '/insights/:projectId/events/names': VOCABULARY,
  '/insights/:projectId/events/properties': VOCABULARY,
  '/insights/:projectId/events/property_values': VOCABULARY,
  '/insights/:projectId/sessions':
    'Those that began in the range, as they are now: newest first, ties by id. Source, place and software are those of the first event.',
  '/insights/:projectId/active_users':
    "By day of the site's time zone. Exact: nothing is estimated, and a visitor counts once in each window.",
  '/insights/:projectId/profiles/:profileId':
    'With every update that was acknowledged, and its 20 newest events. 404 where nobody and no event names it.',
  '/insights/:projectId/groups/:groupId': 'With every update that was acknowledged. 404 where there is none.',
  '/export/charts':
    "`event` counts events; `user` distinct visitors, profiles or else devices; `session` distinct sessions, of events that have one; `group` distinct groups; `user_average` is the events of visitors for each of them; `one_event_per_user` counts each visitor once, where the first such event of the range is. `property_sum`, `property_average`, `property_max` and `property_min` read `property` as a number, of the events where it is a decimal one: a key of properties, or `revenue` in major units of each event's own currency (filter by `currency` where there are several). `*` leaves out `session_start` and `session_end`, which are counted where they are named. Filters hold each event against its own columns. An answer has at most 500,000 figures.",
  '/manage/projects': 'Those that were deleted are left out.',
  '/manage/clients': 'Neither secrets nor what is stored of them are ever shown.',
  '/manage/projects/:projectId/erasures/:erasureId': 'One of this site.',
  '/manage/references': 'References are dates that matter to a site, to be marked on charts.',
  '/manage/references/:referenceId': 'One of a site of the team.',
  '/manage/integrations':
    'An integration brings the events of a site to a bucket, as files by site and hour.',
  '/manage/integrations/:integrationId': 'One of a site of the team.',
  '/manage/projects/:projectId/dashboards': 'Dashboards hold reports; a site has at most 200.',
  '/manage/projects/:projectId/dashboards/:dashboardId': 'One of this site.',
  '/manage/projects/:projectId/dashboards/:dashboardId/reports':
    'Reports are questions that are kept; a dashboard has at most 200.',
  '/manage/projects/:projectId/dashboards/:dashboardId/reports/:reportId': 'One of this dashboard.',
  '/manage/clients/:clientId': 'Neither its secret nor what is stored of it is ever shown.',
};

/** What is to be said of an endpoint that describes itself by a summary alone. */
export function noteOn({ pattern, about }: Pick<AnyEndpoint, 'pattern' | 'about'>): string | undefined {
  if (about.description !== undefined) return undefined;
  const note = NOTES[pattern];
  if (note !== undefined) return note;
  const dimension = /^\/insights\/:projectId\/(\w+)$/.exec(pattern)?.[1];
  return dimension !== undefined && isDimensionName(dimension) ? RANKED : undefined;
}
