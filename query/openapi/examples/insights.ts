import { DIMENSION_NAMES, type DimensionName } from '../../insights/dimensions.ts';
import { CHART_EXAMPLES } from './charts.ts';
import type { Example, Examples } from './example.ts';
import { PATH_EXAMPLES } from './paths.ts';
import { PEOPLE_EXAMPLES } from './people.ts';
import { REPORT_EXAMPLES } from './reports.ts';
import { RETURNING_EXAMPLES } from './returning.ts';
import { SEARCH_CONSOLE_EXAMPLES } from './search-console.ts';
import { STREAM_EXAMPLES } from './streams.ts';

/** Examples for insights and exports. */

const path = { projectId: 'demo' };
const EVENT_ID = '5d7e0b1c9f3a4862b0d4c7e1a95f3b26';
const DEVICE = '8a6f3c0e5b1d4927a0c4e2f61b7d9358';
const SESSION = '3f0c9a77d2e84b51b6a1c8e94d02f7ab';
const AT = '2026-01-05T09:12:44.120Z';

const figures = {
  bounce_rate: 41.67,
  unique_visitors: 11,
  total_sessions: 12,
  avg_session_duration: 184.5,
  total_screen_views: 37,
  views_per_session: 3.08,
  total_revenue: 59.97,
  revenue_by_currency: { EUR: 59.97 },
};
const fewer = {
  ...figures,
  total_sessions: 10,
  unique_visitors: 10,
  total_screen_views: 29,
  views_per_session: 2.9,
};

const ranked = {
  sessions: 12,
  pageviews: 37,
  visitors: 11,
  bounce_rate: 41.67,
  avg_duration: 184.5,
  revenue: 59.97,
};
const page = { origin: 'https://shop.example', path: '/pricing', title: 'Pricing', ...ranked };

const event = {
  id: EVENT_ID,
  name: 'signup',
  deviceId: DEVICE,
  profileId: 'user-1',
  sessionId: SESSION,
  projectId: 'demo',
  createdAt: AT,
  path: '/signup',
  origin: 'https://shop.example',
  title: 'Sign up',
  country: 'DE',
  city: 'Berlin',
  os: 'Linux',
  browser: 'Firefox',
  device: 'desktop',
  groups: ['acme'],
};
const listedEvent = {
  ...event,
  properties: { plan: 'pro' },
  referrer: 'https://news.example/today',
  referrerName: 'news.example',
  referrerType: '',
  region: 'Land Berlin',
  longitude: 13.41,
  latitude: 52.52,
  brand: '',
  model: '',
  browserVersion: '127.0',
  osVersion: '',
  language: 'de-DE',
  timezone: 'Europe/Berlin',
  screen: '1920x1080',
  revenue: null,
  currency: '',
  orderId: '',
  utmSource: 'newsletter',
  utmMedium: 'email',
  utmCampaign: '',
  utmTerm: '',
  utmContent: '',
  channel: 'email',
};

const session = {
  id: SESSION,
  deviceId: DEVICE,
  profileId: 'user-1',
  startedAt: '2026-01-05T09:10:02.000Z',
  endedAt: AT,
  duration: 162_120,
  isBounce: false,
  screenViews: 3,
  events: 1,
  entryOrigin: 'https://shop.example',
  entryPath: '/',
  exitOrigin: 'https://shop.example',
  exitPath: '/signup',
  referrer: 'https://news.example/today',
  referrerName: 'news.example',
  referrerType: '',
  utmSource: 'newsletter',
  utmMedium: 'email',
  utmCampaign: '',
  utmTerm: '',
  utmContent: '',
  channel: 'email',
  country: 'DE',
  region: 'Land Berlin',
  city: 'Berlin',
  browser: 'Firefox',
  os: 'Linux',
  device: 'desktop',
  brand: '',
  model: '',
  language: 'de-DE',
  timezone: 'Europe/Berlin',
  screen: '1920x1080',
  revenue: 0,
  revenueByCurrency: {},
};

const REFERENCE = {
  id: '0d2f8a64-17c5-4b39-9e70-c58f1a3b6d24',
  title: 'Winter sale',
  description: '',
  date: '2026-01-05T08:00:00.000Z',
};

/** A value of each dimension, with its prefix. */
const VALUES: Readonly<Record<DimensionName, readonly [name: string, prefix?: string]>> = {
  referrer: ['https://www.google.com/'],
  referrer_name: ['Google'],
  referrer_type: ['search'],
  utm_source: ['newsletter'],
  utm_medium: ['email'],
  utm_campaign: ['spring'],
  utm_term: ['analytics'],
  utm_content: ['top-banner'],
  channel: ['email'],
  country: ['DE'],
  region: ['Land Berlin', 'DE'],
  city: ['Berlin', 'DE'],
  device: ['desktop'],
  brand: ['Apple'],
  model: ['iPhone', 'Apple'],
  browser: ['Firefox'],
  browser_version: ['127.0', 'Firefox'],
  os: ['Windows'],
  os_version: ['11', 'Windows'],
  language: ['de-DE'],
  timezone: ['Europe/Berlin'],
  screen: ['1920x1080'],
};

function row(dimension: DimensionName) {
  const [name, prefix] = VALUES[dimension];
  return { name, ...(prefix === undefined ? {} : { prefix }), ...ranked };
}

const DIMENSIONS: Examples = Object.fromEntries(
  DIMENSION_NAMES.map((dimension): [string, Example] => [
    `get /insights/:projectId/${dimension}`,
    { path, query: { range: '30d', limit: '5' }, answer: [row(dimension)] },
  ]),
);

export const INSIGHT_EXAMPLES: Examples = {
  'get /insights/:projectId/live': {
    path,
    query: { details: 'true' },
    answer: {
      visitors: 3,
      pages: [{ path: '/pricing', visitors: 2 }],
      countries: [{ country: 'DE', visitors: 3 }],
      referrers: [
        { referrer: null, visitors: 2 },
        { referrer: 'Google', visitors: 1 },
      ],
      minutes: [{ date: '2026-01-05 10:12:00', visitors: 3, screen_views: 5 }],
    },
  },
  'get /insights/:projectId/live/token': {
    path,
    query: { ttl: '3600' },
    answer: {
      token:
        'WzEsImRlbW8iLCI1YjBmOWQzYyIsImRHOXJaVzQiLDE3Njc2MDc5NjQxMjBd.J0Bxk3mW7yq1p8cZ4n2vRkq0m5sT9uV3wX6yZ1aB2cD',
      expiresAt: '2026-01-05T10:12:44.120Z',
    },
  },
  'get /insights/:projectId/metrics': {
    path,
    query: { startDate: '2026-01-05', endDate: '2026-01-05', interval: 'day' },
    answer: {
      metrics: figures,
      previous: fewer,
      series: [{ date: '2026-01-05', ...figures }],
      interval: 'day',
      references: [REFERENCE],
    },
  },
  'get /insights/:projectId/references': {
    path,
    query: { startDate: '2026-01-05', endDate: '2026-01-05' },
    answer: [REFERENCE],
  },
  'get /insights/:projectId/goals': {
    path,
    query: { range: '30d' },
    answer: [
      {
        id: '6e2d0f94-b8a1-4c57-83f6-1d94e7c2a05b',
        name: 'Sign-up',
        type: 'event',
        conversions: 12,
        converted_visitors: 11,
        conversion_rate: 3.24,
        conversion_value: 120,
      },
    ],
  },
  ...DIMENSIONS,
  'get /insights/:projectId/traffic/referrers': {
    path,
    query: { range: '7d', breakdown: 'referrer_name' },
    answer: [row('referrer_name'), { name: null, ...ranked }],
  },
  'get /insights/:projectId/traffic/geo': {
    path,
    query: { range: '7d', breakdown: 'city' },
    answer: [row('city')],
  },
  'get /insights/:projectId/traffic/devices': {
    path,
    query: { range: '7d', breakdown: 'browser' },
    answer: [row('browser')],
  },
  'get /insights/:projectId/pages': {
    path,
    query: { range: 'today', filters: '[{"name":"country","operator":"is","value":["DE"]}]' },
    answer: [page],
  },
  'get /insights/:projectId/pages/entry_exit': { path, query: { range: '7d', mode: 'exit' }, answer: [page] },
  'get /insights/:projectId/events': {
    path,
    query: { range: 'today', event: ['signup', 'login'], limit: '20' },
    answer: [listedEvent],
  },
  'get /insights/:projectId/events/names': {
    path,
    query: { range: '30d' },
    answer: [
      { name: 'screen_view', count: 412 },
      { name: 'signup', count: 12 },
    ],
  },
  'get /insights/:projectId/events/properties': {
    path,
    query: { range: '30d', event: 'signup' },
    answer: [{ name: 'plan', count: 12 }],
  },
  'get /insights/:projectId/events/property_values': {
    path,
    query: { range: '30d', event: 'signup', property: 'plan' },
    answer: [
      { value: 'free', count: 9 },
      { value: 'pro', count: 3 },
    ],
  },
  'get /insights/:projectId/sessions': { path, query: { range: 'today', limit: '20' }, answer: [session] },
  'get /insights/:projectId/active_users': {
    path,
    query: { days: '2' },
    answer: [
      { date: '2026-01-04', dau: 31, wau: 140, mau: 402 },
      { date: '2026-01-05', dau: 44, wau: 151, mau: 411 },
    ],
  },
  ...RETURNING_EXAMPLES,
  ...REPORT_EXAMPLES,
  'get /insights/:projectId/excluded': {
    path,
    query: { range: '7d' },
    answer: [
      { reason: 'bot', type: 'search', name: 'Googlebot', requests: 31 },
      { reason: 'spam', type: 'referrer', name: 'semalt.com', requests: 12 },
      { reason: 'filter', type: 'path', name: null, requests: 4 },
    ],
  },
  'get /insights/:projectId/profiles/:profileId': {
    path: { ...path, profileId: 'user-1' },
    answer: {
      id: 'user-1',
      firstName: 'Ada',
      lastName: '',
      email: 'ada@shop.example',
      avatar: '',
      properties: { plan: 'pro', logins: '3' },
      groups: ['acme'],
      createdAt: '2026-01-05T09:12:44.120Z',
      updatedAt: '2026-01-05T09:12:44.120Z',
      events: [event],
    },
  },
  'get /insights/:projectId/profiles/:profileId/sessions': {
    path: { ...path, profileId: 'user-1' },
    query: { limit: '20' },
    answer: [session],
  },
  'get /insights/:projectId/profiles/:profileId/journey': {
    path: { ...path, profileId: 'user-1' },
    query: { limit: '20' },
    answer: [{ ...listedEvent, sincePreviousMs: null }],
  },
  'get /insights/:projectId/sessions/:sessionId/journey': {
    path: { ...path, sessionId: SESSION },
    answer: [{ ...listedEvent, sincePreviousMs: null }],
  },
  'get /insights/:projectId/groups/:groupId': {
    path: { ...path, groupId: 'acme' },
    answer: {
      id: 'acme',
      type: 'company',
      name: 'Acme',
      properties: { seats: '20' },
      createdAt: '2026-01-05T09:12:44.120Z',
      updatedAt: '2026-01-05T09:12:44.120Z',
      members: [
        { id: 'user-1', firstName: 'Ada', lastName: 'Lovelace', email: 'ada@example.org', avatar: '' },
      ],
      total: 1,
    },
  },
  'get /export/events': {
    query: {
      projectId: 'demo',
      start: '2026-01-05',
      end: '2026-01-05',
      limit: '100',
      includes: 'properties',
    },
    answer: {
      meta: { count: 1, totalCount: 1, pages: 1, current: 1, nextCursor: null },
      data: [{ ...event, properties: { plan: 'pro' } }],
    },
  },
  ...PATH_EXAMPLES,
  ...PEOPLE_EXAMPLES,
  ...SEARCH_CONSOLE_EXAMPLES,
  ...CHART_EXAMPLES,
  ...STREAM_EXAMPLES,
};
