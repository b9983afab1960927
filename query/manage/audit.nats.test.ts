import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { must } from '../../infra/assert.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { type AuditEntryShown, auditAnswer } from './audit-api.ts';
import { erasureAnswer } from './erasures.ts';
import { projectAnswer } from './project-api.ts';
import { OAUTH } from './testing/fixtures.ts';
import { type ClientKey, type ManageService, startManageService } from './testing/manage-service.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;
/** The stream of the bucket that holds the entries. */
const STREAM = 'KV_audit';

let service: ManageService;
let secondUrl: string;

beforeAll(async () => {
  service = await startManageService(['one', 'names', 'denied', 'pages', 'full', 'many', 'gone', 'other']);
  secondUrl = await service.serve();
});
afterAll(() => service.stop());

function rootOf(team: string): ClientKey {
  return must(service.roots[team], 'the team has a root client');
}

async function auditOf(team: string, query = ''): Promise<AuditEntryShown[]> {
  return (await service.read(auditAnswer, rootOf(team), 'GET', `/manage/audit${query}`)).data;
}

/** Everything that the bucket stores, as text. */
async function storedText(): Promise<string> {
  const bucket = await service.bus.keyed('audit');
  const values = await Promise.all((await bucket.keys()).map((key) => bucket.get(key)));
  return values.map((value) => Buffer.from(value?.bytes ?? []).toString('utf8')).join('\n');
}

test('each change is listed with who, what, when and its result, the newest first', async () => {
  const root = rootOf('one');
  const { id: projectId } = await service.makeSite(root, 'Shop');
  await service.ask(root, 'PATCH', `/manage/projects/${projectId}`, {
    body: { timezone: 'Europe/Berlin', filters: { paths: ['/secret-path'] } },
  });
  const reader = await service.makeClient(root, { type: 'read', projectId });
  await service.ask(root, 'POST', `/manage/clients/${reader.id}/rotate`);
  await service.ask(root, 'DELETE', `/manage/clients/${reader.id}`);
  await service.ask(root, 'DELETE', `/manage/projects/${projectId}`);
  await service.ask(root, 'POST', `/manage/projects/${projectId}/restore`);
  const entries = await auditOf('one');
  const common = { actor: 'client', clientId: root.id, clientName: 'root', projectId, status: 200 };
  const none = { userId: null, userName: null, made: null, profileDigest: null, ids: {}, fields: [] };
  expect(entries.map(({ id: _id, at: _at, ...entry }) => entry)).toEqual([
    { ...common, ...none, action: 'POST /manage/projects/{projectId}/restore' },
    { ...common, ...none, action: 'DELETE /manage/projects/{projectId}' },
    { ...common, ...none, action: 'DELETE /manage/clients/{clientId}', ids: { clientId: reader.id } },
    { ...common, ...none, action: 'POST /manage/clients/{clientId}/rotate', ids: { clientId: reader.id } },
    {
      ...common,
      ...none,
      action: 'POST /manage/clients',
      made: reader.id,
      fields: ['name', 'projectId', 'type'],
    },
    {
      ...common,
      ...none,
      action: 'PATCH /manage/projects/{projectId}',
      fields: ['filters.paths', 'timezone'],
    },
    { ...common, ...none, action: 'POST /manage/projects', made: projectId, fields: ['name'] },
  ]);
  for (const { id, at } of entries) {
    expect(id).toMatch(UUID);
    expect(at).toBe(new Date(service.clock.nowMs()).toISOString());
  }
  expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length);
  // The list excludes actions of other teams, and other lists exclude this team's.
  expect(await auditOf('other')).toEqual([]);
});

test('an entry names no value, no secret, no address and no person', async () => {
  const root = rootOf('names');
  const { id: projectId } = await service.makeSite(root, 'Names');
  const body = { siteUrl: 'sc-domain:site.example', auth: OAUTH };
  await service.ask(root, 'PUT', `/manage/projects/${projectId}/gsc`, {
    body,
    headers: { 'x-forwarded-for': '203.0.113.7' },
  });
  const person = 'lovelace@example.org';
  const erasing = `/manage/projects/${projectId}/profiles/${encodeURIComponent(person)}`;
  const { data: receipt } = await service.read(erasureAnswer, root, 'DELETE', erasing);
  // An invalid id may be any text that the sender typed.
  await service.ask(root, 'DELETE', `/manage/clients/${encodeURIComponent(person)}`);
  await service.ask(root, 'DELETE', `/manage/projects/${projectId}/aliases/lovelace`);
  const [alias, unknown, erasure, connection] = await auditOf('names');
  expect(alias).toMatchObject({ projectId, status: 404, ids: {} });
  expect(unknown).toMatchObject({ action: 'DELETE /manage/clients/{clientId}', status: 404, ids: {} });
  expect(erasure).toMatchObject({
    action: 'DELETE /manage/projects/{projectId}/profiles/{profileId}',
    projectId,
    ids: {},
    made: null,
    profileDigest: receipt.profileDigest,
    status: 200,
  });
  expect(connection?.fields).toEqual([
    'auth.clientId',
    'auth.clientSecret',
    'auth.refreshToken',
    'auth.type',
    'siteUrl',
  ]);
  const text = await storedText();
  expect(text).toContain(receipt.profileDigest);
  for (const hidden of ['lovelace', 'secret-', 'sc-domain', '203.0.113.7', '127.0.0.1', 'sec_', receipt.id])
    expect(text).not.toContain(hidden);
});

test('what a client may not do is listed apart, so that it cannot push out changes', async () => {
  const root = rootOf('denied');
  const { id: projectId, write } = await service.makeSite(root, 'Denied');
  const reader = await service.makeClient(root, { type: 'read', projectId });
  for (const key of [reader, write])
    expect((await service.ask(key, 'DELETE', `/manage/projects/${projectId}`)).status).toBe(403);
  expect((await service.ask(reader, 'GET', '/manage/projects')).status).toBe(403);
  const wrong = { id: root.id, secret: reader.secret };
  expect((await service.ask(wrong, 'DELETE', `/manage/projects/${projectId}`)).status).toBe(401);
  const rejected = await auditOf('denied', '?rejected=true');
  expect(rejected).toEqual(
    [write, reader].map(({ id }) =>
      expect.objectContaining({
        action: 'DELETE /manage/projects/{projectId}',
        actor: 'client',
        clientId: id,
        projectId,
        status: 403,
      }),
    ),
  );
  // A root client that is used from elsewhere, or for more than it is for, is worth a look.
  const body = { name: 'Elsewhere', type: 'root', addresses: ['203.0.113.0/24'] };
  const away = z
    .object({ data: z.object({ id: z.uuid(), secret: z.string() }) })
    .parse((await service.ask(root, 'POST', '/manage/clients', { body })).json).data;
  expect((await service.ask(away, 'DELETE', `/manage/projects/${projectId}`)).status).toBe(403);
  expect((await auditOf('denied', '?rejected=true'))[0]).toMatchObject({
    clientId: away.id,
    clientName: 'Elsewhere',
    status: 403,
  });
  expect((await auditOf('denied')).map(({ action }) => action)).toEqual([
    'POST /manage/clients',
    'POST /manage/clients',
    'POST /manage/projects',
  ]);
  expect((await service.ask(reader, 'GET', '/manage/audit')).status).toBe(403);
});

test('a request that is wrong in itself changes nothing and is not listed; one that fails has its status', async () => {
  const root = rootOf('other');
  expect((await service.ask(root, 'POST', '/manage/projects', { body: { nome: 'x' } })).status).toBe(400);
  expect(await auditOf('other')).toEqual([]);
  const { id } = await service.makeSite(root, 'Conflict');
  expect((await service.ask(root, 'POST', `/manage/projects/${id}/restore`)).status).toBe(409);
  expect((await auditOf('other'))[0]).toMatchObject({ status: 409, projectId: id });
});

test('pages and filters', async () => {
  const root = rootOf('pages');
  const { id: first } = await service.makeSite(root, 'First');
  service.clock.advance(HOUR_MS);
  const { id: second } = await service.makeSite(root, 'Second');
  for (let change = 0; change < 7; change += 1)
    await service.ask(root, 'PATCH', `/manage/projects/${second}`, { body: { name: `Second ${change}` } });
  const all = await auditOf('pages');
  expect(all).toHaveLength(9);
  const paged: AuditEntryShown[] = [];
  for (let cursor = ''; ; ) {
    const query = `?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`;
    const { data, nextCursor } = await service.read(auditAnswer, root, 'GET', `/manage/audit${query}`);
    paged.push(...data);
    if (nextCursor === null) break;
    cursor = nextCursor;
    // A change in between shifts no page.
    await service.ask(rootOf('other'), 'POST', '/manage/projects', { body: { name: 'Between' } });
  }
  expect(paged).toEqual(all);
  expect(await auditOf('pages', `?projectId=${first}`)).toEqual(all.slice(-1));
  expect(await auditOf('pages', '?action=patch')).toEqual(all.slice(0, 7));
  expect(await auditOf('pages', `?clientId=${root.id}`)).toEqual(all);
  expect(await auditOf('pages', `?clientId=${rootOf('one').id}`)).toEqual([]);
  const hour = must(all[0], 'an entry').at;
  expect(await auditOf('pages', `?from=${hour}`)).toEqual(all.slice(0, 8));
  expect(await auditOf('pages', `?to=${hour}`)).toEqual(all.slice(8));
  for (const wrong of ['?limit=0', '?cursor=x', '?from=yesterday', '?rejected=perhaps'])
    expect((await service.ask(root, 'GET', `/manage/audit${wrong}`)).status).toBe(400);
});

test('while the log cannot be written, nothing is changed', async () => {
  const root = rootOf('full');
  const { id } = await service.makeSite(root, 'Full');
  // From now on the bucket rejects each write as full.
  await service.bus.ensureStream(STREAM, '', 1);
  const answer = await service.ask(root, 'PATCH', `/manage/projects/${id}`, { body: { name: 'Changed' } });
  expect([answer.status, answer.json]).toEqual([
    503,
    expect.objectContaining({ message: expect.stringMatching(/audit log/) }),
  ]);
  expect(answer.headers.get('retry-after')).toBe('1');
  const site = `/manage/projects/${id}`;
  expect((await service.read(projectAnswer, root, 'GET', site)).data.name).toBe('Full');
  await service.bus.ensureStream(STREAM, '', -1);
  expect((await service.ask(root, 'PATCH', site, { body: { name: 'Changed' } })).status).toBe(200);
  expect((await auditOf('full')).map(({ action, status }) => [action.slice(0, 5), status])).toEqual([
    ['PATCH', 200],
    ['POST ', 200],
  ]);
});

test('concurrent changes through two processes are all listed, each once', async () => {
  const root = rootOf('many');
  const references = z.object({ data: z.object({ id: z.uuid() }) });
  const { id: projectId } = await service.makeSite(root, 'Many');
  const made = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      service.read(references, root, 'POST', '/manage/references', {
        body: { projectId, title: `Reference ${index}`, date: '2026-03-01' },
        ...(index % 2 === 0 ? {} : { baseUrl: secondUrl }),
      }),
    ),
  );
  const listed = (await auditOf('many', '?action=references')).map((entry) => entry.made);
  expect(listed.toSorted()).toEqual(made.map(({ data }) => data.id).toSorted());
});

test('after the purge of a site its entries name nothing that is personal', async () => {
  const root = rootOf('gone');
  const { id: projectId } = await service.makeSite(root, 'Gone');
  const body = { name: 'Key of Grace Hopper', type: 'read', projectId };
  const made = await service.ask(root, 'POST', '/manage/clients', { body });
  const { data } = z.object({ data: z.object({ id: z.uuid(), secret: z.string() }) }).parse(made.json);
  await service.ask(data, 'DELETE', `/manage/projects/${projectId}`);
  const named = async () => (await auditOf('gone', '?rejected=true'))[0]?.clientName;
  expect(await named()).toBe('Key of Grace Hopper');
  await service.purge(root, projectId);
  expect(await named()).toBeNull();
  expect(await storedText()).not.toContain('Hopper');
});
