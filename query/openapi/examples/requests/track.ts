import type { ShownRequest } from '../example.ts';

const track = (title: string, payload: object): ShownRequest => ({
  operation: 'post /track',
  title,
  body: { type: title === 'revenue' ? 'track' : title, payload },
});

/** Requests of a site's senders. */
export const TRACK_REQUESTS: readonly ShownRequest[] = [
  track('track', {
    name: 'signup',
    profileId: 'user-1',
    properties: { plan: 'pro', __path: 'https://shop.example/signup' },
    eventId: 'signup-user-1',
  }),
  { operation: 'get /track/device-id', keep: { deviceId: 'deviceId' } },
  track('revenue', {
    name: 'revenue',
    properties: { __amount: 19.99, __currency: 'EUR', __orderId: 'A-1', __deviceId: '{deviceId}' },
  }),
  track('identify', {
    profileId: 'user-1',
    firstName: 'Ada',
    email: 'ada@shop.example',
    properties: { plan: 'pro' },
  }),
  track('increment', { profileId: 'user-1', property: 'logins', value: 1 }),
  track('decrement', { profileId: 'user-1', property: 'credits', value: 5 }),
  track('group', { id: 'acme', type: 'company', name: 'Acme', properties: { seats: 20 } }),
  track('assign_group', { groupIds: ['acme'], profileId: 'user-1' }),
  track('alias', { profileId: 'user-1', alias: 'visitor-77' }),
  {
    operation: 'post /track/batch',
    body: [
      {
        type: 'track',
        payload: {
          name: 'screen_view',
          properties: { __path: 'https://shop.example/', __timestamp: '2026-01-05T09:00:00.000Z' },
          eventId: 'import-1',
        },
      },
      { type: 'track', payload: { name: '' } },
    ],
  },
  { operation: 'get /config/tracking', query: { clientId: '{writeClient}' } },
  { operation: 'get /config/tracking', query: { clientId: 'shop' }, status: 400 },
  {
    operation: 'get /config/tracking',
    query: { clientId: '00000000-0000-4000-8000-000000000000' },
    status: 404,
  },
  { operation: 'get /script.js' },
  { operation: 'get /op1.js' },
];

const page = { origin: 'https://shop.example', 'service-client-secret': '' };
const view = (path: string, properties: object = {}) => ({
  type: 'track',
  payload: { name: 'screen_view', properties: { __path: `https://shop.example${path}`, ...properties } },
});

/** Requests that are counted as excluded: from a bot, with a spam referrer, and for a filtered path. */
export const EXCLUDED_REQUESTS: readonly ShownRequest[] = [
  {
    operation: 'post /track',
    body: view('/'),
    headers: {
      ...page,
      'user-agent': 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    },
    status: 202,
  },
  {
    operation: 'post /track',
    body: view('/', { __referrer: 'https://semalt.com/' }),
    headers: page,
    status: 202,
    isShown: false,
  },
  {
    operation: 'post /track',
    body: view('/internal/report'),
    headers: page,
    status: 202,
    isShown: false,
  },
];
