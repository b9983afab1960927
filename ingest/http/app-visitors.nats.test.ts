import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Bus } from '../../infra/bus/bus.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { LANES_DEFAULT } from '../event.ts';
import {
  connectBus,
  createClient,
  createSite,
  startCollector,
  type TestCollector,
} from '../testing/collector.ts';
import { startOwner, type TestOwner } from '../testing/owner.ts';
import { storedEvents } from '../testing/stored-events.ts';

// Visitors are browsers and apps, by their agent or by their claims about their device; every other sender with a secret is a server.

const HEX_ID = /^[0-9a-f]{32}$/;
const IPHONE_SAFARI =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1';
const IPHONE = {
  __os: 'iOS',
  __osVersion: '17.2',
  __brand: 'Apple',
  __model: 'iPhone 15',
  __device: 'mobile',
  __browser: 'MyShop',
};

let nats: NatsServer;
let bus: Bus;
let owner: TestOwner;
let collector: TestCollector;
let write: Awaited<ReturnType<typeof createClient>>;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await connectBus(nats.url);
  await createSite(bus, 'app', { cors: ['https://app.example'] });
  write = await createClient(bus, 'write', 'app');
  owner = startOwner(bus, LANES_DEFAULT);
  collector = await startCollector(nats.url);
});

afterAll(async () => {
  await collector.stop();
  owner.stop();
  await bus.close();
  await nats.stop();
});

interface Identity {
  readonly deviceId: string;
  readonly sessionId: string;
}

async function send(path: string, body: unknown, headers: Record<string, string>): Promise<Response> {
  return fetch(collector.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'service-client-id': write.id, ...headers },
    body: JSON.stringify(body),
  });
}

const secret = () => ({ 'service-client-secret': write.secret });
const view = (name: string, properties: object = {}, rest: object = {}) => ({
  type: 'track',
  payload: { name, properties, ...rest },
});

/** Sends an event with the secret; its answer, and its row on the bus. */
async function tracked(
  name: string,
  userAgent: string,
  properties: object = {},
  headers: Record<string, string> = {},
) {
  const answer = await send('/track', view(name, properties), {
    'user-agent': userAgent,
    ...secret(),
    ...headers,
  });
  expect(answer.status).toBe(200);
  const { deviceId, sessionId } = (await answer.json()) as Identity;
  return { deviceId, sessionId, row: await rowOf(name) };
}

async function rowOf(name: string) {
  const stored = (await storedEvents(bus, LANES_DEFAULT)).find(({ row }) => row.name === name);
  return stored?.row;
}

describe("an app's agent opens a session on a device", () => {
  test.each([
    [
      'dalvik',
      'Dalvik/2.1.0 (Linux; U; Android 12; Pixel 4 Build/SP2A.220505.002)',
      'Android',
      '12',
      'mobile',
    ],
    ['okhttp', 'okhttp/4.12.0', 'Android', '', 'mobile'],
    ['cfnetwork', 'MyShop/42 CFNetwork/1410.0.3 Darwin/22.6.0', 'iOS', '16', 'mobile'],
    ['ipados', 'MyShop/2 (iPad13,1) CFNetwork/1494.0.7 Darwin/23.4.0', 'iOS', '17', 'tablet'],
    ['macos', 'MyShop/7 (MacBookPro18,1) CFNetwork/1408.0.4 Darwin/22.5.0', 'macOS', '13', 'desktop'],
    ['tvos', 'MyShop/3 (tvOS 17.4) CFNetwork/1494.0.7 Darwin/23.4.0', 'tvOS', '17.4', 'tv'],
    ['swift', 'OpenPanel/1.0.1 (Version 17.4 (Build 21L227))', '', '', ''],
  ])('%s', async (name, userAgent, os, osVersion, device) => {
    const { deviceId, sessionId, row } = await tracked(`agent-${name}`, userAgent);
    expect([deviceId, sessionId]).toEqual([expect.stringMatching(HEX_ID), expect.stringMatching(HEX_ID)]);
    expect(row).toMatchObject({ deviceId, os, osVersion, device, browser: '' });
  });

  test('also without a secret, from an allowed origin: an app is no bot', async () => {
    const headers = { origin: 'https://app.example', 'user-agent': 'okhttp/4.12.0' };
    const answer = await send('/track', view('agent-origin'), headers);
    expect(answer.status).toBe(200);
    expect(((await answer.json()) as Identity).deviceId).toMatch(HEX_ID);
  });
});

describe('what an app says of its device', () => {
  test('makes any agent a visitor, overrides it, and is not stored as properties', async () => {
    const { deviceId, sessionId, row } = await tracked('said-all', 'MyShop/3.1', { ...IPHONE, plan: 'pro' });
    expect(deviceId).toMatch(HEX_ID);
    expect(sessionId).toMatch(HEX_ID);
    expect(row).toMatchObject({
      os: 'iOS',
      osVersion: '17.2',
      brand: 'Apple',
      model: 'iPhone 15',
      device: 'mobile',
      browser: 'MyShop',
      browserVersion: '',
      properties: ['plan', 'pro'],
    });
    const second = await tracked('said-os', 'MyShop/3.1', { __os: 'tvOS' });
    // Another claim of the same agent and address: the environment of the first is not repeated.
    expect(second.row).toMatchObject({ os: 'tvOS', device: 'tv', brand: 'Apple', model: '' });
    expect(second.deviceId).toBe(deviceId);
  });

  test.each(['desktop', 'mobile', 'tablet', 'tv', 'console'])('may be the kind %s alone', async (kind) => {
    const { deviceId, row } = await tracked(`kind-${kind}`, 'node', { __device: kind });
    expect(deviceId).toMatch(HEX_ID);
    expect(row).toMatchObject({ device: kind });
  });

  test('may be that it is a server, whatever its agent', async () => {
    const { deviceId, sessionId, row } = await tracked('kind-server', 'okhttp/4.12.0', {
      __device: 'server',
    });
    expect([deviceId, sessionId]).toEqual(['', '']);
    expect(row).toMatchObject({ device: 'server', os: '' });
  });

  test.each([
    ['__device', 'fridge'],
    ['__device', 7],
    ['__os', true],
    ['__model', {}],
  ])('is rejected as %s: %j', async (key, value) => {
    const answer = await send('/track', view('bad', { [key]: value }), { 'user-agent': 'x', ...secret() });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      message: expect.stringContaining(`payload.properties.${key}: expected`),
    });
  });

  test('makes its profile update one of the same visitor, and is no property of the profile', async () => {
    const { deviceId } = await tracked('said-profile', 'MyShop/3.1', IPHONE);
    const body = { type: 'identify', payload: { profileId: 'p', properties: IPHONE } };
    const answer = await send('/track', body, { 'user-agent': 'MyShop/3.1', ...secret() });
    expect(await answer.json()).toMatchObject({ deviceId });
  });
});

describe('a server', () => {
  test.each(['my-backend/1.0', 'curl/8.4.0', 'Dart/3.2 (dart:io)'])(
    'is %s with a secret',
    async (userAgent) => {
      const { deviceId, sessionId, row } = await tracked(`server-${userAgent}`, userAgent);
      expect([deviceId, sessionId]).toEqual(['', '']);
      expect(row).toMatchObject({ device: 'server', os: '', browser: '' });
    },
  );

  test('that names a device joins its session, and its kind is not that of the device', async () => {
    const { deviceId, sessionId, row } = await tracked('named-device', 'my-backend/1.0', {
      __deviceId: 'd-1',
    });
    expect(deviceId).toBe('d-1');
    expect(sessionId).toMatch(HEX_ID);
    expect(row).toMatchObject({ deviceId: 'd-1', device: '' });
  });
});

describe('__userAgent', () => {
  test("stands in for the header: same device, browser and system as the visitor's own request", async () => {
    const address = { 'service-client-ip': '203.0.113.7' };
    const own = await tracked('agent-header', IPHONE_SAFARI, {}, address);
    const imported = await tracked('agent-property', 'my-importer/1.0', {
      __userAgent: IPHONE_SAFARI,
      __ip: '203.0.113.7',
    });
    expect(imported.deviceId).toBe(own.deviceId);
    expect(imported.row).toMatchObject({
      browser: 'Safari',
      browserVersion: '17.4',
      os: 'iOS',
      osVersion: '17.4',
      device: 'mobile',
      properties: [],
    });
  });

  test("differs from item to item of a batch, and the importer's client hints say nothing", async () => {
    const items = [
      view('import-1', { __userAgent: IPHONE_SAFARI, __ip: '203.0.113.7' }),
      view('import-2', { __userAgent: 'okhttp/4.12.0', __ip: '203.0.113.8' }),
      view('import-3', {}),
      view('import-4', {
        __ip: '203.0.113.9',
        __userAgent:
          'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36',
      }),
    ];
    const headers = {
      'user-agent': 'my-importer/1.0',
      'sec-ch-ua': '"Brave";v="124"',
      'sec-ch-ua-platform': '"Windows"',
      ...secret(),
    };
    const answer = await send('/track/batch', items, headers);
    expect(await answer.json()).toEqual({ accepted: 4, rejected: [] });
    expect(await rowOf('import-1')).toMatchObject({ browser: 'Safari', device: 'mobile' });
    expect(await rowOf('import-2')).toMatchObject({ os: 'Android', device: 'mobile' });
    expect(await rowOf('import-3')).toMatchObject({ deviceId: '', device: 'server' });
    expect(await rowOf('import-4')).toMatchObject({ browser: 'Chrome', os: 'Linux', device: 'desktop' });
  });

  test('counts only with a secret: without one, the header decides', async () => {
    const googlebot = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)';
    const origin = 'https://app.example';
    const bot = await send('/track', view('agent-spoofed', { __userAgent: IPHONE_SAFARI }), {
      origin,
      'user-agent': googlebot,
    });
    expect(bot.status).toBe(202);
    const plain = await send('/track', view('agent-unproven', { __userAgent: googlebot }), {
      origin,
      'user-agent': IPHONE_SAFARI,
    });
    expect(plain.status).toBe(200);
    expect(await rowOf('agent-unproven')).toMatchObject({ browser: 'Safari', properties: [] });
  });
});

test('an eventId beside the type counts once, as one in the payload does', async () => {
  const named = { ...view('top-level-id'), eventId: 'top-1' };
  const headers = { 'user-agent': IPHONE_SAFARI, ...secret() };
  const answers = [await send('/track', named, headers), await send('/track', named, headers)];
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  const batch = await send('/track/batch', [named, view('top-level-id', {}, { eventId: 'top-1' })], headers);
  expect(await batch.json()).toEqual({ accepted: 2, rejected: [] });
  const stored = (await storedEvents(bus, LANES_DEFAULT)).filter(({ row }) => row.name === 'top-level-id');
  expect(stored.map(({ row }) => row.eventId)).toEqual(['top-1']);
});
