import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { storeShardOf } from '../../infra/store/shard-of.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Client, type Credential } from '../cluster/client.ts';
import { Cluster } from '../cluster/cluster.ts';
import { ManageClient } from '../cluster/manage-client.ts';
import { untilAnswering } from './answering.ts';

// A store of two shards, of which one is killed. `store-shards.long.test.ts` adds load, growth, erasures and servers in the wrong order.

const WAIT_MAX_MS = 60_000;
const SHARDS = 2;
const VIEWS = 5;

interface ShardSite {
  readonly id: string;
  readonly client: Credential;
}

let cluster: Cluster;
const client = new Client(2);
/** A site of each shard, by the number of the shard. */
const sites: ShardSite[] = [];

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    storeShards: SHARDS,
    env: { WORKERS: '1', FLUSH_INTERVAL_MS: '100', QUERY_LIMIT_PER_10_S: '0' },
  });
  await cluster.ready('web');
  await untilAnswering(cluster, ['processor'], SHARDS);
  const manage = new ManageClient(cluster, 'web', client);
  for (let shard = 0; shard < SHARDS; shard += 1) {
    const names = Array.from({ length: 64 }, (_, index) => `site-${index}`);
    const name = must(
      names.find((one) => storeShardOf(storedId(one), { storeShards: SHARDS }) === shard),
      'a name of the shard',
    );
    sites.push(await manage.ask('POST', 'projects', { name, domain: `https://${name}.example` }));
  }
});
afterAll(async () => {
  client.close();
  await cluster?.stop();
});

async function view({ client: writer }: ShardSite): Promise<void> {
  for (let visitor = 0; visitor < VIEWS; visitor += 1) {
    const properties = { __deviceId: `visitor-${visitor}`, __path: '/' };
    const body = JSON.stringify({ type: 'track', payload: { name: 'screen_view', properties } });
    expect((await client.post(`${cluster.url('web')}/track`, writer, {}, body)).status).toBe(200);
  }
}

/** The stored views of a site, or the status of the answer. */
async function viewsOf({ id }: ShardSite): Promise<number> {
  const url = `${cluster.url('web')}/export/events?projectId=${id}&event=screen_view`;
  const { status, body } = await client.get(url, cluster.credentials.clients.root);
  return status === 200 ? ((body as { meta?: { totalCount?: number } }).meta?.totalCount ?? 0) : -status;
}

test('each shard has the rows of its sites', async () => {
  for (const site of sites) await view(site);
  for (const site of sites)
    await waitFor('the views', async () => (await viewsOf(site)) === VIEWS, WAIT_MAX_MS);
  for (const { id } of sites) {
    const store = cluster.openStore(id);
    const query = "SELECT DISTINCT projectId FROM events WHERE projectId LIKE 'site-%'";
    expect(await (await store.query({ query, format: 'JSONEachRow' })).json()).toEqual([{ projectId: id }]);
    await store.close();
  }
});

test('while one shard is down, events of all sites are taken, and questions of the others are answered', async () => {
  const [first, second] = [must(sites[0], 'a site'), must(sites[1], 'a site')];
  await cluster.kill('store-2');
  await waitFor('it is seen', async () => (await viewsOf(second)) === -503, WAIT_MAX_MS);
  for (const site of sites) await view(site);
  await waitFor('the views', async () => (await viewsOf(first)) === 2 * VIEWS, WAIT_MAX_MS);
  expect(await viewsOf(second)).toBe(-503);
  // An owner that starts again restores only the lanes whose shard answers.
  await cluster.restart('processor');
  await untilAnswering(cluster, ['processor'], 1);
  await waitFor('answers', async () => (await viewsOf(first)) === 2 * VIEWS, WAIT_MAX_MS);
  await cluster.restart('store-2');
  await untilAnswering(cluster, ['processor'], SHARDS);
  await waitFor('the views', async () => (await viewsOf(second)) === 2 * VIEWS, WAIT_MAX_MS);
});
