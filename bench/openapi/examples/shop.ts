import type { SentEvent } from '../../dashboard/sent-visits.ts';

const WINDOWS = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64)';
const german = { __language: 'de-DE', __timezone: 'Europe/Berlin' };

/** The visitors of the shop, each with a device and a place. */
const VISITORS = {
  ada: {
    address: '141.20.1.1',
    agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0',
    profileId: 'user-1',
    locale: { ...german, __screen: '1920x1080' },
  },
  ben: {
    address: '78.46.1.1',
    agent: `${WINDOWS} AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36`,
    profileId: 'user-2',
    locale: { ...german, __screen: '2560x1440' },
  },
  carla: {
    address: '134.157.1.1',
    agent:
      'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
    profileId: undefined,
    locale: { __language: 'fr-FR', __timezone: 'Europe/Paris', __screen: '390x844' },
  },
  dora: {
    address: '128.40.0.1',
    agent:
      'Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/125.0.6422.165 Mobile Safari/537.36',
    profileId: undefined,
    locale: { __language: 'en-GB', __timezone: 'Europe/London', __screen: '360x780' },
  },
  emil: {
    address: '134.157.1.2',
    agent: `${WINDOWS} AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36`,
    profileId: 'user-3',
    locale: { __language: 'fr-FR', __timezone: 'Europe/Paris', __screen: '1920x1080' },
  },
} as const;

const GOOGLE = 'https://www.google.com/';
const NEWS = 'https://news.example/today';
const MAIL =
  '/?utm_source=newsletter&utm_medium=email&utm_campaign=spring&utm_term=analytics&utm_content=top-banner';

type VisitStep = readonly [afterS: number, path: string, name?: string, properties?: SentEvent['properties']];

const home: VisitStep = [0, '/', 'screen_view', { theme: 'dark' }];
const pricing: VisitStep = [45, '/pricing'];
const FREE = { plan: 'free' };
const trial: VisitStep = [80, '/pricing', 'click', { button: 'trial' }];
const signup = (plan: string): VisitStep => [150, '/signup', 'signup', { plan }];
const order = (id: string, amount: number): VisitStep => [
  240,
  '/paid',
  'revenue',
  { __amount: amount, __currency: 'EUR', __orderId: id },
];

/** Visits of three weeks: visitor, time, referrer, steps. The last two are live at nine o'clock on 5 January. */
const VISITS: readonly (readonly [keyof typeof VISITORS, string, from: string, ...VisitStep[]])[] = [
  ['ben', '2025-12-16T11:00:00Z', NEWS, home, pricing, signup('free')],
  ['ada', '2025-12-17T10:00:00Z', GOOGLE, home, pricing],
  ['carla', '2025-12-18T12:00:00Z', '', home, pricing, signup('free')],
  ['ben', '2025-12-23T09:30:00Z', GOOGLE, home],
  ['ada', '2025-12-24T15:00:00Z', '', pricing, trial, signup('pro')],
  ['ben', '2025-12-30T10:00:00Z', '', home, [20, '/docs']],
  ['dora', '2025-12-31T16:00:00Z', GOOGLE, [0, '/docs'], pricing, signup('pro')],
  ['ada', '2026-01-02T10:00:00Z', '', home],
  ['ben', '2026-01-03T12:00:00Z', GOOGLE, home, pricing],
  ['dora', '2026-01-04T10:00:00Z', '', pricing],
  ['ada', '2026-01-04T18:00:00Z', NEWS, home, pricing, [90, '/docs'], order('A-10', 20)],
  ['ada', '2026-01-05T07:10:00Z', '', [0, MAIL], pricing, trial, signup('pro'), order('A-11', 39.97)],
  ['ben', '2026-01-05T07:40:00Z', GOOGLE, home, pricing, trial],
  ['emil', '2026-01-05T08:05:00Z', NEWS, [0, '/docs'], pricing],
  ['dora', '2026-01-05T08:57:30Z', '', pricing],
  [
    'carla',
    '2026-01-05T08:57:50Z',
    GOOGLE,
    home,
    [20, '/pricing'],
    [40, '/signup'],
    [60, '/signup', 'signup', FREE],
  ],
];

export function shopVisits(): readonly SentEvent[] {
  return VISITS.flatMap(([who, at, from, ...steps]) =>
    steps.map(([afterS, path, name = 'screen_view', properties = {}], index): SentEvent => {
      const { address, agent, profileId, locale } = VISITORS[who];
      return {
        atMs: Date.parse(at) + afterS * 1_000,
        address,
        agent,
        name,
        ...(profileId === undefined ? {} : { profileId }),
        properties: {
          ...locale,
          ...properties,
          __path: `https://shop.example${path}`,
          __title: TITLES[path] ?? 'Shop',
          ...(index === 0 && from !== '' ? { __referrer: from } : {}),
        },
      };
    }),
  );
}

const TITLES: Readonly<Record<string, string>> = {
  '/pricing': 'Pricing',
  '/signup': 'Sign up',
  '/docs': 'Documentation',
  '/paid': 'Thank you',
};

/** Ada's profile and group. */
export const PEOPLE = [
  {
    type: 'identify',
    payload: {
      profileId: 'user-1',
      firstName: 'Ada',
      lastName: 'Lovelace',
      email: 'ada@shop.example',
      properties: { plan: 'pro', logins: 2 },
    },
  },
  { type: 'group', payload: { id: 'acme', type: 'company', name: 'Acme', properties: { seats: 20 } } },
  { type: 'assign_group', payload: { groupIds: ['acme'], profileId: 'user-1' } },
];

/** The settings of the site. */
export const SITE = {
  domain: 'https://shop.example',
  cors: ['https://shop.example'],
  timezone: 'Europe/Berlin',
  currency: 'EUR',
  types: ['website'],
  feed: true,
  filters: { addresses: ['192.0.2.0/24'], paths: ['/internal/*'] },
};

const found = (
  date: string,
  query: string,
  page: string,
  clicks: number,
  impressions: number,
  position: number,
) => ({
  ...{ date, query, page: `https://shop.example${page}`, clicks, impressions, position },
});

/** Rows of the search engine. */
export const SEARCH_ROWS = [
  found('2026-01-02', 'red boots', '/boots', 10, 400, 7.1),
  found('2026-01-03', 'red boots', '/boots', 20, 620, 6.4),
  found('2026-01-03', 'red boots', '/sale', 3, 120, 12.5),
  found('2026-01-03', 'winter boots', '/boots', 4, 310, 8.2),
  found('2026-01-04', 'red boots', '/boots', 22, 580, 6.2),
];
