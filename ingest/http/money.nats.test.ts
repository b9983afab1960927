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

// An amount is money on an event of any name.

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0';
const ORIGIN = 'https://shop.example';

let nats: NatsServer;
let bus: Bus;
let owner: TestOwner;
let collector: TestCollector;
let strict: Awaited<ReturnType<typeof createClient>>;
let open: Awaited<ReturnType<typeof createClient>>;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await connectBus(nats.url);
  await createSite(bus, 'strict', { cors: [ORIGIN], currency: 'JPY' });
  await createSite(bus, 'open', { cors: [ORIGIN], allowUnsafeRevenue: true });
  strict = await createClient(bus, 'write', 'strict');
  open = await createClient(bus, 'write', 'open');
  owner = startOwner(bus, LANES_DEFAULT);
  collector = await startCollector(nats.url);
});

afterAll(async () => {
  await collector.stop();
  owner.stop();
  await bus.close();
  await nats.stop();
});

function send(client: { id: string }, name: string, properties: object, headers: Record<string, string>) {
  return fetch(`${collector.url}/track`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'service-client-id': client.id,
      'user-agent': BROWSER,
      ...headers,
    },
    body: JSON.stringify({ type: 'track', payload: { name, properties } }),
  });
}

async function rowOf(name: string) {
  const stored = (await storedEvents(bus, LANES_DEFAULT)).find(({ row }) => row.name === name);
  return stored?.row;
}

describe('an amount on an event of any name', () => {
  test("is stored in minor units of its currency, or else of the site's", async () => {
    const secret = { 'service-client-secret': strict.secret };
    expect((await send(strict, 'purchase', { __amount: 19.99, __currency: 'eur' }, secret)).status).toBe(200);
    expect((await send(strict, 'renewal', { __amount: 250, plan: 'pro' }, secret)).status).toBe(200);
    expect((await send(strict, 'upgrade', { __revenue: 700 }, secret)).status).toBe(200);
    expect(await rowOf('purchase')).toMatchObject({ revenue: 1999, currency: 'EUR' });
    expect(await rowOf('renewal')).toMatchObject({
      revenue: 250,
      currency: 'JPY',
      properties: ['plan', 'pro'],
    });
    expect(await rowOf('upgrade')).toMatchObject({ revenue: 700, currency: 'JPY' });
  });

  test('is rejected from a page, unless the site allows it', async () => {
    for (const money of [{ __amount: 5 }, { __revenue: 500 }, { __refund: true, __orderId: 'o' }]) {
      const answer = await send(strict, 'purchase-page', money, { origin: ORIGIN });
      expect(answer.status).toBe(401);
      expect(await answer.json()).toMatchObject({ message: expect.stringContaining('accepts revenue only') });
    }
    expect((await send(open, 'purchase-open', { __amount: 5 }, { origin: ORIGIN })).status).toBe(200);
    expect(await rowOf('purchase-page')).toBeUndefined();
    expect(await rowOf('purchase-open')).toMatchObject({ revenue: 500, currency: 'USD' });
  });

  test('that cannot be read is rejected, and names its field', async () => {
    const answer = await send(open, 'purchase-odd', { __amount: '5,00' }, { origin: ORIGIN });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      message: expect.stringContaining('payload.properties.__amount: '),
    });
  });

  test('on a view opens a session: only a payment is credited to one that has ended', async () => {
    const asked = async (name: string) => {
      const before = owner.questions.length;
      const device = { __deviceId: `d-${name}`, __amount: 5 };
      expect((await send(open, name, device, { origin: ORIGIN })).status).toBe(200);
      return owner.questions.slice(before).find(({ deviceId }) => deviceId === `d-${name}`);
    };
    expect(await asked('screen_view')).toMatchObject({ credit: false });
    expect(await asked('checkout')).toMatchObject({ credit: true });
  });
});
