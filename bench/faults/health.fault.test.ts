import { expect, test } from 'vitest';
import { waitFor } from '../cluster/child-process.ts';
import { Client } from '../cluster/client.ts';
import { Cluster } from '../cluster/cluster.ts';

const DOWN_MAX_MS = 120_000;

test('the readiness probe names the address, the setting and the services of what is down, and no password', async () => {
  await using cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: {},
  });
  const [bus, store] = [new URL(cluster.busUrl), new URL(cluster.storeUrl)];
  // This bus asks for no login and takes any.
  await cluster.restart('web', { NATS_URL: `nats://footfall:hidden-password@${bus.host}` });
  await cluster.ready('web');
  const readiness = async (url: string) => {
    const response = await fetch(`${url}/healthz/ready`);
    const text = await response.text();
    for (const secret of ['hidden-password', store.password]) expect(text).not.toContain(secret);
    return { status: response.status, body: JSON.parse(text) };
  };
  const busOf = (up: boolean, neededBy: readonly string[]) => ({
    name: 'bus',
    address: bus.host,
    setting: 'NATS_URL',
    neededBy,
    up,
    since: expect.stringMatching(/^\d{4}-.*Z$/),
  });
  const storeOf = (up: boolean) => ({
    name: 'store',
    address: store.host,
    setting: 'CLICKHOUSE_URL',
    neededBy: ['query'],
    up,
    since: expect.any(String),
  });
  const both = ['ingest', 'query'];
  const before = await readiness(cluster.url('web'));
  expect(before).toMatchObject({
    status: 200,
    body: { mirrorsBehind: 0, dependencies: [busOf(true, both), storeOf(true)] },
  });
  const processor = cluster.operationsUrl('processor');
  expect((await readiness(processor)).body.dependencies).toEqual([busOf(true, ['processor'])]);

  await cluster.kill('store');
  // An event accepted now waits in the bus.
  const body = JSON.stringify({ type: 'track', payload: { name: 'waits', properties: {} } });
  const client = new Client(1);
  const sent = await client.post(`${cluster.url('web')}/track`, cluster.credentials.clients.write, {}, body);
  expect(sent.status).toBe(200);
  client.close();
  const backlog = async () => (await readiness(cluster.url('web'))).body.backlog;
  await waitFor('the event is seen to wait', async () => (await backlog())?.messages > 0, DOWN_MAX_MS);
  expect(await backlog()).toEqual({ messages: expect.any(Number), usedShare: expect.any(Number) });
  await cluster.kill('bus');
  const downs = async (url: string) =>
    (await readiness(url)).body.dependencies.filter(({ up }: { up: boolean }) => !up).length;
  await waitFor('bus and store are down', async () => (await downs(cluster.url('web'))) === 2, DOWN_MAX_MS);
  await waitFor('the bus is down', async () => (await downs(processor)) === 1, DOWN_MAX_MS);
  const after = await readiness(cluster.url('web'));
  expect(after).toMatchObject({
    status: 503,
    body: { status: 'not ready', dependencies: [busOf(false, both), storeOf(false)] },
  });
  expect(Date.parse(after.body.dependencies[0].since)).toBeGreaterThan(
    Date.parse(before.body.dependencies[0].since),
  );
  expect((await readiness(processor)).body.dependencies).toEqual([busOf(false, ['processor'])]);
  // Every copy of settings may lack a change until the bus is back and the changes have been read.
  expect(after.body.mirrorsBehind).toBeGreaterThan(5);
  expect((await readiness(processor)).body.mirrorsBehind).toBeGreaterThan(3);
  // Without a bus, the processes would take their time to drain.
  await cluster.restart('bus');
  await cluster.restart('store');
  for (const url of [cluster.url('web'), processor])
    await waitFor(
      'nothing is behind',
      async () => (await readiness(url)).body.mirrorsBehind === 0,
      DOWN_MAX_MS,
    );
});
