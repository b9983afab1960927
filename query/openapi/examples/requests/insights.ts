import { DIMENSION_NAMES } from '../../../insights/dimensions.ts';
import type { ShownRequest } from '../example.ts';

const INSIGHTS = 'get /insights/:projectId';
const month = { range: '30d' };
const page = { limit: '20' };
const today = { startDate: '2026-01-05', endDate: '2026-01-05' };
const person = { profileId: 'user-1' };
const group = { groupId: 'acme' };
const searched = { startDate: '2026-01-03', endDate: '2026-01-04' };

/** Questions about figures, lists and events. */
const FIGURES: readonly ShownRequest[] = [
  { operation: `${INSIGHTS}/live`, query: { details: 'true' } },
  { operation: `${INSIGHTS}/live/token`, query: { ttl: '3600' } },
  { operation: `${INSIGHTS}/metrics`, query: { ...today, interval: 'day' } },
  { operation: `${INSIGHTS}/references`, query: today },
  { operation: `${INSIGHTS}/goals`, query: month },
  ...DIMENSION_NAMES.map((name) => ({ operation: `${INSIGHTS}/${name}`, query: { ...month, limit: '5' } })),
  { operation: `${INSIGHTS}/traffic/referrers`, query: { range: '7d', breakdown: 'referrer_name' } },
  { operation: `${INSIGHTS}/traffic/geo`, query: { range: '7d', breakdown: 'city' } },
  { operation: `${INSIGHTS}/traffic/devices`, query: { range: '7d', breakdown: 'browser' } },
  {
    operation: `${INSIGHTS}/pages`,
    query: { range: 'today', filters: '[{"name":"country","operator":"is","value":["DE"]}]' },
  },
  { operation: `${INSIGHTS}/pages/entry_exit`, query: { range: '7d', mode: 'exit' } },
  { operation: `${INSIGHTS}/events`, query: { range: 'today', event: ['signup', 'login'], ...page } },
  { operation: `${INSIGHTS}/events/names`, query: month },
  { operation: `${INSIGHTS}/events/properties`, query: { ...month, event: 'signup' } },
  {
    operation: `${INSIGHTS}/events/property_values`,
    query: { ...month, event: 'signup', property: 'plan' },
  },
  { operation: `${INSIGHTS}/sessions`, query: { range: 'today', ...page } },
  { operation: `${INSIGHTS}/sessions/:sessionId/journey` },
  { operation: `${INSIGHTS}/active_users`, query: { days: '2' } },
  { operation: `${INSIGHTS}/excluded`, query: { range: '7d' }, until: { at: 'length', is: 3 } },
  { operation: `${INSIGHTS}/reports`, query: page },
  { operation: `${INSIGHTS}/reports/:reportId/data` },
];

/** Questions about people, and how they move and return. */
const PEOPLE: readonly ShownRequest[] = [
  {
    operation: `${INSIGHTS}/profiles`,
    query: { search: 'ada', ...page },
    until: { at: '0.groups.0', is: 'acme' },
  },
  { operation: `${INSIGHTS}/profiles/:profileId`, path: person },
  { operation: `${INSIGHTS}/profiles/:profileId/sessions`, path: person, query: page },
  { operation: `${INSIGHTS}/profiles/:profileId/metrics`, path: person },
  { operation: `${INSIGHTS}/profiles/:profileId/journey`, path: person, query: page },
  { operation: `${INSIGHTS}/groups`, query: { type: 'company', ...page } },
  { operation: `${INSIGHTS}/groups/types` },
  { operation: `${INSIGHTS}/groups/:groupId`, path: group },
  { operation: `${INSIGHTS}/groups/:groupId/metrics`, path: group, query: month },
  {
    operation: `${INSIGHTS}/funnel`,
    query: {
      ...month,
      steps:
        '[{"name":"screen_view","filters":[{"name":"path","operator":"is","value":["/pricing"]}]},"signup"]',
      windowHours: '48',
      groupBy: 'profile_id',
      breakdown: 'country',
      between: 'true',
    },
  },
  {
    operation: `${INSIGHTS}/user_flow`,
    query: { range: '7d', by: 'pages', start: '/pricing', direction: 'forward', depth: '1', limit: '1' },
  },
  { operation: `${INSIGHTS}/retention`, query: { startDate: '2025-12-15', endDate: '2025-12-28' } },
  {
    operation: `${INSIGHTS}/retention/cohort`,
    query: { interval: 'week', startDate: '2025-12-15', endDate: '2026-01-04', firstEvent: 'signup' },
  },
  { operation: `${INSIGHTS}/engagement`, query: { startDate: '2026-01-03', endDate: '2026-01-05' } },
];

/** Questions about search results. */
const SEARCHES: readonly ShownRequest[] = [
  { operation: `${INSIGHTS}/gsc/overview`, query: searched },
  { operation: `${INSIGHTS}/gsc/pages`, query: { ...searched, search: 'boots' } },
  { operation: `${INSIGHTS}/gsc/queries`, query: { ...searched, limit: '10' } },
  {
    operation: `${INSIGHTS}/gsc/pages/details`,
    query: { ...searched, page: 'https://shop.example/boots' },
  },
  { operation: `${INSIGHTS}/gsc/queries/details`, query: { ...searched, query: 'red boots' } },
  { operation: `${INSIGHTS}/gsc/queries/opportunities`, query: searched },
  { operation: `${INSIGHTS}/gsc/cannibalization`, query: searched },
];

export const INSIGHT_REQUESTS: readonly ShownRequest[] = [...FIGURES, ...PEOPLE, ...SEARCHES];

const stream = { projectId: 'demo', start: '2026-01-05', end: '2026-01-05', event: ['signup', 'revenue'] };

/** Exports and charts. */
export const EXPORT_REQUESTS: readonly ShownRequest[] = [
  {
    operation: 'get /export/events',
    query: {
      projectId: 'demo',
      start: '2026-01-05',
      end: '2026-01-05',
      limit: '100',
      includes: 'properties',
    },
  },
  {
    operation: 'get /export/events.ndjson',
    query: stream,
    keep: { first: /^\{"id":"(\w+)"/, session: /"sessionId":"(\w+)"/, at: /"createdAt":"([^"]+)"/ },
  },
  {
    operation: 'get /export/events.csv',
    query: { ...stream, limit: '1', cursor: '{at}_{session}_{first}' },
  },
  { operation: 'get /export/events.parquet', query: { ...stream, includes: 'properties,revenue' } },
  {
    operation: 'get /export/charts',
    query: {
      projectId: 'demo',
      series: '[{"name":"screen_view","segment":"user"}]',
      breakdowns: '[{"name":"country"}]',
      startDate: '2026-01-04',
      endDate: '2026-01-05',
      interval: 'day',
      previous: 'true',
    },
  },
];
