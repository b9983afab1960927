import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { Store } from '../../infra/store/store.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Client, type Credential } from '../cluster/client.ts';
import { Cluster, DATABASE, type Groundwork } from '../cluster/cluster.ts';
import { addTeams, type RootClients } from '../cluster/teams.ts';
import { longFilters } from '../perf/neighbour.ts';
import { loadSite } from '../perf/query-site.ts';
import { SESSION_RETAIN_MS } from '../traffic/made-visits.ts';

const HOST = 'web';
const LARGE = { seed: 7, events: 100_000, clients: 1 };
/** The large site's events copied to each site of this list; the last one gets a few days only. */
const COPIES = ['sister', 'rival', 'short'];
const SHORT_DAYS = 20;

/** Below the least rate that a stream must have while others wait, and fast enough not to count as stalled. */
const BITE_BYTES = 32_768;
const BITE_EVERY_MS = 1_000;
/** Bites that a slow reader takes while the neighbour must have received everything. */
const BITES = 120;

const LONG_QUESTIONS = ['pages', 'metrics', 'active_users', 'events/names'];
const QUESTIONS_OF_SITE = 60;
const ANSWER_MAX_MS = 200_000;

let cluster: Cluster;
let roots: RootClients;
let first: string;

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { [HOST]: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: {
      LOG_LEVEL: 'warn',
      SESSION_RETAIN_MS: String(SESSION_RETAIN_MS),
      QUERY_LIMIT_PER_10_S: '0',
    },
    prepare: async (ground) => {
      first = ground.credentials.projectId;
      await loadSite(ground, LARGE, () => {});
      roots = await addTeams(ground, {
        [ground.credentials.teamId]: ['sister'],
        rivals: ['rival'],
        neighbours: ['short'],
      });
      await copySite(ground, first);
    },
  });
  await cluster.ready(HOST);
});

afterAll(() => cluster?.stop());

async function copySite({ storeUrl }: Groundwork, site: string): Promise<void> {
  const store = new Store({ url: storeUrl, database: DATABASE, requestTimeoutMs: 120_000 });
  for (const copy of COPIES)
    for (const [table, time] of [
      ['events', 'createdAt'],
      ['sessions', 'startedAt'],
    ])
      await store.command(
        `INSERT INTO ${table} SELECT * REPLACE ({copy:String} AS projectId) FROM (
           SELECT * FROM ${table} WHERE projectId = {site:String} AND ${time} > now() - INTERVAL {days:UInt16} DAY)`,
        { copy, site, days: copy === 'short' ? SHORT_DAYS : 400 },
      );
  await store.close();
}

function rootOf(team: string): Credential {
  return must(roots.get(team), `no root client of ${team}`);
}

/** Begins a stream of all events of a site; nothing is read of it yet. */
async function openStream(site: string, { id, secret }: Credential): Promise<IncomingMessage> {
  const outgoing = get(
    `${cluster.url(HOST)}/export/events.ndjson?projectId=${site}&includes=properties,meta`,
    {
      headers: { 'service-client-id': id, 'service-client-secret': secret, 'accept-encoding': 'identity' },
      agent: false,
    },
  );
  outgoing.on('error', () => {}); // A reader sees the error at `incoming`.
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  incoming.on('error', () => {});
  expect(incoming.statusCode).toBe(200);
  return incoming;
}

async function bytesOf(incoming: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of incoming as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** A reader that takes a little of a stream every second, and the rest in one go when asked to. */
class SlowReader {
  readonly #incoming: IncomingMessage;
  readonly #timer: NodeJS.Timeout;
  readonly #pieces: Buffer[] = [];
  bites = 0;

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming;
    this.#timer = setInterval(() => {
      const bite = incoming.read(Math.min(BITE_BYTES, incoming.readableLength)) as Buffer | null;
      if (bite !== null) this.#pieces.push(bite);
      this.bites += 1;
    }, BITE_EVERY_MS);
  }

  /** All bytes of the stream; rejects if it was cut. */
  async rest(): Promise<Buffer> {
    clearInterval(this.#timer);
    return Buffer.concat([...this.#pieces, await bytesOf(this.#incoming)]);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#incoming.destroy();
  }
}

async function metric(line: string): Promise<number> {
  const text = await (await fetch(`${cluster.url(HOST)}/metrics`)).text();
  const found = text.split('\n').find((candidate) => candidate.startsWith(`${line} `));
  return Number(must(found, `no metric ${line}`).slice(line.length));
}

test('three slow readers do not keep the stream of another team from beginning and ending', async () => {
  const team = cluster.credentials.teamId;
  const whole = await bytesOf(await openStream('short', rootOf('neighbours')));
  const read = [
    [first, team],
    ['sister', team],
    ['rival', 'rivals'],
  ] as const;
  const wholes: Buffer[] = [];
  const slow: SlowReader[] = [];
  for (const [site, ofTeam] of read) wholes.push(await bytesOf(await openStream(site, rootOf(ofTeam))));
  for (const [site, ofTeam] of read) slow.push(new SlowReader(await openStream(site, rootOf(ofTeam))));
  expect(Math.min(...wholes.map(({ length }) => length))).toBeGreaterThan(5 * BITES * BITE_BYTES);
  // Nothing waits, so slow readers may continue.
  await waitFor('some bites', () => slow.every(({ bites }) => bites >= 3), 20_000);
  const neighbour = openStream('short', rootOf('neighbours')).then(bytesOf);
  const bitten = waitFor(
    'many bites',
    () => slow.some(({ bites }) => bites >= BITES),
    2 * BITES * BITE_EVERY_MS,
  );
  const earlier = await Promise.race([
    neighbour.then(() => 'the whole stream of the neighbour'),
    bitten.then(() => 'many bites of a slow reader'),
  ]);
  // On failure the readers go, so that the neighbour's request ends.
  if (earlier !== 'the whole stream of the neighbour') for (const reader of slow) reader.stop();
  expect(earlier).toBe('the whole stream of the neighbour');
  expect((await neighbour).equals(whole)).toBe(true);
  // One was ended to serve the waiting one; the others continue, and miss nothing.
  expect(await metric('query_queue_ended_total{queue="streams",reason="slow"}')).toBe(1);
  const ended = await Promise.allSettled(slow.map((reader) => reader.rest()));
  expect(ended.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  for (const [index, outcome] of ended.entries())
    if (outcome.status === 'fulfilled')
      expect(outcome.value.equals(wholes[index] ?? Buffer.alloc(0))).toBe(true);
  expect(await metric('query_queue_running{queue="streams"}')).toBe(0);
});

/** A long question about a site of the first team; `index` says which. Returns the status of the answer. */
async function askLong(client: Client, site: string, index: number): Promise<number> {
  const path = LONG_QUESTIONS[index % LONG_QUESTIONS.length];
  const parameters = new URLSearchParams({ range: '12m', filters: longFilters(index) });
  const url = `${cluster.url(HOST)}/insights/${site}/${path}?${parameters}`;
  return (await client.get(url, rootOf(cluster.credentials.teamId))).status;
}

test('long questions about two sites of one team do not hold up the figures of another team', async () => {
  const client = new Client(2 * QUESTIONS_OF_SITE, ANSWER_MAX_MS);
  const answered: string[] = [];
  const long = [first, 'sister'].flatMap((site) =>
    Array.from({ length: QUESTIONS_OF_SITE }, async (_, index) => {
      const status = await askLong(client, site, index);
      answered.push(site);
      return status;
    }),
  );
  await waitFor('the first of many answers', () => answered.length > 0, 60_000);
  const neighbour = new Client(1, ANSWER_MAX_MS);
  const before = answered.length;
  const { status } = await neighbour.get(
    `${cluster.url(HOST)}/insights/short/metrics?range=7d`,
    rootOf('neighbours'),
  );
  answered.push('short');
  const statuses = await Promise.all(long);
  neighbour.close();
  client.close();
  expect(status).toBe(200);
  expect(answered).toHaveLength(2 * QUESTIONS_OF_SITE + 1);
  // A question is several statements one after the other, and each of them would have waited for all others.
  expect(answered.indexOf('short') - before).toBeLessThan((2 * QUESTIONS_OF_SITE - before) / 2);
  expect(statuses.filter((found) => found !== 200 && found !== 503)).toEqual([]);
  // The two sites take turns.
  const half = answered.filter((site) => site !== 'short').slice(0, QUESTIONS_OF_SITE);
  expect(half.filter((site) => site === first).length).toBeGreaterThan(QUESTIONS_OF_SITE / 4);
  expect(half.filter((site) => site === 'sister').length).toBeGreaterThan(QUESTIONS_OF_SITE / 4);
});

test('questions of clients that have gone leave the queue and the store', async () => {
  const client = new Client(QUESTIONS_OF_SITE, ANSWER_MAX_MS);
  const long = Array.from({ length: QUESTIONS_OF_SITE }, (_, index) => askLong(client, first, index));
  const outcomes = Promise.allSettled(long);
  await waitFor(
    'a queue',
    async () => (await metric('query_queue_waiting{queue="statements"}')) > QUESTIONS_OF_SITE / 2,
    60_000,
  );
  const done = await metric('query_queue_ended_total{queue="statements",reason="done"}');
  client.close();
  const failed = (await outcomes).filter(({ status }) => status === 'rejected').length;
  expect(failed).toBeGreaterThan(QUESTIONS_OF_SITE / 2);
  await waitFor(
    'an empty queue',
    async () => (await metric('query_queue_waiting{queue="statements"}')) === 0,
    60_000,
  );
  await waitFor(
    'an idle store',
    async () => (await metric('query_queue_running{queue="statements"}')) === 0,
    60_000,
  );
  // No waiting one ran. A few may have ended in the moment when their clients went.
  expect(await metric('query_queue_ended_total{queue="statements",reason="done"}')).toBeLessThan(
    done + failed / 2,
  );
  expect(await metric('query_queue_ended_total{queue="statements",reason="left"}')).toBeGreaterThan(
    failed / 2,
  );
});
