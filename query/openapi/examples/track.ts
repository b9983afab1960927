const DEVICE = '8a6f3c0e5b1d4927a0c4e2f61b7d9358';
const SESSION = '3f0c9a77d2e84b51b6a1c8e94d02f7ab';

/** Example requests and responses of the ingest room. */
export const TRACK_EXAMPLES = {
  clientId: '3b1f6c52-94a7-4f0e-8d35-6a2c9be0417d',
  bodies: {
    track: {
      type: 'track',
      payload: {
        name: 'signup',
        profileId: 'user-1',
        properties: { plan: 'pro', __path: 'https://shop.example/signup' },
        eventId: 'signup-user-1',
      },
    },
    revenue: {
      type: 'track',
      payload: {
        name: 'revenue',
        properties: { __amount: 19.99, __currency: 'EUR', __orderId: 'A-1', __deviceId: DEVICE },
      },
    },
    identify: {
      type: 'identify',
      payload: {
        profileId: 'user-1',
        firstName: 'Ada',
        email: 'ada@shop.example',
        properties: { plan: 'pro' },
      },
    },
    increment: { type: 'increment', payload: { profileId: 'user-1', property: 'logins', value: 1 } },
    decrement: { type: 'decrement', payload: { profileId: 'user-1', property: 'credits', value: 5 } },
    group: {
      type: 'group',
      payload: { id: 'acme', type: 'company', name: 'Acme', properties: { seats: 20 } },
    },
    assign_group: { type: 'assign_group', payload: { groupIds: ['acme'], profileId: 'user-1' } },
    alias: { type: 'alias', payload: { profileId: 'user-1', alias: 'visitor-77' } },
  },
  batch: [
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
  batched: {
    accepted: 1,
    rejected: [{ index: 1, status: 400, message: 'payload.name: expected a non-empty string' }],
  },
  tracked: { deviceId: DEVICE, sessionId: SESSION },
  excluded: { bot: { name: 'Googlebot', type: 'search' } },
  device: { deviceId: DEVICE, sessionId: SESSION, message: 'current session' },
  tracking: {
    screenViews: true,
    outgoingLinks: false,
    attributes: false,
    hashChanges: false,
    sessionReplay: false,
    replaySampleRate: 1,
    replayNeedsConsent: false,
    paymentProviders: [],
  },
};
