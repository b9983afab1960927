import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../cluster/child-process.ts';
import { Client } from '../cluster/client.ts';
import { Cluster } from '../cluster/cluster.ts';

// A processor that starts before its store, and a service that stops behind a proxy. `late-store.long.test.ts` has two processors, load and
// an audit.

const WAIT_MAX_MS = 60_000;

let cluster: Cluster;
const client = new Client(1);

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: { WORKERS: '1', FLUSH_INTERVAL_MS: '100', QUERY_LIMIT_PER_10_S: '0' },
  });
  await cluster.ready('web');
});
afterAll(async () => {
  client.close();
  await cluster?.stop();
});

async function sent(name: string): Promise<number> {
  const body = JSON.stringify({ type: 'track', payload: { name, properties: {} } });
  return (await client.post(`${cluster.url('web')}/track`, cluster.credentials.clients.write, {}, body))
    .status;
}

async function storedOf(name: string): Promise<number> {
  const url = `${cluster.url('web')}/export/events?event=${name}`;
  const { body } = await client.get(url, cluster.credentials.clients.read);
  return (body as { meta?: { totalCount?: number } }).meta?.totalCount ?? 0;
}

test('a processor that starts without its store waits and takes no part; what came counts once', async () => {
  await Promise.all(['processor', 'store'].map((name) => cluster.kill(name)));
  await cluster.restart('processor');
  const waiting = { ready: false, lanes: 0, answering: 0, standby: 0 };
  expect(await cluster.processorHealth('processor')).toEqual(waiting);
  expect(await cluster.metric('processor', 'footfall_processor_store_shards_waited_for')).toBe(1);
  expect(await sent('waits')).toBe(200);
  await cluster.restart('store');
  await waitFor('it is ready', async () => (await cluster.processorHealth('processor')).ready, WAIT_MAX_MS);
  expect(await cluster.metric('processor', 'footfall_processor_store_shards_waited_for')).toBe(0);
  await waitFor('the event', async () => (await storedOf('waits')) === 1, WAIT_MAX_MS);
});

test('a service that is stopped says so first, and takes requests until proxies have noticed', async () => {
  await cluster.restart('web', { DRAIN_WAIT_MS: '4000' });
  await cluster.ready('web');
  const url = cluster.url('web');
  const stopping = cluster.process('web').stop();
  const ready = async () => (await fetch(`${url}/healthz/ready`)).status;
  await waitFor('it is not ready', async () => (await ready()) === 503, WAIT_MAX_MS);
  expect(await sent('late')).toBe(200);
  client.close();
  await stopping;
  expect(cluster.process('web').ending).toBe('0');
  await expect(fetch(`${url}/healthz/ready`)).rejects.toThrow();
});
