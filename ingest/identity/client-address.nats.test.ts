import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Bus } from '../../infra/bus/bus.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import {
  connectBus,
  createClient,
  createSite,
  startCollector,
  type TestCollector,
} from '../testing/collector.ts';
import { startOwner, type TestOwner } from '../testing/owner.ts';

// The senders whose claims about the visitor's address count, seen by the device that a request belongs to.

const PAGE = 'https://shop.example';
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/127.0';
const ADA = '203.0.113.7';
const BOB = '198.51.100.8';
const NAMES = ['service-client-ip', 'openpanel-client-ip'] as const;

let nats: NatsServer;
let bus: Bus;
let owner: TestOwner;
let write: Awaited<ReturnType<typeof createClient>>;
const collectors: TestCollector[] = [];

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await connectBus(nats.url);
  await createSite(bus, 'shop', { cors: [PAGE] });
  write = await createClient(bus, 'write', 'shop');
  owner = startOwner(bus, 4);
});

afterAll(async () => {
  for (const collector of collectors) await collector.stop();
  owner?.stop();
  await bus?.close();
  await nats?.stop();
});

/** A collector behind a proxy that is trusted, which is this test; returns what asks it for the visitor's device. */
async function behindProxy(header?: string) {
  const env = { TRUSTED_PROXIES: '127.0.0.1', ...(header === undefined ? {} : { CLIENT_IP_HEADER: header }) };
  const collector = await startCollector(nats.url, { env });
  collectors.push(collector);
  return async (headers: Readonly<Record<string, string>>, secret = ''): Promise<string> => {
    const answer = await fetch(`${collector.url}/track/device-id`, {
      headers: {
        origin: PAGE,
        'user-agent': BROWSER,
        'service-client-id': write.id,
        ...(secret === '' ? {} : { 'service-client-secret': secret }),
        ...headers,
      },
    });
    expect(answer.status).toBe(200);
    return ((await answer.json()) as { deviceId: string }).deviceId;
  };
}

describe.each(NAMES)('%s', (name) => {
  test('without a secret changes nothing behind a trusted proxy, in any combination of headers', async () => {
    const deviceOf = await behindProxy();
    const ada = await deviceOf({ 'x-forwarded-for': ADA });
    const bob = await deviceOf({ 'x-forwarded-for': BOB });
    expect(bob).not.toBe(ada);
    expect(await deviceOf({ 'x-forwarded-for': ADA, [name]: BOB })).toBe(ada);
    expect(await deviceOf({ 'x-forwarded-for': `${BOB}, ${ADA}`, [name]: BOB })).toBe(ada);
    const others = {
      forwarded: `for=${BOB}`,
      'x-real-ip': BOB,
      'cf-connecting-ip': BOB,
      'true-client-ip': BOB,
    };
    expect(await deviceOf({ ...others, 'x-forwarded-for': ADA, [name]: BOB })).toBe(ada);
    // A secret vouches for it.
    expect(await deviceOf({ 'x-forwarded-for': ADA, [name]: BOB }, write.secret)).toBe(bob);
  });

  test('without a secret counts where it is the header of the trusted proxy, and only that one does', async () => {
    const deviceOf = await behindProxy(name);
    const [ada, bob] = [await deviceOf({ [name]: ADA }), await deviceOf({ [name]: BOB })];
    expect(bob).not.toBe(ada);
    const [other = ''] = NAMES.filter((each) => each !== name);
    expect(await deviceOf({ [name]: ADA, [other]: BOB, 'x-forwarded-for': BOB })).toBe(ada);
  });
});

test('without a secret and a trusted proxy, no header changes the address', async () => {
  const collector = await startCollector(nats.url);
  collectors.push(collector);
  const deviceOf = async (headers: Record<string, string>) => {
    const sent = { origin: PAGE, 'user-agent': BROWSER, 'service-client-id': write.id, ...headers };
    const answer = await fetch(`${collector.url}/track/device-id`, { headers: sent });
    return ((await answer.json()) as { deviceId: string }).deviceId;
  };
  const device = await deviceOf({});
  for (const name of [...NAMES, 'x-forwarded-for']) expect(await deviceOf({ [name]: ADA })).toBe(device);
});
