import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Cluster } from '../cluster/cluster.ts';
import { expectedOf, type Question } from './answers.ts';
import { Asker, makeAccounts } from './asker.ts';
import { AGENTS, BUSY_SITE, SITES } from './fixtures.ts';
import { differenceOf, firstDifference, pathOf } from './inquiry.ts';
import { anyQuestion, everyQuestion } from './questions.ts';
import { type EntityBook, noteRecords, type Reading, readSites } from './reading.ts';
import { Sender } from './sender.ts';
import { busyEvents, lastMinutes, startBusySite } from './side-traffic.ts';
import { PARTS, type Sent, siteTraffic } from './visits.ts';

// Every answer about the traffic of four sites equals the figures computed only from the exported events (golden/model.ts), while
// flushes, merges and rollups continue and late events arrive. Each test sends the parts of the traffic that it builds on, so
// each can also run by itself.

const SEED = Number(process.env.GOLDEN_SEED ?? 20_261);
const HOSTS = ['a', 'b'];
const FRESHNESS_MS = 500;
const QUESTIONS = Number(process.env.GOLDEN_QUESTIONS ?? 100);
/** `GOLDEN_SHARDS=2`: over a store of two shards. */
const SHARDS = Number(process.env.GOLDEN_SHARDS ?? 1);
const STORES = SHARDS === 1 ? ['store'] : Array.from({ length: SHARDS }, (_, shard) => `store-${shard + 1}`);
const AT_ONCE = 4;
const WAIT_MAX_MS = 120_000;
/** A late hour is rolled up again once it was not marked for a while, in a later pass, which takes long on a crowded machine. */
const LATE_MAX_MS = 120_000;
const SHOWN = 6;
/** Only a number of rows that the next part of the traffic does not reach starts a flush. */
const UNFLUSHED = { FLUSH_INTERVAL_MS: '60000', FLUSH_ROWS_MAX: '2500' };
/** More than that on each lane, since each event has a session, too. */
const FLOOD = 8_000;

let cluster: Cluster;
let asker: Asker;
let sender: Sender;
const random = new SeededRandom(SEED);
const startedAtMs = Date.now();
const traffic = SITES.flatMap((site) => siteTraffic(random, site, startedAtMs));
const records: EntityBook = new Map();
let partsSent = 0;
let rollupsSeen = false;
/** Acknowledged events by site. */
const acknowledged = new Map<string, number>();

beforeAll(async () => {
  let clientIds: string[] = [];
  cluster = await Cluster.start({
    hosts: { a: ['ingest', 'query'], b: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    storeShards: SHARDS,
    env: {
      WORKERS: '2',
      FLUSH_INTERVAL_MS: '150',
      ROLLUP_INTERVAL_MS: '200',
      LEASE_MS: '2000',
      LOG_LEVEL: 'warn',
    },
    prepare: async (ground) => {
      clientIds = await makeAccounts(ground, [...SITES, BUSY_SITE]);
    },
  });
  await Promise.all(HOSTS.map((host) => cluster.ready(host)));
  asker = new Asker(cluster, HOSTS, clientIds);
  sender = new Sender(cluster, HOSTS);
});

afterAll(async () => {
  asker?.close();
  await cluster?.stop();
});

async function killStores(): Promise<void> {
  for (const store of STORES) await cluster.kill(store);
}

async function restartStores(): Promise<void> {
  for (const store of STORES) await cluster.restart(store);
}

test('while the first rollups are made', async () => {
  await sendUpTo(0);
  await expectModel(everyQuestion());
});

test('with late events in unflushed rows, and while a flush writes them', async () => {
  await sendUpTo(0);
  await restartProcessor(UNFLUSHED);
  await sendUpTo(1);
  const flushes = () => metric('footfall_processor_flushes_total');
  const before = await flushes();
  expect(await metric('footfall_processor_open_batch_rows')).toBeGreaterThan(0);
  await expectModel([], async () => {
    expect(await flushes()).toBe(before);
    await sender.send(busyEvents(random, FLOOD));
    await waitFor('the flushes', async () => (await flushes()) >= before + 4, WAIT_MAX_MS);
  });
});

test('after the store was killed and has started again', async () => {
  await sendUpTo(1);
  await restartProcessor({});
  await killStores();
  for (const store of STORES) expect(cluster.process(store).ending).toBe('SIGKILL');
  await restartStores();
  await Promise.all(HOSTS.map((host) => cluster.ready(host)));
  await sendUpTo(2);
  await expectModel([]);
});

test('without the store: the last minutes from memory, and 503 for all else', async () => {
  await sendUpTo(0);
  await killStores();
  await sendAll(lastMinutes(random));
  await freshness();
  const asked = [];
  for (const { id } of SITES) {
    for (const question of LAST_MINUTES) {
      const fromMs = Date.now();
      const { status, body } = await asker.get(pathOf(id, question));
      expect([pathOf(id, question), status]).toEqual([pathOf(id, question), 200]);
      asked.push({ site: id, question, fromMs, toMs: Date.now(), body });
    }
    await expectRejects(id);
  }
  await restartStores();
  await Promise.all(HOSTS.map((host) => cluster.ready(host)));
  for (const { id } of SITES) {
    const count = acknowledged.get(id);
    await waitFor(`${count} events`, async () => (await asker.count(id)) === count, WAIT_MAX_MS);
  }
  const sites = await readAll();
  const differences = asked.flatMap(({ site, question, fromMs, toMs, body }) => {
    const { model } = must(sites.get(site), site);
    const bodies = [fromMs, toMs]
      .map((atMs) => expectedOf(model, question, atMs))
      .map((found) => (found.kind === 'answer' ? found.body : found));
    return bodies.some((expected) => isDeepStrictEqual(expected, body))
      ? []
      : [`${pathOf(site, question)}\n  ${firstDifference(bodies[0], body, '')}`];
  });
  expect(differences, `seed ${SEED}`).toEqual([]);
});

test('with late events for hours whose rollups are made again', async () => {
  await sendUpTo(PARTS - 1);
  await expectModel([]);
  await waitFor(
    'late hours',
    async () => (await metric('footfall_processor_rollup_late_hours_total')) > 0,
    LATE_MAX_MS,
  );
});

test.each([
  ['country?filters=[{"name":"nope","operator":"is","value":["x"]}]', 'filters.0.name'],
  ['metrics?filters=[{"name":"path","operator":"like","value":["x"]}]', 'filters.0.operator'],
  ['pages?filters=[{"name":"path","operator":"is"}]', 'filters.0.value'],
  ['sessions?filters=[{"name":"path","operator":"isNull","value":["x"]}]', 'filters.0.value'],
  ['events?filters=[{"name":"revenue","operator":"contains","value":["x"]}]', 'filters.0.operator'],
  ['events/names?filters=[{"name":"createdAt","operator":"gt","value":["yesterday"]}]', 'filters.0.value.0'],
  ['active_users?filters=[{"name":"path","operator":"regex","value":["("]}]', 'filters'],
  ['traffic/geo?filters={}', 'filters'],
  ['city?filters=[', 'filters'],
  ['browser?range=8d', 'range'],
  ['os?startDate=2026-01-02', 'endDate'],
  ['os?endDate=2026-01-02', 'startDate'],
  ['os?startDate=2026-01-02&endDate=2026-01-01', 'endDate'],
  ['os?startDate=2026-02-30&endDate=2026-03-01', 'startDate'],
  ['os?range=7d&startDate=2026-01-02&endDate=2026-01-03', 'range'],
  ['device?limit=0', 'limit'],
  ['device?limit=1001', 'limit'],
  ['events?cursor=-1', 'cursor'],
  ['events?sessionId=x', 'sessionId'],
  ['metrics?interval=year', 'interval'],
  ['metrics?range=7d&interval=minute', 'interval'],
  ['active_users?days=0', 'days'],
  ['active_users?days=3&range=7d', 'days'],
  ['traffic/geo?breakdown=os', 'breakdown'],
  ['pages/entry_exit?mode=middle', 'mode'],
  ['events/property_values', 'property'],
])('%s is rejected and names %s', async (text, part) => {
  const { status, body } = await asker.get(`/insights/berlin/${encodeURI(text)}`);
  expect([status, body]).toEqual([400, expect.objectContaining({ message: expect.stringContaining(part) })]);
});

/** Restarts it as a deployment does, and waits until it answers for every lane. */
async function restartProcessor(settings: Readonly<Record<string, string>>): Promise<void> {
  await cluster.restart('processor', settings);
  await waitFor(
    'the owner',
    async () => (await fetch(`${cluster.operationsUrl('processor')}/healthz/ready`)).ok,
    WAIT_MAX_MS,
  );
}

/** Sends the parts of the traffic up to `last` that were not sent yet; late ones find rollups of the first. */
async function sendUpTo(last: number): Promise<void> {
  while (partsSent <= last) {
    await sendPart(partsSent);
    partsSent += 1;
    await waitFor(
      'a rollup',
      async () => rollupsSeen || (await metric('footfall_processor_rollup_hours_total')) > 0,
      WAIT_MAX_MS,
    );
    rollupsSeen = true;
  }
}

async function sendPart(part: number): Promise<void> {
  const sent = traffic.filter((each) => each.part === part);
  await sendAll(sent);
  await noteRecords(asker, records, sent);
  for (const { id } of SITES) {
    for (const [index, agent] of AGENTS.slice(0, 3).entries()) {
      await sender.browse(id, agent, {
        name: index === 0 ? 'click' : 'screen_view',
        properties: { __path: '/now' },
      });
      acknowledged.set(id, (acknowledged.get(id) ?? 0) + 1);
    }
  }
}

async function sendAll(sent: readonly Sent[]): Promise<void> {
  await sender.send(sent);
  for (const { site, isEvent } of sent)
    acknowledged.set(site, (acknowledged.get(site) ?? 0) + (isEvent ? 1 : 0));
}

/** The contract: an acknowledged event counts after this time. */
function freshness(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, FRESHNESS_MS));
}

/**
 * Asks these questions, and then random ones, about one site after the other. Meanwhile another site has traffic, or
 * `halfway` happens.
 */
async function expectModel(plain: readonly Question[], halfway?: () => Promise<void>): Promise<void> {
  await freshness();
  // Entities reach the store, where filters read them, without a promised time.
  await waitFor('the entities', async () => (await metric('footfall_entities_dirty')) === 0, WAIT_MAX_MS);
  const sites = await readAll();
  const endBusy = halfway === undefined ? startBusySite(sender, random) : undefined;
  const questions = Array.from({ length: QUESTIONS }, (_, index) => {
    const { id } = must(SITES[index % SITES.length], 'a site');
    const { model } = must(sites.get(id), id);
    return { id, model, question: plain[index] ?? anyQuestion(random, model, Date.now()) };
  });
  const count = questions.length;
  const differences: string[] = [];
  let happening: Promise<void> | undefined;
  const lane = async () => {
    for (let next = questions.shift(); next !== undefined; next = questions.shift()) {
      if (questions.length === Math.floor(count / 2)) happening = halfway?.();
      const difference = await differenceOf(asker, next.id, next.model, next.question);
      if (difference !== undefined) differences.push(difference);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  await Promise.all([happening, endBusy?.()]);
  expect(differences.slice(0, SHOWN), `${differences.length} of ${count}, seed ${SEED}`).toEqual([]);
}

/** Reads all sites and checks that each has every acknowledged event once. */
async function readAll(): Promise<ReadonlyMap<string, Reading>> {
  const sites = await readSites(asker, records);
  for (const [id, { sent, misplaced, misread, hashed }] of sites) {
    const isHashed = SITES.find((site) => site.id === id)?.hashChanges === true;
    expect([id, sent, misplaced, misread, hashed]).toEqual([id, acknowledged.get(id), [], [], isHashed]);
  }
  return sites;
}

const LAST_MINUTES: readonly Question[] = [
  { route: 'live', parameters: {}, filters: [] },
  { route: 'live', parameters: { details: 'true' }, filters: [] },
  { route: 'metrics', parameters: { range: '30min' }, filters: [] },
  { route: 'metrics', parameters: { range: 'lastHour' }, filters: [] },
];

async function expectRejects(site: string): Promise<void> {
  const rejected = [
    'metrics?range=7d',
    'country',
    'events',
    'sessions',
    'pages',
    'active_users',
    'events/names',
  ];
  const filtered = 'metrics?range=30min&filters=[{"name":"path","operator":"is","value":["/"]}]';
  const paths = [...rejected, filtered].map((path) => `/insights/${site}/${encodeURI(path)}`);
  const exports = ['events?', 'charts?series=[{"name":"*"}]&'].map(
    (path) => `/export/${encodeURI(path)}projectId=${site}`,
  );
  for (const path of [...paths, ...exports]) {
    expect([path, (await asker.get(path)).status]).toEqual([path, 503]);
  }
  const { status, body } = await asker.get(`/insights/${site}/metrics?range=7d&partial=true`);
  expect([status, body]).toEqual([200, expect.objectContaining({ partial: true })]);
}

function metric(name: string): Promise<number> {
  return cluster.metric('processor', name);
}
