import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientKeyOf } from '../../infra/accounts/accounts.ts';
import { must } from '../../infra/assert.ts';
import { encodeJson } from '../../infra/bus/mirror.ts';
import { clientAnswer, clientsAnswer, clientWithSecret } from './client-api.ts';
import { projectCreated } from './project-api.ts';
import {
  type ClientKey,
  type ManageService,
  type Sent,
  startManageService,
} from './testing/manage-service.ts';

const ALL = '/manage/clients';
const SITES = '/manage/projects';

let service: ManageService;
let root: ClientKey;
let others: ClientKey;
let secondUrl: string;

beforeAll(async () => {
  service = await startManageService(['team', 'others', 'single', 'pairs']);
  root = must(service.roots.team, 'the team has a root client');
  others = must(service.roots.others, 'so have the others');
  await service.makeSite(root, 'Site');
  await service.makeSite(others, 'Foreign');
  secondUrl = await service.serve();
});
afterAll(() => service.stop());

const one = (id: string) => `${ALL}/${id}`;
const make = (body: unknown, key = root) => service.read(clientWithSecret, key, 'POST', ALL, { body });
/** The status a client gets for listing sites: 200 for a root client, 403 for another, 401 if unknown. */
const statusOf = async (key: ClientKey, baseUrl?: string) =>
  (await service.ask(key, 'GET', SITES, baseUrl === undefined ? {} : { baseUrl })).status;

test('a new client works at once, and its secret is returned once', async () => {
  const { data } = await make({ name: ' Reader ', type: 'read', projectId: 'site' });
  const { secret, ...shown } = data;
  expect(secret).toMatch(/^sec_[0-9a-f]{40}$/);
  expect(shown).toMatchObject({
    name: 'Reader',
    type: 'read',
    projectId: 'site',
    teamId: 'team',
    createdAt: shown.updatedAt,
  });
  // No process owns a lane here, so 503 shows that the client was authorized.
  expect((await service.ask({ id: data.id, secret }, 'GET', '/insights/site/live')).status).toBe(503);
  const read = await service.ask(root, 'GET', one(data.id));
  // Its use may have been recorded meanwhile.
  const used = {
    data: { ...shown, lastUsedAt: expect.toSatisfy((at) => at === null || !Number.isNaN(Date.parse(at))) },
  };
  expect(read.json).toEqual(used);
  expect(read.text).not.toContain(secret.slice(4));
  expect((await service.ask(root, 'GET', one(data.id.toUpperCase()))).json).toEqual(used);
  expect((await make({ name: 'Default', projectId: 'site' })).data.type).toBe('write');
  const { data: second } = await make({ name: 'Root', type: 'root' });
  expect(second.projectId).toBeNull();
  expect(await statusOf(second)).toBe(200);
});

test.each([
  [{}, 'name'],
  [{ name: '', projectId: 'site' }, 'name'],
  [{ name: 'x'.repeat(101), projectId: 'site' }, 'name'],
  [{ name: 'a', type: 'admin', projectId: 'site' }, 'type'],
  [{ name: 'a' }, 'projectId'],
  [{ name: 'a', type: 'read', projectId: null }, 'projectId'],
  [{ name: 'a', type: 'root', projectId: 'site' }, 'projectId'],
  [{ name: 'a', projectId: 7 }, 'projectId'],
  [{ name: 'a', projectId: 'site', teamId: 'others' }, 'teamId'],
  [{ name: 'a', projectId: 'site', secret: 'mine' }, 'secret'],
])('a client cannot be created with %j', async (body, field) => {
  const { status, json } = await service.ask(root, 'POST', ALL, { body });
  expect(status).toBe(400);
  expect(json).toMatchObject({ message: expect.stringMatching(`^${field}: `) });
});

test('the list contains the clients of the team, or of one site, newest first', async () => {
  await service.makeSite(root, 'Listed');
  const ids: string[] = [];
  for (const name of ['first', 'second', 'third']) {
    service.clock.advance(1);
    ids.unshift((await make({ name, type: 'read', projectId: 'listed' })).data.id);
  }
  const { data: ofSite } = await service.read(clientsAnswer, root, 'GET', `${ALL}?projectId=listed`);
  expect(ofSite.map(({ name }) => name)).toEqual(['third', 'second', 'first', 'Listed write client']);
  const { data: ofTeam } = await service.read(clientsAnswer, root, 'GET', ALL);
  expect(ofTeam.slice(0, 3).map(({ id }) => id)).toEqual(ids);
  expect(new Set(ofTeam.map(({ teamId }) => teamId))).toEqual(new Set(['team']));
  expect(ofTeam.map(({ id }) => id)).toContain(root.id);
});

test('only the name of a client can be changed, and If-Match is honored', async () => {
  const { data } = await make({ name: 'Before', projectId: 'site' });
  const { etag } = await service.ask(root, 'GET', one(data.id));
  const rename = (name: string) =>
    service.ask(root, 'PATCH', one(data.id), { body: { name }, headers: { 'if-match': etag } });
  const renamed = await rename('After');
  expect(renamed.status).toBe(200);
  expect(clientAnswer.parse(renamed.json).data).toMatchObject({ id: data.id, name: 'After' });
  expect((await rename('Later')).status).toBe(412);
  const tagged = { headers: { 'if-match': etag } };
  expect((await service.ask(root, 'POST', `${one(data.id)}/rotate`, tagged)).status).toBe(412);
  expect((await service.ask(root, 'DELETE', one(data.id), tagged)).status).toBe(412);
  for (const [field, body] of [
    ['type', { type: 'root' }],
    ['projectId', { projectId: 'foreign' }],
    ['name', { name: '' }],
    ['secretHash', { secretHash: '' }],
  ] as const) {
    const rejected = await service.ask(root, 'PATCH', one(data.id), { body });
    expect(rejected.json).toMatchObject({ status: 400, message: expect.stringMatching(`^${field}: `) });
  }
  expect((await service.ask(root, 'GET', one(data.id))).etag).toBe(renamed.etag);
  // Renaming does not change the secret.
  expect(await statusOf(data)).toBe(403);
});

test('after a rotation the old secret stops working and the new one works, on every server', async () => {
  const { data: before } = await make({ name: 'Rotated', type: 'root' });
  await expect.poll(() => statusOf(before, secondUrl)).toBe(200);
  const rotate = `${one(before.id)}/rotate`;
  const { data: after } = await service.read(clientWithSecret, root, 'POST', rotate);
  expect(after).toMatchObject({ id: before.id, name: 'Rotated', type: 'root' });
  expect(after.secret).not.toBe(before.secret);
  expect([await statusOf(before), await statusOf(after)]).toEqual([401, 200]);
  await expect.poll(() => statusOf(before, secondUrl)).toBe(401);
  expect(await statusOf(after, secondUrl)).toBe(200);
});

test('a deleted client is unknown on every server', async () => {
  const { data } = await make({ name: 'Gone', type: 'root' });
  await expect.poll(() => statusOf(data, secondUrl)).toBe(200);
  const removed = await service.read(clientAnswer, root, 'DELETE', one(data.id));
  expect(removed.data).toMatchObject({ id: data.id, name: 'Gone' });
  expect(await statusOf(data)).toBe(401);
  await expect.poll(() => statusOf(data, secondUrl)).toBe(401);
  for (const [method, path, sent] of [
    ['GET', one(data.id), {}],
    ['PATCH', one(data.id), { body: { name: 'Back' } }],
    ['DELETE', one(data.id), {}],
    ['POST', `${one(data.id)}/rotate`, {}],
    ['GET', one(randomUUID()), {}],
    ['GET', one('site'), {}],
  ] as const) {
    expect((await service.ask(root, method, path, sent)).status).toBe(404);
  }
});

test.each([
  ['a field', { body: { secret: 'mine' } }, 400, 'secret: '],
  ['an array', { body: [] }, 400, 'body: '],
  ['null', { body: 'null' }, 400, 'body: '],
  ['no JSON', { body: 'now' }, 400, 'body: '],
  [
    'a form',
    { body: 'a=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    415,
    'content-type: ',
  ],
  ['a parameter', { query: '?secret=mine' }, 400, 'secret: '],
])(
  'a rotation with %s is rejected and changes nothing',
  async (_name, { query = '', ...sent }: Rotation, status, message) => {
    const { data } = await make({ name: 'Strict', type: 'root' });
    const { etag } = await service.ask(root, 'GET', one(data.id));
    const rejected = await service.ask(root, 'POST', `${one(data.id)}/rotate${query}`, sent);
    expect(rejected.json).toMatchObject({ status, message: expect.stringMatching(`^${message}`) });
    expect((await service.ask(root, 'GET', one(data.id))).etag).toBe(etag);
    expect(await statusOf(data)).toBe(200);
  },
);

interface Rotation extends Sent {
  readonly query?: string;
}

test.each([
  ['no body', {}],
  ['an empty object', { body: {} }],
  ['an empty text', { body: '' }],
])('a rotation with %s gives a new secret', async (_name, sent: Sent) => {
  const { data } = await make({ name: 'Rotated', type: 'root' });
  const path = `${one(data.id)}/rotate`;
  const { data: rotated } = await service.read(clientWithSecret, root, 'POST', path, sent);
  expect(await statusOf(data)).toBe(401);
  expect(await statusOf(rotated)).toBe(200);
});

test('the write client of a new site belongs to the team and can be deleted', async () => {
  const { data } = await service.read(projectCreated, root, 'POST', SITES, { body: { name: 'Withdrawn' } });
  expect(await statusOf(data.client)).toBe(403);
  await service.read(clientAnswer, root, 'DELETE', one(data.client.id));
  expect(await statusOf(data.client)).toBe(401);
});

describe('clients of a deleted site', () => {
  const idsIn = async (query = '') =>
    (await service.read(clientsAnswer, root, 'GET', ALL + query)).data.map(({ id }) => id);
  const insights = async (key: ClientKey, site: string) =>
    (await service.ask(key, 'GET', `/insights/${site}/live`)).status;

  test('are hidden with it, and get no answer about it', async () => {
    const { id, write } = await service.makeSite(root, 'Leaving');
    const read = await service.makeClient(root, { type: 'read', projectId: id });
    expect(await idsIn()).toEqual(expect.arrayContaining([read.id, write.id]));
    expect(await insights(read, id)).toBe(503); // No process owns a lane here.
    await service.ask(root, 'DELETE', `${SITES}/${id}`);
    for (const hidden of [read, write]) {
      expect(await idsIn()).not.toContain(hidden.id);
      for (const [method, path, sent] of [
        ['GET', one(hidden.id), {}],
        ['PATCH', one(hidden.id), { body: { name: 'Back' } }],
        ['POST', `${one(hidden.id)}/rotate`, {}],
        ['DELETE', one(hidden.id), {}],
      ] as const)
        expect((await service.ask(root, method, path, sent)).status).toBe(404);
    }
    expect(await insights(read, id)).toBe(404);
  });

  test('are unknown once it is purged, also to the next site of its id', async () => {
    const { id, write } = await service.makeSite(root, 'Purged');
    const read = await service.makeClient(root, { type: 'read', projectId: id });
    await service.purge(root, id);
    for (const gone of [read, write]) {
      expect(await idsIn()).not.toContain(gone.id);
      expect((await service.ask(root, 'GET', one(gone.id))).status).toBe(404);
      expect(await statusOf(gone)).toBe(401);
    }
    service.clock.advance(11_000); // Advances past the window of failed authentications.
    const next = await service.makeSite(root, 'Purged');
    expect(next.id).toBe(id);
    expect(await idsIn(`?projectId=${id}`)).toEqual([next.write.id]);
    expect(await insights(read, id)).toBe(401);
    expect((await service.ask(root, 'GET', one(read.id))).status).toBe(404);
  });

  test('stay if they are root clients, which belong to the team even if their record names a site', async () => {
    const { id } = await service.makeSite(root, 'Named');
    const bound = await service.makeClient(root, { type: 'root', projectId: null });
    const key = clientKeyOf(bound.id);
    const stored = must(await service.control.get(key), 'it is stored');
    const record = JSON.parse(Buffer.from(must(stored.bytes, 'not removed')).toString('utf8'));
    await service.control.put(key, encodeJson({ ...record, projectId: id }), stored.revision);
    const shown = async () => service.read(clientAnswer, bound, 'GET', one(bound.id));
    await expect
      .poll(async () => (await service.ask(bound, 'GET', one(bound.id))).etag)
      .not.toBe(`"${stored.revision}"`);
    expect((await shown()).data).toMatchObject({ type: 'root', projectId: null });
    expect(await idsIn(`?projectId=${id}`)).not.toContain(bound.id);
    await service.purge(root, id);
    expect((await shown()).data).toMatchObject({ id: bound.id });
    expect(await idsIn()).toContain(bound.id);
  });
});

test('the last root client of a team cannot be deleted', async () => {
  const single = must(service.roots.single, 'the team has a root client');
  const before = await service.ask(single, 'GET', one(single.id));
  const rejected = await service.ask(single, 'DELETE', one(single.id));
  expect(rejected.json).toMatchObject({ status: 400, message: expect.stringMatching(/^clientId: the last/) });
  // The client was never gone, not even briefly.
  expect((await service.ask(single, 'GET', one(single.id))).etag).toBe(before.etag);
  const { data: second } = await make({ name: 'Second', type: 'root' }, single);
  expect((await service.ask(single, 'DELETE', one(single.id))).status).toBe(200);
  expect(await statusOf(single)).toBe(401);
  expect((await service.ask(second, 'DELETE', one(second.id))).status).toBe(400);
});

test('one root client remains when two servers delete both at the same time', async () => {
  let supervisor = must(service.roots.pairs, 'the team has a root client');
  for (let round = 0; round < 10; round += 1) {
    service.clock.advance(11_000); // Advances past the window of failed authentications.
    const { data: second } = await make({ name: 'Second', type: 'root' }, supervisor);
    await expect.poll(() => statusOf(second, secondUrl)).toBe(200);
    const pair = [supervisor, second];
    await Promise.all([
      service.ask(supervisor, 'DELETE', one(supervisor.id)),
      service.ask(second, 'DELETE', one(second.id), { baseUrl: secondUrl }),
    ]);
    // The first server may lag behind the second one, which restored its client.
    const remaining = async () => {
      const statuses = await Promise.all(pair.map((key) => statusOf(key)));
      return pair.find((_, index) => statuses[index] === 200);
    };
    await expect.poll(remaining).toBeDefined();
    supervisor = must(await remaining(), 'a root client remains');
    const other = pair.find(({ id }) => id !== supervisor.id);
    if (other !== undefined) await service.ask(supervisor, 'DELETE', one(other.id));
  }
});
