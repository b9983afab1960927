import { afterEach, expect, test } from 'vitest';
import { Store } from '../../infra/store/store.ts';
import { waitFor } from '../cluster/child-process.ts';
import { type Answer, Client } from '../cluster/client.ts';
import { Cluster, DATABASE } from '../cluster/cluster.ts';
import { storedCounts } from '../cluster/stored.ts';
import { Traffic } from '../traffic/traffic.ts';
import { audit } from './audit.ts';

// Longer than every limit of the service, so that an answer that comes too late is late and not missing.
const ANSWER_MAX_MS = 90_000;
const WAIT_MAX_MS = 120_000;
const IN_MEMORY = ['live', 'metrics?range=30min', 'metrics?range=lastHour', 'metrics?range=7d&partial=true'];
const IN_STORE = ['metrics?range=7d', 'events', 'sessions', 'country?range=30min'];
/** The maximum that the store runs concurrently, on all its threads, until it ends them. */
const HEAVY_STATEMENTS = 8;
const HEAVY_MS = 10_000;
const HEAVY = 'SELECT sum(sipHash64(number)) AS heavy FROM numbers_mt(1000000000000)';

let cluster: Cluster;
let client: Client;

async function start(env: Readonly<Record<string, string>> = {}): Promise<void> {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: {
      FLUSH_INTERVAL_MS: '100',
      LEASE_MS: '2000',
      PUBLISH_TIMEOUT_MS: '1500',
      QUERY_LIMIT_PER_10_S: '0',
      ...env,
    },
  });
  await cluster.ready('web');
  client = new Client(32, ANSWER_MAX_MS);
}

afterEach(async () => {
  client?.close();
  await cluster?.stop();
});

// Questions wait for statements of their own; or, where the site's rows are held, for the two that refresh these.
test.each([
  { rows: 'in the store', held: '0', statements: IN_STORE.length },
  { rows: 'in memory', held: '600000', statements: 2 },
])(
  'a frozen store, rows $rows: memory answers first, other questions end when it is noticed, and nothing is lost',
  async ({ held, statements }) => {
    await start({ HELD_EVENTS_MAX: held });
    const traffic = new Traffic(cluster, { seed: 7, hosts: ['web'], persistent: true, paceMs: 5 });
    const store = cluster.openStore();
    const { projectId } = cluster.credentials;
    await waitFor('flushes', async () => (await storedCounts(store, projectId)).events > 300, WAIT_MAX_MS);
    await store.close();
    expect((await Promise.all([...IN_STORE, ...IN_MEMORY].map(ask))).map(({ status }) => status)).toEqual(
      [...IN_STORE, ...IN_MEMORY].map(() => 200),
    );

    await cluster.process('store').freeze();
    // Questions that need the store are asked first and answered last.
    const order: string[] = [];
    const asked = [...IN_STORE, ...IN_MEMORY].map(async (question) => {
      const answer = await ask(question);
      order.push(question);
      return answer;
    });
    const answers = await Promise.all(asked);
    const [rejected, answered] = [answers.slice(0, IN_STORE.length), answers.slice(IN_STORE.length)];
    expect(order.slice(0, IN_MEMORY.length).sort()).toEqual([...IN_MEMORY].sort());
    expect(answered.map(({ status }) => status)).toEqual(IN_MEMORY.map(() => 200));
    expect(answered.map(isPartial)).toEqual([false, false, false, true]);
    expect(rejected.map(({ status, retryAfterS }) => [status, retryAfterS])).toEqual(
      IN_STORE.map(() => [503, 1]),
    );
    expect(await endedStatements('away')).toBeGreaterThanOrEqual(statements);

    // From now on no question reaches the store.
    expect((await readiness()).status).toBe(503);
    const [sent, ended] = [await sentStatements(), await endedStatements('away')];
    for (const question of IN_STORE) expect((await ask(question)).status).toBe(503);
    for (const question of IN_MEMORY) expect((await ask(question)).status).toBe(200);
    expect([await sentStatements(), await endedStatements('away')]).toEqual([sent, ended]);
    // Collecting continues.
    const before = traffic.ledger.acknowledged.length;
    await waitFor('load', () => traffic.ledger.acknowledged.length > before + 300, WAIT_MAX_MS);

    cluster.process('store').resume();
    await cluster.ready('web');
    const ledger = await traffic.stop();
    const { acknowledged, stored, differences } = await audit(cluster, ledger, 'web');
    expect(differences).toEqual([]);
    expect(stored).toBe(acknowledged);
  },
);

test('a store that is full of slow statements is busy, and not away', async () => {
  await start();
  // A live number means that the processor has restored its state, for which it needs the store.
  await waitFor('the owner', async () => (await ask('live')).status === 200, WAIT_MAX_MS);
  const store = new Store({ url: cluster.storeUrl, database: DATABASE, requestTimeoutMs: ANSWER_MAX_MS });
  const settings = { max_execution_time: HEAVY_MS / 1_000, max_threads: 2 };
  let areRunning = true;
  const heavy = Promise.allSettled(
    Array.from({ length: HEAVY_STATEMENTS }, () => store.query(HEAVY, {}, settings)),
  ).then((ends) => {
    areRunning = false;
    return ends;
  });
  const refused: Answer[] = [];
  const asked = IN_STORE.map(ask);
  while (areRunning) {
    const answers = [await readiness(), await ask('live')];
    refused.push(...answers.filter(({ status }) => status !== 200));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const ends = await heavy;
  // They filled the store until it ended them.
  expect(ends.map((end) => end.status === 'rejected' && end.reason.code)).toEqual(ends.map(() => 159));
  expect(refused).toEqual([]);
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(IN_STORE.map(() => 200));
  expect(await endedStatements('away')).toBe(0);
  await store.close();
});

function ask(question: string): Promise<Answer> {
  const { projectId, clients } = cluster.credentials;
  return client.get(`${cluster.url('web')}/insights/${projectId}/${question}`, clients.read);
}

function isPartial({ body }: Answer): boolean {
  return typeof body === 'object' && body !== null && 'partial' in body;
}

async function readiness(): Promise<Answer> {
  return client.get(`${cluster.url('web')}/healthz/ready`, cluster.credentials.clients.read);
}

function endedStatements(why: 'away' | 'silent'): Promise<number> {
  return metric(`query_statements_ended_total{reason="${why}"}`);
}

function sentStatements(): Promise<number> {
  return metric('query_statements_total');
}

/** The sum of all lines of a metric that begin with this text. */
async function metric(start: string): Promise<number> {
  const text = await (await fetch(`${cluster.url('web')}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith(start));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
