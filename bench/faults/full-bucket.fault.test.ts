import { afterAll, beforeAll, expect, test } from 'vitest';
import { CONTROL_BUCKET, encodeRecord, siteKeyOf, siteSchema } from '../../infra/accounts/accounts.ts';
import { must } from '../../infra/assert.ts';
import { Bus } from '../../infra/bus/bus.ts';
import { createLogger } from '../../infra/log.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Client } from '../cluster/client.ts';
import { Cluster, type Groundwork } from '../cluster/cluster.ts';

// The settings of three teams that have filled what a team may have. One team with more than that once took the bus down: each process
// that mirrors the control bucket got all of it again and again, and the server closed the connections that lagged.

const HOST = 'web';
const TEAMS = 3;
const SITES_OF_TEAM = 66;
const FILTERS = 1_000;
const FILTER_CHARS = 240;
const READY_MAX_MS = 60_000;
/** A process mirrors the sites more than once: for requests, for settings and for live numbers. */
const MIRRORS_MAX = 6;

let cluster: Cluster;
let records = 0;

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { [HOST]: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: { LOG_LEVEL: 'warn' },
    prepare: fill,
  });
}, 180_000);
afterAll(() => cluster?.[Symbol.asyncDispose]());

/** Adds the sites of the teams, each as large as a record may be. */
async function fill({ busUrl, credentials }: Groundwork): Promise<void> {
  const bus = await Bus.connect({ url: busUrl, name: 'fill' }, createLogger('fill', 'silent'));
  const bucket = await bus.keyed(CONTROL_BUCKET);
  const stored = must(await bucket.get(siteKeyOf(credentials.projectId)), 'the first site');
  const site = siteSchema.parse(JSON.parse(Buffer.from(stored.bytes ?? []).toString('utf8')));
  const paths = Array.from({ length: FILTERS }, (_, index) => `/${index}/`.padEnd(FILTER_CHARS, 'x'));
  const filters = { ...site.filters, paths };
  for (let place = 0; place < SITES_OF_TEAM; place += 1)
    await Promise.all(
      Array.from({ length: TEAMS }, (_, team) => {
        const id = `site-${team}-${place}`;
        const full = { ...site, id, storedId: id, teamId: `team-${team}`, filters };
        return bucket.put(siteKeyOf(id), encodeRecord(full), 0);
      }),
    );
  records = (await bucket.keys()).length;
  await bus.close();
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${cluster.url(HOST)}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length));
}

async function isTaking(): Promise<boolean> {
  const client = new Client(1);
  try {
    const body = JSON.stringify({ type: 'track', payload: { name: 'alive' } });
    const sent = await client.post(`${cluster.url(HOST)}/track`, cluster.credentials.clients.write, {}, body);
    return sent.status === 200;
  } catch {
    return false;
  } finally {
    client.close();
  }
}

async function isReady(): Promise<boolean> {
  const answer = await fetch(`${cluster.url(HOST)}/healthz/ready`).catch(() => undefined);
  return answer?.status === 200;
}

test('a process that starts beside a full bucket gets each record once for each mirror, and works', async () => {
  await cluster.restart(HOST);
  await waitFor('the process is ready', isReady, READY_MAX_MS);
  const received = await metric('footfall_bus_mirror_messages_total');
  expect(received).toBeGreaterThanOrEqual(records);
  expect(received).toBeLessThanOrEqual(MIRRORS_MAX * records);
  expect(await metric('footfall_bus_mirror_losses_total')).toBe(0);
  expect(await isTaking()).toBe(true);
});

test('after the bus died and came back the process continues behind what it has', async () => {
  const before = await metric('footfall_bus_mirror_messages_total');
  await cluster.kill('bus');
  await waitFor('the process hears of it', async () => !(await isReady()), READY_MAX_MS);
  await cluster.restart('bus');
  await waitFor('the process is ready again', isReady, READY_MAX_MS);
  // Names without their values are asked for once for each mirror, to find what was removed meanwhile.
  const names = MIRRORS_MAX * records;
  expect(await metric('footfall_bus_mirror_messages_total')).toBeLessThanOrEqual(before + names);
  await waitFor('events are taken', isTaking, READY_MAX_MS);
});
