import { afterAll, beforeAll, expect, test } from 'vitest';
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

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0';
const PHONE = { __language: 'DE-at', __timezone: 'europe/vienna', __screen: '0390X0844' };
const ON_PHONE = { language: 'de-AT', timezone: 'Europe/Vienna', screen: '390x844' };

let nats: NatsServer;
let bus: Bus;
let owner: TestOwner;
let collector: TestCollector;
let write: Awaited<ReturnType<typeof createClient>>;
let sent = 0;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await connectBus(nats.url);
  await createSite(bus, 'shop', { cors: ['https://shop.example'] });
  write = await createClient(bus, 'write', 'shop');
  owner = startOwner(bus, LANES_DEFAULT);
  collector = await startCollector(nats.url);
});

afterAll(async () => {
  owner.stop();
  await collector.stop();
  await bus.close();
  await nats.stop();
});

const SERVER = { origin: '', 'user-agent': 'my-backend/1.0' };
const secret = () => ({ 'service-client-secret': write.secret });

/** Sends an event; returns its device and its row on the bus. */
async function recorded(properties: object, headers: Record<string, string> = {}) {
  sent += 1;
  const name = `event-${sent}`;
  const response = await fetch(`${collector.url}/track`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'service-client-id': write.id,
      origin: 'https://shop.example',
      'user-agent': BROWSER,
      'accept-language': '*',
      ...headers,
    },
    body: JSON.stringify({ type: 'track', payload: { name, properties } }),
  });
  expect(response.status).toBe(200);
  const { deviceId } = (await response.json()) as { deviceId: string };
  const { row } = (await storedEvents(bus, LANES_DEFAULT)).find((event) => event.row.name === name) ?? {};
  return { deviceId, row };
}

test('an event has the language, time zone and screen that it says, in one spelling, and they are no properties', async () => {
  const { row } = await recorded({ ...PHONE, plan: 'pro' }, { 'accept-language': 'fr' });
  expect(row).toMatchObject({ ...ON_PHONE, browser: 'Firefox', properties: ['plan', 'pro'] });
});

test('without a language it has the one that the browser asks for first', async () => {
  const { row } = await recorded({}, { 'accept-language': 'de-ch,de;q=0.9,en;q=0.8' });
  expect(row).toMatchObject({ language: 'de-CH', timezone: '', screen: '' });
  // A program may speak for a browser.
  const forwarded = await recorded({}, { ...secret(), origin: '', 'accept-language': 'it' });
  expect(forwarded.row).toMatchObject({ language: 'it' });
});

test('a server-side program has the locale that it names, and its own header says nothing', async () => {
  const headers = { ...SERVER, ...secret(), 'accept-language': 'en-US' };
  const named = await recorded({ ...PHONE, __deviceId: 'd-1' }, headers);
  expect(named.row).toMatchObject({ ...ON_PHONE, device: '' });
  const unnamed = await recorded({ __deviceId: 'd-1' }, headers);
  expect(unnamed.row).toMatchObject({ language: '', timezone: '', screen: '', device: '' });
});

test('what means nothing is unknown, and does not reject the event', async () => {
  const { row } = await recorded({ __language: 'klingon', __timezone: 'Europe/Atlantis', __screen: 'large' });
  expect(row).toMatchObject({ language: '', timezone: '', screen: '', properties: [] });
});

test('a visitor stays the same device, and each event has its own locale', async () => {
  const events = [
    await recorded(PHONE),
    await recorded({ ...PHONE, __screen: '844x390' }),
    await recorded({ ...PHONE, __language: 'en' }),
    await recorded({ ...PHONE, __timezone: 'Asia/Tokyo' }),
    await recorded({}),
    await recorded(PHONE),
  ];
  expect(new Set(events.map(({ deviceId }) => deviceId)).size).toBe(1);
  const locales = events.map(({ row }) => `${row?.language} ${row?.timezone} ${row?.screen}`);
  expect(locales).toEqual([
    'de-AT Europe/Vienna 390x844',
    'de-AT Europe/Vienna 844x390',
    'en Europe/Vienna 390x844',
    'de-AT Asia/Tokyo 390x844',
    '  ',
    'de-AT Europe/Vienna 390x844',
  ]);
  for (const { row } of events) expect(row).toMatchObject({ browser: 'Firefox', os: 'Linux' });
});
