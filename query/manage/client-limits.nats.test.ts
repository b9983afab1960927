import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { clientAnswer, clientsAnswer, clientWithSecret } from './client-api.ts';
import { type ClientKey, type ManageService, startManageService } from './testing/manage-service.ts';

// The possible limits of clients: a time, areas and addresses; and the time of their last use.

const ALL = '/manage/clients';
const SITES = '/manage/projects';
const HERE = '203.0.113.7';
/** The contract: a change is in force everywhere within this time. */
const IN_FORCE_MS = 2_000;

let service: ManageService;
let root: ClientKey;
let single: ClientKey;
let secondUrl: string;

beforeAll(async () => {
  service = await startManageService(['team', 'single'], { TRUSTED_PROXIES: '127.0.0.1' });
  root = must(service.roots.team, 'the team has a root client');
  single = must(service.roots.single, 'so has this one');
  await service.makeSite(root, 'Site');
  secondUrl = await service.serve();
});
afterAll(() => service.stop());

const make = async (body: object) => {
  const sent = { body: { name: 'Limited', type: 'read', projectId: 'site', ...body } };
  return (await service.read(clientWithSecret, root, 'POST', ALL, sent)).data;
};
const change = async (id: string, body: object) =>
  (await service.read(clientAnswer, root, 'PATCH', `${ALL}/${id}`, { body })).data;
const rejected = async (key: ClientKey, method: string, path: string, body: object) => {
  const { status, json } = await service.ask(key, method, path, { body });
  return `${status} ${(json as { message?: string }).message}`;
};
const ask = (key: ClientKey, path: string, { from = HERE, baseUrl = '' } = {}) =>
  service.ask(key, 'GET', path, {
    headers: { 'x-forwarded-for': from },
    ...(baseUrl === '' ? {} : { baseUrl }),
  });
/** 503 shows that the client was authorized: no process owns a lane here. */
const askLive = (key: ClientKey, sent = {}) => ask(key, '/insights/site/live', sent);
const askSites = (key: ClientKey, sent = {}) => ask(key, SITES, sent);
const makeRoot = (limits: object) => make({ type: 'root', projectId: null, ...limits });
const exportStatus = async (key: ClientKey) => (await service.ask(key, 'GET', '/export/events')).status;
const messageOf = ({ json }: { readonly json: unknown }) => (json as { message: string }).message;
const inTime = { timeout: IN_FORCE_MS, interval: 50 };

test('limits are shown as they were given, in the list, too, and hashes are not', async () => {
  const limits = { scopes: ['export'], addresses: ['203.0.113.0/24', '2001:db8::1'] };
  const data = await make({ expiresAt: '2027-01-01T01:00:00+01:00', ...limits });
  const shown = { ...limits, expiresAt: '2027-01-01T00:00:00.000Z', lastUsedAt: null };
  expect(data).toMatchObject(shown);
  const { secret: _, ...record } = data;
  const one = await service.ask(root, 'GET', `${ALL}/${data.id}`);
  expect(one.json).toEqual({ data: record });
  expect(one.text).not.toMatch(/hmac|secret/i);
  const { data: listed } = await service.read(clientsAnswer, root, 'GET', ALL);
  expect(listed.find(({ id }) => id === data.id)).toEqual(record);
  expect(await make({})).toMatchObject({
    expiresAt: null,
    scopes: ['track', 'insights', 'export'],
    addresses: null,
  });
  expect(await change(data.id, { name: 'Renamed' })).toMatchObject({ name: 'Renamed', ...shown });
  expect(await change(data.id, { expiresAt: null, scopes: null, addresses: null })).toMatchObject({
    expiresAt: null,
    scopes: ['track', 'insights', 'export'],
    addresses: null,
  });
});

test.each([
  [{ type: 'write', scopes: ['insights'] }, 'scopes: a write client cannot have "insights", only track'],
  [{ scopes: ['track', 'manage'] }, 'scopes: a read client cannot have "manage"'],
  [{ scopes: [] }, 'scopes: '],
  [{ scopes: ['everything'] }, 'scopes.0: '],
  [{ type: 'write', addresses: ['203.0.113.1'] }, 'addresses: not allowed for a write client'],
  [{ addresses: ['203.0.113.1/33'] }, 'addresses.0: '],
  [{ addresses: [] }, 'addresses: '],
  [{ addresses: Array.from({ length: 101 }, () => '203.0.113.1') }, 'addresses: '],
  [{ expiresAt: 'tomorrow' }, 'expiresAt: '],
  [{ expiresAt: '2027-01-01' }, 'expiresAt: '],
  [{ expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt: expected a time in the future'],
])('a client cannot be created with %j', async (body, message) => {
  const sent = { name: 'Limited', type: 'read', projectId: 'site', ...body };
  expect((await rejected(root, 'POST', ALL, sent)).startsWith(`400 ${message}`)).toBe(true);
});

test('a client cannot be given what its type does not allow', async () => {
  const write = await make({ type: 'write' });
  const one = `${ALL}/${write.id}`;
  expect(await rejected(root, 'PATCH', one, { scopes: ['export'] })).toMatch(/^400 scopes: a write client/);
  expect(await rejected(root, 'PATCH', one, { addresses: ['::/0'] })).toMatch(/^400 addresses: not allowed/);
  expect((await change(write.id, { scopes: ['track', 'track'] })).scopes).toEqual(['track']);
});

test('an expired client gets 401 that says so, only with the right secret, and an extended one works again', async () => {
  const client = await makeRoot({ expiresAt: new Date(service.clock.nowMs() + 60_000).toISOString() });
  expect((await askSites(client)).status).toBe(200);
  service.clock.advance(60_000);
  const expired = await askSites(client);
  expect([expired.status, messageOf(expired)]).toEqual([
    401,
    expect.stringContaining('the client expired at 20'),
  ]);
  const wrong = await askSites({ id: client.id, secret: single.secret });
  expect([wrong.status, messageOf(wrong)]).toEqual([401, 'unknown client id or wrong secret']);
  await change(client.id, { expiresAt: null });
  expect((await askSites(client)).status).toBe(200);
  // A time in the past ends it immediately, on every server.
  await expect.poll(async () => (await askSites(client, { baseUrl: secondUrl })).status, inTime).toBe(200);
  await change(client.id, { expiresAt: '2020-01-01T00:00:00Z' });
  expect((await askSites(client)).status).toBe(401);
  await expect.poll(async () => (await askSites(client, { baseUrl: secondUrl })).status, inTime).toBe(401);
});

test('a client without a scope gets 403, on every server as soon as its record has changed', async () => {
  const client = await make({ scopes: ['insights'] });
  expect([(await askLive(client)).status, await exportStatus(client)]).toEqual([503, 403]);
  await change(client.id, { scopes: ['export'] });
  const denied = await askLive(client);
  expect([denied.status, messageOf(denied)]).toEqual([
    403,
    expect.stringContaining('its scopes lack "insights"'),
  ]);
  expect(await exportStatus(client)).not.toBe(403);
  await expect.poll(async () => (await askLive(client, { baseUrl: secondUrl })).status, inTime).toBe(403);
  const manager = await make({ type: 'root', projectId: null, scopes: ['manage'] });
  expect((await service.ask(manager, 'GET', SITES)).status).toBe(200);
  expect((await askLive(manager)).status).toBe(403);
  const reader = await make({ type: 'root', projectId: null, scopes: ['insights', 'export'] });
  expect((await service.ask(reader, 'GET', SITES)).status).toBe(403);
  expect((await askLive(reader)).status).toBe(503);
});

test('a client works only from its addresses, as the trusted proxy names them', async () => {
  const client = await makeRoot({ addresses: ['203.0.113.0/28', '2001:db8:1::/48'] });
  for (const from of [HERE, '203.0.113.15', '2001:db8:1::9', `198.51.100.1, ${HERE}`])
    expect((await askSites(client, { from })).status).toBe(200);
  for (const from of ['203.0.113.16', '2001:db8:2::9', `${HERE}, 198.51.100.1`, 'unknown']) {
    const denied = await askSites(client, { from });
    expect([denied.status, messageOf(denied)]).toEqual([
      403,
      'this client may not be used from this address',
    ]);
  }
  await change(client.id, { addresses: null });
  expect((await askSites(client, { from: '198.51.100.1' })).status).toBe(200);
  await expect
    .poll(async () => (await askSites(client, { from: '198.51.100.1', baseUrl: secondUrl })).status, inTime)
    .toBe(200);
});

test('the last root client of a team must last and manage; another one may be limited', async () => {
  const one = `${ALL}/${single.id}`;
  expect(await rejected(single, 'PATCH', one, { expiresAt: '2027-01-01T00:00:00Z' })).toMatch(
    /^400 expiresAt: /,
  );
  expect(await rejected(single, 'PATCH', one, { scopes: ['insights'] })).toMatch(/^400 scopes: /);
  const sent = { body: { name: 'Second', type: 'root', expiresAt: '2027-01-01T00:00:00Z' } };
  const { data: second } = await service.read(clientWithSecret, single, 'POST', ALL, sent);
  // A client that expires is no replacement.
  expect((await service.ask(single, 'DELETE', one)).status).toBe(400);
  expect(await rejected(single, 'PATCH', one, { scopes: ['insights'] })).toMatch(/^400 scopes: /);
  await service.read(clientAnswer, single, 'PATCH', `${ALL}/${second.id}`, { body: { expiresAt: null } });
  expect(await rejected(single, 'PATCH', one, { expiresAt: '2027-01-01T00:00:00Z' })).toMatch(/^200 /);
  expect((await service.ask(second, 'DELETE', one)).status).toBe(200);
});

test('the last use is known to every server and survives a restart', async () => {
  const client = await make({});
  const shownBy = async (baseUrl: string) =>
    clientAnswer.parse((await service.ask(root, 'GET', `${ALL}/${client.id}`, { baseUrl })).json).data
      .lastUsedAt;
  const usedAt = new Date(service.clock.nowMs()).toISOString();
  expect((await askLive(client, { baseUrl: secondUrl })).status).toBe(503);
  // The service looks every quarter of a minute.
  const patient = { interval: 500 };
  await expect.poll(() => shownBy(secondUrl), patient).toBe(usedAt);
  expect(await shownBy(await service.serve())).toBe(usedAt);
});
