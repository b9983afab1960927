import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CONTROL_BUCKET, clientKeyOf } from '../../infra/accounts/accounts.ts';
import { Bus } from '../../infra/bus/bus.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { createLogger } from '../../infra/log.ts';
import { foundInFiles } from '../../infra/testing/found-in-files.ts';
import { ALIASES_BUCKET } from '../../ingest/entity-update.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Client, type Credential, rejectOf } from '../cluster/client.ts';
import { Cluster } from '../cluster/cluster.ts';
import { ManageClient } from '../cluster/manage-client.ts';
import { Probe } from './probe.ts';

const WAIT_MAX_MS = 60_000;
/** Longer than the documentation promises between a receipt and the last byte. */
const GONE_MAX_MS = 150_000;
const TABLES = ['events', 'sessions', 'profiles', 'erasing'];
const PERSON = 'grace.hopper@navy.example';
const NICKNAME = 'amazing-grace-1906';
/** Texts that only the person's records contain. */
const OF_PERSON = [
  PERSON,
  NICKNAME,
  'first-mail@navy.example',
  'second-mail@navy.example',
  'bug-in-relay-70',
];
/** Texts that only the records of the site to be deleted contain. */
const OF_SITE = [
  'moth-shop-page',
  'moth-property',
  'visitor-of-moths',
  'moths-origin.example',
  'moth-dashboard',
];

let cluster: Cluster;
let client: Client;
let manage: ManageClient;
let bus: Bus;
let control: KeyedBytes;
let neighbour: Probe | undefined;

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: {
      FLUSH_INTERVAL_MS: '200',
      LEASE_MS: '2000',
      QUERY_LIMIT_PER_10_S: '0',
      MANAGE_LIMIT_PER_10_S: '0',
    },
  });
  client = new Client(16);
  manage = new ManageClient(cluster, 'web', client);
  await cluster.ready('web');
  bus = await Bus.connect({ url: cluster.busUrl, name: 'test' }, createLogger('test', 'silent'));
  control = await bus.keyed(CONTROL_BUCKET);
  // Other sites continue, so no stream and no file becomes empty by itself.
  const { projectId, clients } = cluster.credentials;
  let visits = 0;
  neighbour = new Probe({
    name: 'neighbour',
    everyMs: 15,
    ask: async () => {
      visits += 1;
      await track(clients.write, 'identify', { profileId: `neighbour-${visits}`, properties: { projectId } });
      return track(clients.write, 'track', {
        name: 'screen_view',
        properties: { __deviceId: `device-${visits % 50}`, __path: 'https://neighbour.example/' },
      });
    },
  });
});

afterAll(async () => {
  await neighbour?.stop();
  await bus?.close();
  client?.close();
  await cluster?.stop();
});

async function track(by: Credential, type: string, payload: object): Promise<string> {
  const body = JSON.stringify({ type, payload });
  const answer = await client.post(`${cluster.url('web')}/track`, by, {}, body);
  if (answer.status !== 200) throw new Error(`${type}: ${rejectOf(answer)}`);
  return String(answer.status);
}

async function storeRows<Row>(query: string, parameters: Record<string, string>): Promise<Row[]> {
  const store = cluster.openStore();
  try {
    const answer = await store.query({ query, query_params: parameters, format: 'JSONEachRow' });
    return await answer.json<Row>();
  } finally {
    await store.close();
  }
}

/** Waits until the store has this many rows. */
function stored(query: string, parameters: Record<string, string>, rows: number): Promise<void> {
  return waitFor(query, async () => (await storeRows(query, parameters)).length >= rows, WAIT_MAX_MS);
}

/** The folders of the parts of a site's tables that are on the disk. */
async function partFolders(site: string): Promise<string[]> {
  const folders: string[] = [];
  for (const table of TABLES.filter((name) => name !== 'erasing')) {
    const parts = await storeRows<{ path: string }>(
      `SELECT path FROM system.parts WHERE database = currentDatabase() AND table = {table:String}
         AND name IN (SELECT DISTINCT _part FROM ${table} WHERE projectId = {site:String})`,
      { table, site },
    );
    folders.push(...parts.map(({ path }) => path));
  }
  return folders;
}

async function gone(texts: readonly (string | Uint8Array)[], folders: readonly string[] = []): Promise<void> {
  let left: string[] = [];
  await waitFor(
    'nothing left in the data folder',
    () => {
      left = [...foundInFiles(cluster.folder, texts), ...folders.filter((folder) => existsSync(folder))];
      return left.length === 0;
    },
    GONE_MAX_MS,
  ).catch(() => undefined);
  expect(left).toEqual([]);
}

async function secretHashOf({ id }: Credential): Promise<string> {
  const stored = await control.get(clientKeyOf(id));
  const { secretHash } = JSON.parse(Buffer.from(stored?.bytes ?? '{}').toString()) as { secretHash: string };
  return secretHash;
}

test('the hashes of a rotated and of a deleted client are in no file', async () => {
  const { projectId } = cluster.credentials;
  const made = await manage.ask<Credential>('POST', 'clients', {
    name: 'short-lived',
    projectId,
    type: 'read',
  });
  const first = await secretHashOf(made);
  expect(foundInFiles(cluster.folder, [first])).not.toEqual([]);
  await manage.ask('POST', `clients/${made.id}/rotate`);
  const second = await secretHashOf(made);
  expect(second).not.toBe(first);
  await gone([first]);
  expect(foundInFiles(cluster.folder, [second])).not.toEqual([]);
  await manage.ask('DELETE', `clients/${made.id}`);
  await gone([second, 'short-lived']);
});

test('an erased person is in no file, under no name', async () => {
  const { projectId, clients } = cluster.credentials;
  const by = clients.write;
  await track(by, 'identify', { profileId: PERSON, email: 'first-mail@navy.example' });
  for (const profileId of [PERSON, NICKNAME])
    await track(by, 'track', {
      name: 'screen_view',
      profileId,
      properties: { __deviceId: `of-${profileId}`, __path: 'https://n.example/', note: 'bug-in-relay-70' },
    });
  await track(by, 'identify', { profileId: PERSON, email: 'second-mail@navy.example' });
  await track(by, 'alias', { profileId: PERSON, alias: NICKNAME });
  await stored('SELECT id FROM profiles WHERE id = {person:String}', { person: PERSON }, 1);
  await stored("SELECT id FROM events WHERE properties['note'] = 'bug-in-relay-70'", {}, 2);
  const folders = await partFolders(projectId);
  expect(folders.filter((folder) => existsSync(folder)).length).toBeGreaterThan(0);
  expect(foundInFiles(cluster.folder, OF_PERSON).join()).toContain('bus/');

  const { id } = await manage.ask<{ id: string }>(
    'DELETE',
    `projects/${projectId}/profiles/${encodeURIComponent(PERSON)}`,
  );
  const receipt = `projects/${projectId}/erasures/${id}`;
  const isDone = async () => (await manage.ask<{ status: string }>('GET', receipt)).status === 'done';
  await waitFor('the receipt', isDone, WAIT_MAX_MS);
  await gone(OF_PERSON, folders);
  expect(await (await bus.keyed(ALIASES_BUCKET)).keys()).toEqual([]);
}, 300_000);

test('a site that was deleted with now=true is in no file, except for the record of its deletion', async () => {
  const site = await manage.ask<{ id: string; client: Credential }>('POST', 'projects', {
    name: 'Moths',
    cors: ['https://moths-origin.example'],
  });
  await manage.ask('PATCH', `projects/${site.id}`, {
    feed: true,
    filters: { profileIds: ['moth-dashboard'] },
  });
  await manage.ask('POST', `projects/${site.id}/dashboards`, { name: 'moth-dashboard' });
  const hash = await secretHashOf(site.client);
  for (let visit = 0; visit < 20; visit += 1) {
    const profileId = `visitor-of-moths-${visit}`;
    await track(site.client, 'identify', { profileId });
    await track(site.client, 'track', {
      name: 'screen_view',
      profileId,
      properties: {
        __deviceId: `moth-${visit}`,
        __path: 'https://moths-origin.example/moth-shop-page',
        note: 'moth-property',
      },
    });
  }
  await stored("SELECT id FROM events WHERE properties['note'] = 'moth-property'", {}, 20);
  await stored('SELECT id FROM profiles WHERE projectId = {site:String}', { site: site.id }, 20);
  const folders = await partFolders(site.id);
  expect(folders.filter((folder) => existsSync(folder)).length).toBeGreaterThan(0);
  expect(foundInFiles(cluster.folder, [...OF_SITE, hash]).length).toBeGreaterThanOrEqual(OF_SITE.length);

  await manage.ask('DELETE', `projects/${site.id}?now=true`);
  const isPurged = async () => {
    const { deletion } = await manage.ask<{ deletion: { status: string } }>('GET', `projects/${site.id}`);
    return deletion.status === 'purged';
  };
  await waitFor('the purge', isPurged, WAIT_MAX_MS);
  await gone([...OF_SITE, hash], folders);
}, 300_000);
