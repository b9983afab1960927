import { describe, expect, test } from 'vitest';
import { findChromium } from '../testing/chromium.ts';
import { TIMESTAMP_AFTER_MS } from './limits.ts';
import {
  CLIENT_ID,
  namesOf,
  PLAIN_STUB,
  propertiesOf,
  useRecordedVisit,
  WAIT,
} from './testing/recorded-visit.ts';
import { VISITOR_LOCALE } from './testing/test-browser.ts';
import { LOOKED_UP_IDENTITY } from './testing/test-site.ts';

// The methods that a page can call, in a real browser, against a server that records the calls of the built script.

const chromium = await findChromium();
const visit = useRecordedVisit(chromium);
const inBrowser = describe.skipIf(chromium === undefined);

const PROXY_STUB = `window.op = window.op || (function () {
  var calls = [];
  return new Proxy(function () { if (arguments.length) calls.push([].slice.call(arguments)); }, {
    get: function (_, name) {
      return name === 'q' ? calls : function () { calls.push([name].concat([].slice.call(arguments))); };
    },
    has: function (_, name) { return name === 'q'; }
  });
})();`;

inBrowser('the stub', () => {
  test.each([
    [
      'of one function',
      PLAIN_STUB,
      `op('track', 'first'); op('init', OFF); op('track', 'second', { a: 1 });`,
    ],
    ['with methods', PROXY_STUB, `op.track('first'); op.init(OFF); op('track', 'second', { a: 1 });`],
  ])('%s is replayed in order, including calls before init', async (_name, stub, calls) => {
    await visit.open(calls, { stub });
    const [first, second] = await visit.calls(2);
    expect(first?.payload.name).toBe('first');
    expect(second).toMatchObject({
      type: 'track',
      payload: {
        name: 'second',
        properties: {
          a: 1,
          __path: `${visit.site.url}/page`,
          __referrer: '',
          // Chromium has the older name of the zone, which the service records under the present one.
          __timezone: expect.stringMatching(/^Asia\/(Calcutta|Kolkata)$/),
          __screen: VISITOR_LOCALE.screen,
        },
      },
      headers: {
        'service-client-id': CLIENT_ID,
        'service-sdk-name': 'web',
        'service-sdk-version': expect.stringMatching(/^\d+\.\d+\.\d+/),
        'content-type': 'application/json',
      },
    });
    expect(second?.payload.eventId).toMatch(/^\w{6,}$/);
    await visit.run(`op.track('by method')`);
    expect(namesOf(await visit.calls(1))).toEqual(['by method']);
  });

  test.each([
    ['of one function', PLAIN_STUB, `saved('track', 'saved')`],
    ['with methods', PROXY_STUB, `saved.track('saved')`],
  ])('%s that the page saved still works', async (_name, stub, call) => {
    await visit.open(`op('init', OFF); op('track', 'first'); window.saved = window.op;`, { stub });
    await visit.calls(1);
    await visit.run(call);
    expect(namesOf(await visit.calls(1))).toEqual(['saved']);
  });

  test('collects calls until init, however late, and a second init changes nothing', async () => {
    await visit.open(`op('track', 'early');`, { script: '<script src="/script.js"></script>' });
    await visit.run(`op('track', 'later'); op.setGlobalProperties({ plan: 'pro' });`);
    expect(visit.site.calls).toEqual([]);
    await visit.run(`op('init', OFF); op('init', { clientId: 'other' }); op('track', 'after');`);
    const calls = await visit.calls(3);
    expect(namesOf(calls)).toEqual(['early', 'later', 'after']);
    expect(propertiesOf(calls[2])).toMatchObject({ plan: 'pro' });
    expect(calls[2]?.headers['service-client-id']).toBe(CLIENT_ID);
  });

  test('is optional', async () => {
    await visit.open('', { stub: '', script: '<script src="/script.js"></script><p id="op">' });
    await visit.run(`op.init(OFF); op.track('alone');`);
    expect(namesOf(await visit.calls(1))).toEqual(['alone']);
  });
});

inBrowser('the script', () => {
  test('loaded twice works once', async () => {
    const script = '<script src="/script.js"></script>';
    await visit.open(`op('init', { clientId: OFF.clientId, apiUrl: API, trackScreenViews: true });`, {
      script: script + script,
    });
    await visit.run(`var script = document.createElement('script'); script.src = '/script.js';
      await new Promise((resolve) => { script.onload = resolve; document.head.append(script); });
      op('track', 'third load')`);
    expect(namesOf(await visit.calls(2)).toSorted()).toEqual(['screen_view', 'third load']);
  });

  test('ignores wrong calls silently', async () => {
    await visit.open(`op('init', OFF);`);
    await visit.run(`
      op(); op('unheardOf', 1); op.unheardOf(); op('constructor'); op('identify'); op('track', 'no number', { n: 1n });
      var ring = {}; ring.ring = ring; op('track', 'ring', ring); op('setGroups'); op.increment(); await op;
      op('init', null); op.apply(null, ['track', 'applied']);`);
    expect(visit.site.calls.every(({ type }) => ['track', 'assign_group'].includes(type))).toBe(true);
    await expect.poll(() => namesOf(visit.site.calls), WAIT).toContain('applied');
  });

  test('writes to the console only with the debug option', async () => {
    await visit.open(
      `op('init', Object.assign({ debug: true }, OFF)); op('track', 'logged'); op('identify');`,
    );
    await expect.poll(() => visit.visitor.errors.length, WAIT).toBeGreaterThanOrEqual(2);
    expect(visit.visitor.errors.join()).toMatch(/track.*TypeError/);
    visit.visitor.errors.length = 0;
  });

  test('uses the service that it was loaded from, and needs no inline script', async () => {
    const script = `<script src="${visit.site.apiUrl}/script.js?v=1/2" data-client-id="${CLIENT_ID}"
      data-track-screen-views data-track-attributes="false" async></script>`;
    await visit.open('', { stub: '', script });
    const [view] = await visit.calls(1);
    expect(view?.payload).toMatchObject({ name: 'screen_view', properties: { __title: 'Page' } });
    expect(visit.site.settings.requestCount).toBe(0);
  });

  test('sends to another path with trackPath', async () => {
    await visit.open(
      `op('init', Object.assign({}, OFF, { apiUrl: API + '/', trackPath: '/t' })); op('track', 'a');`,
    );
    expect(await visit.calls(1)).toMatchObject([{ headers: { host: expect.stringContaining('localhost') } }]);
  });

  test('works in a page without a body yet, and without storage', async () => {
    await visit.visitor.context.addInitScript(`Object.defineProperty(window, 'sessionStorage', {
      get() { throw new DOMException('The operation is insecure.', 'SecurityError'); } });`);
    await visit.open(`op('init', OFF); op('track', 'a'); op('pendingRevenue', 100);`, {
      script: `<script src="/script.js"></script><script>window.hadBody = !!document.body</script>`,
    });
    expect(await visit.run('return hadBody')).toBe(false);
    expect(namesOf(await visit.calls(1))).toEqual(['a']);
    await visit.run(`op('flushRevenue')`);
    expect(namesOf(await visit.calls(1))).toEqual(['revenue']);
  });

  test('does nothing on a prerendered page until it is shown', async () => {
    await visit.visitor.context.addInitScript(`window.ahead = true;
      Object.defineProperty(Document.prototype, 'prerendering', { get: () => window.ahead });`);
    await visit.open(`op('init', { clientId: OFF.clientId, apiUrl: API }); op('track', 'a');`, {
      script: '<script src="/script.js"></script>',
    });
    await visit.advance(100);
    expect(visit.site.calls).toEqual([]);
    expect(visit.site.settings.requestCount).toBe(0);
    await visit.run(`ahead = false; document.dispatchEvent(new Event('prerenderingchange'))`);
    await expect.poll(() => namesOf(visit.site.calls), WAIT).toEqual(['a', 'screen_view']);
  });
});

inBrowser('a method', () => {
  const cases: [fact: string, calls: string, sent: object[]][] = [
    [
      'track sends the given properties, groups and profile',
      `op('track', 'a', { b: { c: [1] }, groups: ['g'], profileId: 7, __path: '/x' })`,
      [
        {
          type: 'track',
          payload: { name: 'a', profileId: 7, groups: ['g'], properties: { b: { c: [1] }, __path: '/x' } },
        },
      ],
    ],
    [
      'screenView counts a page once, and later events have its path',
      `op('screenView'); op('screenView'); op('screenView', '/virtual', { tab: 2 }); op('track', 'there')`,
      [
        {
          payload: {
            name: 'screen_view',
            properties: { __path: expect.stringMatching(/\/page$/), __title: 'Page' },
          },
        },
        { payload: { name: 'screen_view', properties: { __path: '/virtual', tab: 2 } } },
        { payload: { name: 'there', properties: { __path: '/virtual' } } },
      ],
    ],
    [
      'increment and decrement update the identified profile unless they name one',
      `op('identify', { profileId: 'p1' }); op('track', 'a'); op('increment', { property: 'visits' });
      op('decrement', { profileId: 'p2', property: 'credit', value: 5 })`,
      [
        { type: 'track', payload: { name: 'a', profileId: 'p1' } },
        { type: 'increment', payload: { profileId: 'p1', property: 'visits' } },
        { type: 'decrement', payload: { profileId: 'p2', property: 'credit', value: 5 } },
      ],
    ],
    [
      'identify describes a profile, with global properties',
      `op('setGlobalProperties', { plan: 'pro' }); op('setGlobalProperties', { seat: 2 });
      op('identify', { profileId: 'p1', email: 'a@b.example', properties: { seat: 3 } }); op('track', 'a', { plan: 'x' })`,
      [
        {
          type: 'identify',
          payload: { profileId: 'p1', email: 'a@b.example', properties: { plan: 'pro', seat: 3 } },
        },
        { type: 'track', payload: { profileId: 'p1', properties: { plan: 'x', seat: 2 } } },
      ],
    ],
    [
      'groups are assigned and updated, and never added to events',
      `op('identify', { profileId: 'p1' }); op('setGroup', 'g1'); op('setGroups', ['g2', 'g3']);
      op('upsertGroup', { id: 'g1', type: 'team', name: 'One', properties: { size: 3 } }); op('clear'); op('track', 'a')`,
      [
        { type: 'assign_group', payload: { groupIds: ['g1'], profileId: 'p1' } },
        { type: 'assign_group', payload: { groupIds: ['g2', 'g3'], profileId: 'p1' } },
        { type: 'group', payload: { id: 'g1', type: 'team', name: 'One', properties: { size: 3 } } },
        { type: 'track', payload: { name: 'a' } },
      ],
    ],
    [
      'revenue sends an event in minor units',
      `op('revenue', 1999, { __currency: 'EUR', __orderId: 'o1' })`,
      [
        {
          type: 'track',
          payload: { name: 'revenue', properties: { __revenue: 1999, __currency: 'EUR', __orderId: 'o1' } },
        },
      ],
    ],
    [
      'a page says better what it knows',
      `op('setGlobalProperties', { __language: 'fr', __timezone: 'UTC' }); op('track', 'a', { __screen: '1x1' })`,
      [{ payload: { properties: { __language: 'fr', __timezone: 'UTC', __screen: '1x1' } } }],
    ],
    ['track takes an event id', `op('track', 'a', {}, 'my-id')`, [{ payload: { eventId: 'my-id' } }]],
  ];
  test.each(cases)('%s', async (_fact, calls, sent) => {
    await visit.open(`op('init', OFF);`);
    await visit.run(calls);
    const made = await visit.calls(sent.length);
    expect(made).toMatchObject(sent);
    expect(new Set(made.map(({ payload }) => payload.eventId)).size).toBe(sent.length);
    // The script adds no groups by itself, and no profile after `clear`.
    const last = made.at(-1);
    if (calls.includes('setGroup')) expect(last?.payload).not.toHaveProperty('groups');
    if (calls.includes('clear')) expect(last?.payload).not.toHaveProperty('profileId');
  });
});

inBrowser('sending', () => {
  test('waits for ready when disabled, and waiting events have their own time and path', async () => {
    await visit.open(`op('init', Object.assign({ disabled: true }, OFF)); op('track', 'waiting');`);
    await visit.advance(TIMESTAMP_AFTER_MS + 100);
    await visit.run(`history.pushState(null, '', '/next')`);
    expect(await visit.run(`return op('getDeviceId')`)).toBe('');
    expect(visit.site.calls).toEqual([]);
    const readyAtMs = await visit.run<number>(`op('ready'); return Date.now()`);
    const [waiting] = await visit.calls(1);
    expect(propertiesOf(waiting)).toMatchObject({ __path: `${visit.site.url}/page` });
    expect(propertiesOf(waiting).__timestamp).toBeLessThan(readyAtMs - TIMESTAMP_AFTER_MS);
  });

  test('waits for a profile with waitForProfile, and waiting events get it', async () => {
    await visit.open(`op('init', Object.assign({ waitForProfile: true }, OFF)); op('track', 'waiting');`);
    await visit.run(`op('track', 'own', { profileId: 'p0' })`);
    expect(visit.site.calls).toEqual([]);
    await visit.run(`op('identify', { profileId: 'p1' })`);
    expect(await visit.calls(2)).toMatchObject([
      { payload: { profileId: 'p1' } },
      { payload: { profileId: 'p0' } },
    ]);
  });

  test('skips calls that the filter option rejects or fails on', async () => {
    await visit.open(`op('init', Object.assign({}, OFF, { filter: function (call) {
      if (call.payload.name === 'broken') throw new Error('broken');
      return call.payload.name !== 'secret'; } }));
      op('track', 'secret'); op('track', 'broken'); op('track', 'open');`);
    expect(namesOf(await visit.calls(1))).toEqual(['open']);
  });

  test('copies its arguments', async () => {
    await visit.open(`op('init', Object.assign({ disabled: true }, OFF));`);
    await visit.run(`var cart = { lines: [1] }; op('track', 'a', cart); cart.lines.push(2); op('ready');`);
    expect(propertiesOf((await visit.calls(1))[0])).toMatchObject({ lines: [1] });
  });
});

inBrowser('the device and the session', () => {
  test('are requested before the first answer', async () => {
    await visit.open(`op('init', OFF);`, { script: '<script src="/script.js"></script>' });
    expect(await visit.run(`return [await op('getDeviceId'), await op.getSessionId()]`)).toEqual([
      LOOKED_UP_IDENTITY.deviceId,
      LOOKED_UP_IDENTITY.sessionId,
    ]);
  });

  test('are those of the last answer until clear', async () => {
    await visit.open(`op('init', OFF); op('track', 'a');`);
    await visit.calls(1);
    expect(await visit.run(`return [await op('getDeviceId'), await op.getSessionId()]`)).toEqual([
      'device-1',
      'session-1',
    ]);
    expect(await visit.run(`op('clear'); return op('getDeviceId')`)).toBe(LOOKED_UP_IDENTITY.deviceId);
  });
});

inBrowser('pending revenue', () => {
  test('survives its page, is sent when flushed, and is then removed', async () => {
    await visit.open(
      `op('init', OFF); op('pendingRevenue', 500, { __orderId: 'o1' }); op('pendingRevenue', 700);`,
    );
    await visit.calls(0);
    await visit.open(`op('init', OFF);`);
    await visit.run(`op('flushRevenue'); op('flushRevenue');`);
    const sent = await visit.calls(4);
    expect(sent.map((call) => propertiesOf(call).__revenue)).toEqual([500, 700, 500, 700]);
    expect(new Set(sent.map(({ payload }) => payload.eventId)).size).toBe(2);
    await visit.run(`op('flushRevenue')`);
    await visit.calls(0);
  });

  test('can be cleared, and nothing is stored without any', async () => {
    await visit.open(`op('init', OFF); op('track', 'a');`);
    await visit.calls(1);
    const stored = `return [sessionStorage.length, localStorage.length, document.cookie]`;
    expect(await visit.run(stored)).toEqual([0, 0, '']);
    await visit.run(`op('pendingRevenue', 500); op('clearRevenue'); op('flushRevenue')`);
    await visit.calls(0);
  });
});
