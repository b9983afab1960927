import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../cluster/cluster.ts';
import { eventually, SiteOfCluster } from '../cluster/site-of-cluster.ts';

const SITE = 'demo';
let cluster: Cluster;
let site: SiteOfCluster;

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: { FLUSH_INTERVAL_MS: '100', LOG_LEVEL: 'warn' },
  });
  await cluster.ready('web');
  site = new SiteOfCluster(cluster, 'web');
});

afterAll(() => cluster?.stop());

const groupOf = async (id: string, query = '') => site.ask(`/insights/${SITE}/groups/${id}${query}`);

async function send(type: string, payload: object): Promise<void> {
  expect((await site.send(type, payload)).status).toBe(200);
}

test('a group that only assignments name exists, and is filled by its own call, in either order', async () => {
  expect((await groupOf('new')).status).toBe(404);
  await send('assign_group', { profileId: 'ada', groupIds: ['new', 'other'] });
  const { status, body } = await groupOf('new');
  expect(status).toBe(200);
  expect(body).toMatchObject({ id: 'new', name: 'new', type: '', properties: {} });
  expect(Date.parse(String(body.createdAt))).toBeGreaterThan(Date.now() - 60_000);
  const described = { type: 'company', name: 'New Ltd', properties: { seats: 5 } };
  await send('group', { id: 'new', ...described });
  await send('group', { id: 'before', ...described });
  await send('assign_group', { profileId: 'ada', groupIds: ['before', 'new'] });
  const known = { type: 'company', name: 'New Ltd', properties: { seats: '5' } };
  expect((await groupOf('new')).body).toMatchObject({ id: 'new', ...known });
  expect((await groupOf('before')).body).toMatchObject({ id: 'before', ...known });
  expect((await groupOf('other')).body).toMatchObject({ id: 'other', name: 'other', type: '' });
  const batch = [{ type: 'assign_group', payload: { profileId: 'bob', groupIds: ['batched'] } }];
  expect((await site.post('/track/batch', batch, site.secret)).body).toMatchObject({ accepted: 1 });
  expect((await groupOf('batched')).body).toMatchObject({ name: 'batched' });
});

test('filters on the fields of a group see a group that only assignments name', async () => {
  await send('assign_group', { profileId: 'eve', groupIds: ['filtered'] });
  await send('track', {
    name: 'signup',
    profileId: 'eve',
    groups: ['filtered'],
    properties: { __deviceId: site.freshDevice() },
  });
  const filters = JSON.stringify([{ name: 'group.name', operator: 'is', value: ['filtered'] }]);
  const query = new URLSearchParams({ filters, event: 'signup' }).toString();
  await eventually('the event', async () => ((await site.events(query)).length === 1 ? true : undefined));
});

test('a group lists its members in pages', async () => {
  await send('identify', { profileId: 'p-1', firstName: 'Ada', email: 'ada@example.org' });
  for (const id of ['p-1', 'p-2', 'p-3', '7'])
    await send('assign_group', { profileId: id, groupIds: ['team'] });
  const empty = { firstName: '', lastName: '', email: '', avatar: '' };
  // Immediately, although the store gets assignments later.
  const { body } = await groupOf('team');
  expect(body.total).toBe(4);
  expect(body.members).toEqual([
    { ...empty, id: '7' },
    { ...empty, id: 'p-1', firstName: 'Ada', email: 'ada@example.org' },
    { ...empty, id: 'p-2' },
    { ...empty, id: 'p-3' },
  ]);
  const seen: unknown[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const url: string = `/insights/${SITE}/groups/team?limit=3${cursor && `&cursor=${cursor}`}`;
    const { id, secret } = cluster.credentials.clients.read;
    const headers = { 'service-client-id': id, 'service-client-secret': secret };
    const response: Response = await fetch(cluster.url('web') + url, { headers });
    const answer = (await response.json()) as { members: { id: string }[]; total: number };
    expect(answer.total).toBe(4);
    seen.push(...answer.members.map((member) => member.id));
    cursor = response.headers.get('x-next-cursor');
  }
  expect(seen).toEqual(['7', 'p-1', 'p-2', 'p-3']);
  expect((await groupOf('team', '?limit=2&cursor=3')).body.members).toHaveLength(1);
  expect((await groupOf('team', '?limit=0')).status).toBe(400);
  expect((await groupOf('team', '?cursor=nonsense')).status).toBe(400);
});
