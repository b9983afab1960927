import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, Client } from '../cluster/client.ts';
import { Cluster } from '../cluster/cluster.ts';
import { SiteOfCluster } from '../cluster/site-of-cluster.ts';

const SITE = 'demo';
const SENDERS = 3_000;
const TRIES_MAX = 50;

interface CountedBody {
  readonly metrics: { readonly total_screen_views: number; readonly unique_visitors: number };
}

let cluster: Cluster;
let site: SiteOfCluster;

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: { FLUSH_INTERVAL_MS: '100', LOG_LEVEL: 'warn' },
    // So short that a burst of this size is more than one turn takes, whatever the machine.
    envOf: { web: { REQUEST_WAIT_MAX_MS: '20' } },
  });
  await cluster.ready('web');
  site = new SiteOfCluster(cluster, 'web');
});

afterAll(() => cluster?.stop());

async function overloadRejects(): Promise<number> {
  const text = await (await fetch(`${cluster.url('web')}/metrics`)).text();
  return Number(/^ingest_rejects_total\{reason="overloaded"\} (\d+)$/m.exec(text)?.[1]);
}

test('more requests at once than can be taken: what waited too long gets 503, and every event counts once in the end', async () => {
  const client = new Client(SENDERS, 60_000);
  const url = `${cluster.url('web')}/track`;
  const send = (sender: number): Promise<Answer> => {
    const properties = { __deviceId: `device-${sender}`, __path: 'https://shop.example/' };
    const event = { type: 'track', payload: { name: 'screen_view', properties } };
    const head = { 'idempotency-key': `event-${sender}`, 'user-agent': 'overload-test/1.0' };
    return client.post(url, cluster.credentials.clients.write, head, JSON.stringify(event));
  };
  // All of them are in their sockets when the process resumes.
  await cluster.process('web').freeze();
  const first = Array.from({ length: SENDERS }, (_, sender) => send(sender));
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  cluster.process('web').resume();
  const answers = await Promise.all(first);
  const refused = answers.flatMap(({ status }, sender) => (status === 503 ? [sender] : []));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]));
  for (const sender of refused) {
    const { retryAfterS, body } = answers[sender] ?? {};
    expect([1, 2, 3, 4, 5]).toContain(retryAfterS);
    expect(body).toMatchObject({ message: expect.stringContaining('more requests than it can take') });
  }
  expect(new Set(refused.map((sender) => answers[sender]?.retryAfterS)).size).toBeGreaterThan(1);
  expect(await overloadRejects()).toBe(refused.length);

  // Not all together again, as senders that follow `Retry-After`.
  const left = [...refused];
  const sendLeft = async () => {
    for (let sender = left.pop(); sender !== undefined; sender = left.pop()) {
      let answer = await send(sender);
      for (let tries = 0; answer.status === 503 && tries < TRIES_MAX; tries += 1) answer = await send(sender);
      expect(answer.status).toBe(200);
    }
  };
  await Promise.all(Array.from({ length: 32 }, sendLeft));
  // A repeat of an accepted event counts once, too.
  const [taken = 0] = answers.flatMap(({ status }, sender) => (status === 200 ? [sender] : []));
  expect((await send(taken)).status).toBe(200);
  client.close();
  const counted = async () => {
    const { body } = await site.ask(`/insights/${SITE}/metrics?range=today`);
    const { total_screen_views: views, unique_visitors: visitors } = (body as unknown as CountedBody).metrics;
    return { views, visitors };
  };
  await expect.poll(counted).toEqual({ views: SENDERS, visitors: SENDERS });
});
