import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Site, siteSchema } from '../../infra/accounts/accounts.ts';
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

// A setting of the site makes the hash of an address part of its page, and the collector knows it.

let nats: NatsServer;
let bus: Bus;
let owner: TestOwner;
let collector: TestCollector;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await connectBus(nats.url);
  owner = startOwner(bus, LANES_DEFAULT);
  collector = await startCollector(nats.url);
});

afterAll(async () => {
  await collector.stop();
  owner.stop();
  await bus.close();
  await nats.stop();
});

/** Sends views of these addresses to a new site; the page of each, or the status where it was not recorded. */
async function pagesOf(id: string, fields: Partial<Site>, addresses: readonly string[]) {
  await createSite(bus, id, fields);
  const client = await createClient(bus, 'write', id);
  const settings = `${collector.url}/config/tracking?clientId=${client.id}`;
  await expect.poll(async () => (await fetch(settings)).status).toBe(200);
  const statuses: number[] = [];
  for (const [index, __path] of addresses.entries()) {
    const body = { type: 'track', payload: { name: `${id}-${index}`, properties: { __path } } };
    const answer = await fetch(`${collector.url}/track`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'service-client-id': client.id,
        'service-client-secret': client.secret,
        'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0',
      },
      body: JSON.stringify(body),
    });
    statuses.push(answer.status);
  }
  const events = await storedEvents(bus, LANES_DEFAULT);
  return addresses.map((_, index) => {
    const row = events.find((event) => event.row.name === `${id}-${index}`)?.row;
    return row === undefined ? statuses[index] : [row.origin, row.path, row.query, row.hash, row.utmSource];
  });
}

const CREATED = '2024-01-01T00:00:00.000Z';
const trackingWith = (hashChanges: boolean) => ({ ...siteSchema.parse(SITE).tracking, hashChanges });
const SITE = { id: 'x', teamId: 't', name: 'x', createdAt: CREATED, updatedAt: CREATED };
const ADDRESSES = [
  'https://app.example/#/inbox',
  'https://app.example/#/settings?tab=2&utm_source=news',
  'https://app.example/page#section',
  'https://app.example/page#',
  'app://settings/x',
];

test('with hashChanges on, the hash is part of the page', async () => {
  expect(await pagesOf('hashes', { tracking: trackingWith(true) }, ADDRESSES)).toEqual([
    ['https://app.example', '/#/inbox', '', '#/inbox', ''],
    [
      'https://app.example',
      '/#/settings',
      '?tab=2&utm_source=news',
      '#/settings?tab=2&utm_source=news',
      'news',
    ],
    ['https://app.example', '/page#section', '', '#section', ''],
    ['https://app.example', '/page', '', '', ''],
    ['app://', '/settings/x', '', '', ''],
  ]);
});

test('with hashChanges off, it names a section of the page', async () => {
  expect(await pagesOf('sections', { tracking: trackingWith(false) }, ADDRESSES)).toEqual([
    ['https://app.example', '/', '', '#/inbox', ''],
    ['https://app.example', '/', '', '#/settings?tab=2&utm_source=news', ''],
    ['https://app.example', '/page', '', '#section', ''],
    ['https://app.example', '/page', '', '#', ''],
    ['app://', '/settings/x', '', '', ''],
  ]);
});

test('a filter of paths sees the page as it is recorded', async () => {
  const filters = { addresses: [], profileIds: [], names: [], paths: ['/#/admin*'] };
  const addresses = ['https://app.example/#/admin/users', 'https://app.example/#/inbox'];
  expect(await pagesOf('filtered', { tracking: trackingWith(true), filters }, addresses)).toEqual([
    202,
    ['https://app.example', '/#/inbox', '', '#/inbox', ''],
  ]);
  expect(await pagesOf('unfiltered', { tracking: trackingWith(false), filters }, addresses)).toMatchObject([
    ['https://app.example', '/', '', '#/admin/users', ''],
    ['https://app.example', '/', '', '#/inbox', ''],
  ]);
});
