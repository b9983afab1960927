import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { storeShardOf, storeShardOfLane } from '../../infra/store/shard-of.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Client, type Credential } from '../cluster/client.ts';
import { Cluster } from '../cluster/cluster.ts';
import { ManageClient } from '../cluster/manage-client.ts';
import { Traffic } from '../traffic/traffic.ts';
import { admin } from './admin-command.ts';
import { untilAnswering } from './answering.ts';
import { audit, type Outage } from './audit.ts';
import { Probe } from './probe.ts';

// A service whose store has two shards. Each has its own site under load, while processors and one of the shards die, and the
// service grows.

const WAIT_MAX_MS = 120_000;
const SHARDS = 2;
const SPREAD = { storeShards: SHARDS };
/** Collectors' maximum wait for an owner, however slow this machine makes a hand-over. */
const LOOKUP_MS = 10_000;
const SETTLES_MS = LOOKUP_MS + 1_000;
const PROCESSORS = ['one', 'two'];
const PERSON = 'person-to-be-erased';

let cluster: Cluster;
let manage: ManageClient;
const client = new Client(2);
const outages: Outage[] = [];
/** A site of each shard, by the number of the shard. */
const sites: { readonly id: string; readonly write: Credential; readonly traffic: Traffic }[] = [];

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'], beside: ['query'] },
    processors: PROCESSORS,
    withStore: true,
    storeShards: SHARDS,
    env: {
      FLUSH_INTERVAL_MS: '250',
      ROLLUP_INTERVAL_MS: '500',
      MANAGE_LIMIT_PER_10_S: '0',
      QUERY_LIMIT_PER_10_S: '0',
      SESSION_LOOKUP_TIMEOUT_MS: String(LOOKUP_MS),
      PUBLISH_TIMEOUT_MS: '60000',
    },
  });
  await cluster.ready('web');
  manage = new ManageClient(cluster, 'web', client);
  for (let shard = 0; shard < SHARDS; shard += 1) {
    const { id, write } = await siteOf(shard, 'visited');
    const habits = { hosts: ['web'], persistent: true, paceMs: 40 };
    sites.push({
      id,
      write,
      traffic: new Traffic(cluster, { seed: 40 + shard, ...habits, site: { id, write } }),
    });
  }
});
afterAll(async () => {
  client.close();
  await cluster?.stop();
});

/** A new site whose rows belong to this shard. */
async function siteOf(
  shard: number,
  start: string,
): Promise<{ readonly id: string; readonly write: Credential }> {
  const names = Array.from({ length: 64 }, (_, index) => `${start}-${index}`);
  const name = must(
    names.find((one) => storeShardOf(storedId(one), SPREAD) === shard),
    'a name of the shard',
  );
  const made = await manage.ask<{ id: string; client: Credential }>('POST', 'projects', {
    name,
    domain: `https://${name}.example`,
  });
  expect(made.id).toBe(name);
  return { id: made.id, write: made.client };
}

async function goesOn(): Promise<void> {
  for (const { traffic } of sites) {
    const before = traffic.ledger.acknowledged.length;
    await waitFor('load', () => traffic.ledger.acknowledged.length > before + 60, WAIT_MAX_MS);
  }
}

function answered(lanes: number, processors: readonly string[] = PROCESSORS): Promise<void> {
  return untilAnswering(cluster, processors, lanes);
}

/** The figures of a site from its shard, or why there is no answer. */
async function askMetrics(site: string, host = 'web'): Promise<string> {
  const { root } = cluster.credentials.clients;
  // The filter makes it a question for the store; memory would answer it without one.
  const url = `${cluster.url(host)}/insights/${site}/metrics?range=7d&filters=${encodeURIComponent('[{"name":"path","operator":"isNot","value":["/none"]}]')}`;
  const answer = await client.get(url, root);
  if (answer.status !== 200) return `${answer.status} ${JSON.stringify(answer.body)}`;
  return `200 ${JSON.stringify((answer.body as { metrics: object }).metrics).slice(0, 60)}`;
}

/** The shards as readiness reports them. */
async function storesOf(): Promise<object[]> {
  const answer = await fetch(`${cluster.url('web')}/healthz/ready`);
  const { dependencies } = (await answer.json()) as { dependencies: { name: string }[] };
  return dependencies.filter(({ name }) => name === 'store');
}

/** One number of the shard of a site. */
async function countOf(site: string, query: string): Promise<number> {
  const store = cluster.openStore(site);
  const answer = await store.query({ query, format: 'JSONEachRow' });
  const [row] = await answer.json<{ count: number }>();
  await store.close();
  return Number(row?.count);
}

test('without LANES there is a lane for each shard, and each shard knows which one it is', async () => {
  await answered(SHARDS);
  for (const { id } of sites) {
    const store = cluster.openStore(id);
    const answer = await store.query({
      query: 'SELECT shard, shards FROM store_shard',
      format: 'JSONEachRow',
    });
    expect(await answer.json()).toEqual([{ shard: storeShardOf(storedId(id), SPREAD), shards: SHARDS }]);
    await store.close();
  }
  await goesOn();
});

test('while one shard does not answer, events of all sites are taken, and questions about the other sites are answered', async () => {
  const [first, second] = [must(sites[0], 'a site'), must(sites[1], 'a site')];
  await expect.poll(() => askMetrics(first.id)).toMatch(/^200/);
  await expect.poll(() => askMetrics(second.id)).toMatch(/^200/);
  const probe = new Probe({ name: 'first', everyMs: 20, ask: () => askMetrics(first.id) });
  await cluster.kill('store-2');
  const addresses = cluster.storeUrl.split(',').map((url) => new URL(url).host);
  await expect.poll(storesOf).toMatchObject([
    { address: addresses[0], up: true },
    { address: addresses[1], up: false },
  ]);
  expect(await askMetrics(second.id)).toMatch(/^503/);
  await goesOn();
  const asked = probe.observations.length;
  await waitFor('questions', () => probe.observations.length > asked + 20, WAIT_MAX_MS);
  await probe.stop();
  const saw = probe.observations.map((one) => one.saw);
  expect(saw.filter((one) => !one.startsWith('200'))).toEqual([]);
  // Lanes that cannot restore themselves without their shard are not asked about the sites of the other one.
  const fromMs = Date.now();
  for (const name of PROCESSORS) await cluster.restart(name);
  await answered(1);
  await waitFor('answers', async () => (await askMetrics(first.id)).startsWith('200'), WAIT_MAX_MS);
  for (let again = 0; again < 20; again += 1) expect(await askMetrics(first.id)).toMatch(/^200/);
  expect(await askMetrics(second.id)).toMatch(/^503/);
  await cluster.restart('store-2');
  await answered(SHARDS);
  outages.push({ fromMs, untilMs: Date.now() + SETTLES_MS });
  await waitFor('it is back', async () => (await askMetrics(second.id)).startsWith('200'), WAIT_MAX_MS);
});

test('the service grows, and a processor dies: every lane stays with its shard', async () => {
  const { stdout } = await admin(cluster, ['lane', 'grow', '4']);
  expect(stdout).toContain('has grown from 2 to 4 lanes');
  await answered(4);
  await goesOn();
  const fromMs = Date.now();
  await cluster.kill('one');
  await answered(4, ['two']);
  outages.push({ fromMs, untilMs: Date.now() + SETTLES_MS });
  await goesOn();
  await cluster.restart('one');
  await answered(4);
  await goesOn();
  for (const [shard, { id }] of sites.entries()) {
    const store = cluster.openStore(id);
    for (const table of ['events', 'sessions']) {
      const answer = await store.query({
        query: `SELECT projectId, partition FROM ${table} WHERE projectId != '' GROUP BY projectId, partition ORDER BY partition`,
        format: 'JSONEachRow',
      });
      const rows = await answer.json<{ projectId: string; partition: number }>();
      expect(new Set(rows.map(({ projectId }) => projectId))).toEqual(new Set([id]));
      const lanes = rows.map(({ partition }) => Number(partition));
      expect(lanes.length).toBeGreaterThan(1);
      expect(lanes.filter((lane) => storeShardOfLane(lane, SPREAD) !== shard)).toEqual([]);
    }
    await store.close();
  }
});

test('a person is erased in the shard of their site, and a deleted site leaves its shard', async () => {
  const track = async (write: Credential, name: string) => {
    const properties = { __deviceId: `device-of-${name}`, __path: 'https://one.example/' };
    const body = JSON.stringify({ type: 'track', payload: { name, profileId: PERSON, properties } });
    expect((await client.post(`${cluster.url('web')}/track`, write, {}, body)).status).toBe(200);
  };
  const removeFrom = async (shard: number) => {
    const [visited, deleted] = [must(sites[shard], 'a site'), await siteOf(shard, 'deleted')];
    await track(visited.write, 'to_be_erased');
    await track(deleted.write, 'to_be_deleted');
    const erased = () =>
      countOf(visited.id, "SELECT count() AS count FROM events WHERE name = 'to_be_erased'");
    const rows = () =>
      countOf(visited.id, `SELECT count() AS count FROM events WHERE projectId = '${deleted.id}'`);
    await waitFor('they are stored', async () => (await erased()) === 1 && (await rows()) > 0, WAIT_MAX_MS);
    const { id } = await manage.ask<{ id: string }>('DELETE', `projects/${visited.id}/profiles/${PERSON}`);
    await manage.ask('DELETE', `projects/${deleted.id}?now=true`);
    const receipt = `projects/${visited.id}/erasures/${id}`;
    const isErased = async () => (await manage.ask<{ status: string }>('GET', receipt)).status === 'done';
    await waitFor('the receipt', isErased, WAIT_MAX_MS);
    const isPurged = async () => {
      const { deletion } = await manage.ask<{ deletion: { status: string } }>(
        'GET',
        `projects/${deleted.id}`,
      );
      return deletion.status === 'purged';
    };
    await waitFor('the purge', isPurged, WAIT_MAX_MS);
    expect([await erased(), await rows()]).toEqual([0, 0]);
  };
  await Promise.all([...sites.keys()].map(removeFrom));
});

test('servers in another order than at the first start are refused, and answer nothing', async () => {
  const swapped = { CLICKHOUSE_URL: cluster.storeUrl.split(',').reverse().join(',') };
  const one = { CLICKHOUSE_URL: must(cluster.storeUrl.split(',')[0], 'a URL') };
  const processor = cluster.process('two');
  await processor.stop();
  const refused = async (env: Readonly<Record<string, string>>, why: string) => {
    await expect(processor.start(env)).rejects.toThrow('two ended');
    await expect.poll(() => processor.log()).toContain(why);
  };
  await refused(swapped, 'CLICKHOUSE_URL: server 1 of 2 is shard 2 of the 2 of a service');
  await refused(one, 'CLICKHOUSE_URL lists 1 server, and the store of the service on this bus has 2 shards');
  await processor.start();
  await cluster.restart('beside', swapped);
  await expect.poll(() => cluster.process('beside').log()).toContain('server 2 of 2 is shard 1 of the 2');
  for (const { id } of sites) expect(await askMetrics(id, 'beside')).toMatch(/^503/);
  await cluster.restart('beside');
  for (const { id } of sites) await expect.poll(() => askMetrics(id, 'beside')).toMatch(/^200/);
  await answered(4);
});

test('in the end everything is right in each shard', async () => {
  for (const { id, traffic } of sites) {
    const ledger = await traffic.stop();
    expect([...ledger.rejects]).toEqual([]);
    const { acknowledged, stored, differences } = await audit(cluster, ledger, 'web', outages, id);
    expect(differences).toEqual([]);
    expect(stored).toBe(acknowledged);
  }
});
