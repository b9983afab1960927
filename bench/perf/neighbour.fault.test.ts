import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Client } from '../cluster/client.ts';
import { Cluster } from '../cluster/cluster.ts';
import { addTeams, type RootClients } from '../cluster/teams.ts';
import { SESSION_RETAIN_MS } from '../traffic/made-visits.ts';
import { addNeighbour, LongQuestions, longFilters, NEIGHBOUR } from './neighbour.ts';
import { loadSite } from './query-site.ts';

const HOST = 'web';
const SITE = { seed: 7, events: 100_000, clients: 40 };
/** Another team, and its site. */
const OTHER = 'other';
const QUESTIONS = 8;
/** Number of statements that may run concurrently, over all sites (query/snapshot/history.ts); a hundred may wait. */
const RUNNING_MAX = 8;

let cluster: Cluster;
let roots: RootClients;

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { [HOST]: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: { LOG_LEVEL: 'warn', SESSION_RETAIN_MS: String(SESSION_RETAIN_MS) },
    prepare: async (ground) => {
      await loadSite(ground, SITE, () => {});
      await addNeighbour(ground);
      roots = await addTeams(ground, { [OTHER]: [OTHER] });
    },
  });
  await cluster.ready(HOST);
});

afterAll(() => cluster?.stop());

test('long questions about one site do not hold up the live number and the figures of another', async () => {
  const long = new LongQuestions(cluster, HOST);
  const client = new Client(2);
  const { root } = cluster.credentials.clients;
  const ask = (path: string) => client.get(`${cluster.url(HOST)}/insights/${NEIGHBOUR}/${path}`, root);
  // More wait than may: from here on the queue is always full.
  await waitFor('some to be rejected', () => long.count(503) > 0 && long.count(200) > 0, 60_000);
  const passed: number[] = [];
  for (let count = 0; count < QUESTIONS; count += 1) {
    const before = long.count(200);
    expect((await ask('live')).status).toBe(200);
    expect((await ask('metrics?range=7d')).status).toBe(200);
    expect((await ask('country?range=30d')).status).toBe(200);
    passed.push(long.count(200) - before);
  }
  const rejectedMeanwhile = long.count(503);
  await long.stop();
  client.close();
  // Each takes four statements in a row, during which running ones may end; no question waited for the whole queue.
  expect(Math.max(...passed)).toBeLessThan(RUNNING_MAX * 5);
  expect(rejectedMeanwhile).toBeGreaterThan(QUESTIONS);
  expect(long.statuses).toEqual([200, 503]);
});

test('nor do they hold up what the store has to answer for another team', async () => {
  const long = new LongQuestions(cluster, HOST);
  const client = new Client(1);
  const root = must(roots.get(OTHER), 'no root client');
  await waitFor('some to be rejected', () => long.count(503) > 0 && long.count(200) > 0, 60_000);
  const passed: number[] = [];
  for (let count = 0; count < QUESTIONS; count += 1) {
    const before = long.count(200);
    // Memory knows no expressions.
    const parameters = new URLSearchParams({ range: '30d', filters: longFilters(1_000_000 + count) });
    const { status } = await client.get(`${cluster.url(HOST)}/insights/${OTHER}/pages?${parameters}`, root);
    expect(status).toBe(200);
    passed.push(long.count(200) - before);
  }
  await long.stop();
  client.close();
  expect(Math.max(...passed)).toBeLessThan(RUNNING_MAX * 2);
});
