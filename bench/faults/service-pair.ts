import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { SESSION_GAP_MS } from '../../ingest/event.ts';
import type { SeededRandom } from '../../ingest/testing/random.ts';
import { waitFor } from '../cluster/child-process.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { AGENTS, BUSY_SITE, type GoldenSite, GROUPS } from '../golden/fixtures.ts';
import { firstDifference, pathOf } from '../golden/inquiry.ts';
import { everyQuestion } from '../golden/questions.ts';
import { Sender } from '../golden/sender.ts';
import { busyEvents } from '../golden/side-traffic.ts';
import type { Sent } from '../golden/visits.ts';

/** Settings of processes of a pair: sent events are in the store, and rolled up, within a moment. */
export const OF_PAIR = {
  FLUSH_INTERVAL_MS: '150',
  ROLLUP_INTERVAL_MS: '200',
  LOG_LEVEL: 'warn',
  QUERY_LIMIT_PER_10_S: '0',
  MANAGE_LIMIT_PER_10_S: '0',
};
const WAIT_MAX_MS = 120_000;
/** More than sending to both services takes. */
const SENDING_MAX_MS = 30_000;
const TRIES = 2;
const SHOWN = 12;
const AT_ONCE = 4;

/** Two services that are to give the same answers: one, and another into which its backup was restored. Each has a host `web`. */
export class ServicePair {
  readonly before: Cluster;
  readonly after: Cluster;
  readonly #random: SeededRandom;
  readonly #processors: readonly string[];
  /** Enough events that each lane gets one. */
  readonly #settling: number;
  readonly #busy: readonly string[];

  constructor(
    { before, after }: { readonly before: Cluster; readonly after: Cluster },
    options: {
      readonly random: SeededRandom;
      readonly processors: readonly string[];
      readonly settling: number;
      /** Sites that are never asked about: one for each shard of the store; the busy site when absent. */
      readonly busy?: readonly string[];
    },
  ) {
    this.before = before;
    this.after = after;
    this.#random = options.random;
    this.#processors = options.processors;
    this.#settling = options.settling;
    this.#busy = options.busy ?? [BUSY_SITE.id];
  }

  get both(): readonly Cluster[] {
    return [this.before, this.after];
  }

  /** Sends in the order that is given. The restored service knows the clients of the one before. */
  async send(cluster: Cluster, sent: readonly Sent[]): Promise<void> {
    const { credentials } = this.before;
    await new Sender({ url: (name) => cluster.url(name), credentials }, ['web'], 1).send(sent);
  }

  /** Sends to both services in the same half hour, which the id of a session names: the one in which a service took its first event. */
  async sendToBoth(sent: readonly Sent[]): Promise<void> {
    const leftMs = SESSION_GAP_MS - (Date.now() % SESSION_GAP_MS);
    if (leftMs < SENDING_MAX_MS) await sleep(leftMs);
    for (const cluster of this.both) await this.send(cluster, sent);
  }

  /** Asks a service as a client of the one before. */
  async ask(cluster: Cluster, path: string, { id, secret } = this.before.credentials.clients.root) {
    const headers = { 'service-client-id': id, 'service-client-secret': secret };
    const response = await fetch(cluster.url('web') + path, { headers });
    const text = await response.text();
    return {
      status: response.status,
      // When a client was used last is no part of a backup.
      body: jsonOf(text.replace(/"lastUsedAt":(?:null|"[^"]*")/g, '"lastUsedAt":null')),
    };
  }

  /** Asks both services at the same time, and again where the clock passed to another minute between the two. */
  async expectSame(paths: readonly string[], mask: (text: string) => string = (text) => text): Promise<void> {
    const differences: string[] = [];
    const odd: string[] = [];
    await this.#settle();
    const difference = async (path: string) => {
      const [first, second] = await Promise.all(this.both.map((cluster) => this.ask(cluster, path)));
      if (first?.status !== 200) odd.push(`${path}: ${JSON.stringify(first).slice(0, 200)}`);
      const [left, right] = [first, second].map((answer) => mask(JSON.stringify(answer)));
      if (left === right) return undefined;
      return `${decodeURIComponent(path)}\n  ${firstDifference(jsonOf(left ?? ''), jsonOf(right ?? ''), '')}`;
    };
    const rest = paths.values();
    const worker = async () => {
      for (const path of rest) {
        if (differences.length > SHOWN) return;
        let found = await difference(path);
        for (let attempt = 1; found !== undefined && attempt < TRIES; attempt += 1) {
          await this.#settle();
          found = await difference(path);
        }
        if (found !== undefined) differences.push(found);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    expect(differences, `of ${paths.length}`).toEqual([]);
    expect(odd).toEqual([]);
  }

  /** Moves the clocks of all lanes to the same time, and waits until entities are stored. */
  async #settle(): Promise<void> {
    for (const cluster of this.both)
      for (const site of this.#busy) await this.send(cluster, busyEvents(this.#random, this.#settling, site));
    for (const cluster of this.both)
      await waitFor('the entities', async () => (await this.#dirtyEntities(cluster)) === 0, WAIT_MAX_MS);
    await sleep(500);
  }

  async #dirtyEntities(cluster: Cluster): Promise<number> {
    const running = this.#processors.filter((name) => cluster.process(name).running);
    const counts = await Promise.all(running.map((name) => cluster.metric(name, 'footfall_entities_dirty')));
    return counts.reduce((sum, count) => sum + count, 0);
  }
}

/** Values that each service assigns by itself: ids of rows, and the time of accepting an update. */
const GIVEN = /"id":"[0-9a-f]{32}"|"updatedAt":"[^"]*"/g;

/** An answer without the values that each service assigns by itself. */
export function withoutGiven(text: string): string {
  return text.replace(GIVEN, '"given":0');
}

/** Paths whose answers are numbers. */
export function figuresOf(sites: readonly GoldenSite[]): string[] {
  const listed = new Set(['events', 'sessions']);
  const plain = everyQuestion().filter(({ route }) => !listed.has(route));
  const ofYears = new Set([
    'metrics',
    'pages',
    'country',
    'channel',
    'funnel',
    'retention/cohort',
    'export/charts',
  ]);
  const long = plain.filter(({ route }) => ofYears.has(route));
  const more = [
    'metrics?range=12m&interval=month',
    'metrics?range=30min',
    'metrics?range=today',
    'live',
    'live?details=true',
  ];
  return sites.flatMap(({ id }) => [
    ...plain.map((question) => pathOf(id, question)),
    ...long.map((question) =>
      pathOf(id, { ...question, parameters: { ...question.parameters, range: '12m' } }),
    ),
    ...more.map((path) => `/insights/${id}/${path}`),
    ...Array.from({ length: 10 }, (_, index) => `/insights/${id}/profiles/user-${index}`),
    ...GROUPS.map((group) => `/insights/${id}/groups/${encodeURIComponent(group)}`),
    `/insights/${id}/profiles`,
    `/insights/${id}/groups`,
  ]);
}

/** Paths whose answers name events and sessions, and paths of managed records. */
export function listsOf(sites: readonly GoldenSite[]): string[] {
  return [
    ...sites.flatMap(({ id }) => [
      `/insights/${id}/events?range=12m&limit=200`,
      `/insights/${id}/sessions?range=12m&limit=200`,
      `/export/events?projectId=${id}&limit=1000&includes=properties,profile,meta,referrer,geo,device,revenue,utm,sdk`,
      `/export/events.ndjson?projectId=${id}&start=2025-01-01&end=2027-01-01`,
      `/export/events.csv?projectId=${id}&start=2025-01-01&end=2027-01-01`,
      `/insights/${id}/gsc/pages?startDate=2026-10-01&endDate=2026-11-30`,
      `/insights/${id}/gsc/queries?startDate=2026-10-01&endDate=2026-11-30`,
      `/manage/projects/${id}/goals`,
      `/manage/projects/${id}/segments`,
    ]),
    '/manage/projects',
    '/manage/clients',
  ];
}

/** Rows of the answer of a service's store. */
export async function rowsOf<Row>(cluster: Cluster, query: string): Promise<readonly Row[]> {
  const store = cluster.openStore();
  try {
    return await (await store.query({ query, format: 'JSONEachRow' })).json<Row>();
  } finally {
    await store.close();
  }
}

export async function countOf(cluster: Cluster, table: string): Promise<number> {
  const [row] = await rowsOf<{ n: number }>(cluster, `SELECT count() AS n FROM ${table}`);
  return Number(row?.n);
}

/** Tables whose names begin so. */
export async function tablesLike(cluster: Cluster, prefix: string): Promise<readonly string[]> {
  const query = `SELECT name FROM system.tables WHERE startsWith(name, '${prefix}')`;
  return (await rowsOf<{ name: string }>(cluster, query)).map(({ name }) => name);
}

/**
 * Returns what is odd about the rows of a site that got orders during a backup: events without their session, duplicates, or an
 * order without its revenue. `paid`: the number of orders.
 */
export async function oddRowsOf(
  cluster: Cluster,
  site: string,
): Promise<{ readonly paid: number; readonly odd: readonly string[] }> {
  const ofSite = `projectId = '${site}'`;
  const bought = `SELECT orderId FROM events WHERE ${ofSite} AND orderId != ''`;
  const stored = `SELECT id FROM orders WHERE ${ofSite}`;
  const one = async (query: string) => Number((await rowsOf<{ n: number }>(cluster, query))[0]?.n);
  const views = await one(`SELECT count() AS n FROM events WHERE ${ofSite} AND name = 'screen_view'`);
  const inSessions = await one(`SELECT sum(sign * screenViews) AS n FROM sessions WHERE ${ofSite}`);
  const twice = await one('SELECT count() - uniqExact(id) AS n FROM events');
  const paid = await one(`SELECT count() AS n FROM (${bought})`);
  const unequal = await one(`SELECT countIf(orderId NOT IN (${stored})) AS n FROM (${bought})`);
  const unpaid = await one(`SELECT countIf(id NOT IN (${bought})) AS n FROM (${stored})`);
  const odd = [
    ...(views > 0 && views === inSessions ? [] : [`${views} screen views, ${inSessions} in sessions`]),
    ...(twice === 0 ? [] : [`${twice} events twice`]),
    ...(unequal === 0 ? [] : [`${unequal} revenues without an order`]),
    ...(unpaid === 0 ? [] : [`${unpaid} orders without revenue`]),
  ];
  return { paid, odd };
}

/** Sends one order after the other, four at a time, and adds them to `orders`, until the returned function is called. */
export function startOrders(cluster: Cluster, site: string, orders: Sent[]): () => Promise<void> {
  let isOpen = true;
  const buyer = async () => {
    const sender = new Sender(cluster, ['web']);
    while (isOpen) {
      const properties = {
        __orderId: `busy-${orders.length}`,
        __amount: 5,
        __deviceId: `buyer-${orders.length}`,
      };
      const body = { type: 'track', projectId: site, payload: { name: 'revenue', properties } };
      const order = { part: 0, site, agent: AGENTS[0], body, isEvent: true, isPayment: true };
      orders.push(order);
      await sender.send([order]);
    }
  };
  const buyers = Array.from({ length: 4 }, buyer);
  return async () => {
    isOpen = false;
    await Promise.all(buyers);
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
