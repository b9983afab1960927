import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { must } from '../../../infra/assert.ts';
import { encodeJson } from '../../../infra/bus/mirror.ts';
import { unseal } from '../../../infra/sealed.ts';
import { integrationKeyOf } from '../../../processor/integration.ts';
import { problemOf } from '../admin/record-kinds.ts';
import { BUCKET } from '../testing/fixtures.ts';
import {
  type ClientKey,
  type ManageService,
  SECRETS_KEY,
  startManageService,
} from '../testing/manage-service.ts';
import { integrationAnswer, integrationsAnswer } from './integration-api.ts';

const ALL = '/manage/integrations';
/** No response or log line may contain any of these. */
const SECRETS = [BUCKET.secretAccessKey, 'secret-of-later'];
const STARTING = {
  state: 'starting',
  failure: null,
  lagSeconds: null,
  deliveredUntil: null,
  committedAt: null,
  sequence: 0,
  files: 0,
  rows: 0,
  bytes: 0,
  backfills: [],
};

const logged: string[] = [];
let service: ManageService;
let root: ClientKey;

beforeAll(async () => {
  const log = pino({ level: 'trace' }, { write: (line) => logged.push(line) });
  service = await startManageService(['team', 'full'], {}, log);
  root = must(service.roots.team, 'the team has a root client');
  await service.makeSite(root, 'Site');
});
afterAll(() => service.stop());

/** Creates an integration of a site of its own. */
async function make(body: object = {}) {
  const { id: projectId } = await service.makeSite(root, 'Shop');
  const sent = { body: { projectId, ...BUCKET, ...body } };
  return (await service.read(integrationAnswer, root, 'POST', ALL, sent)).data;
}

const patch = (id: string, body: unknown, headers = {}) =>
  service.ask(root, 'PATCH', `${ALL}/${id}`, { body, headers });

/** The stored text of an integration. */
async function storedText(id: string): Promise<string> {
  const stored = await service.control.get(integrationKeyOf(id));
  return Buffer.from(must(stored?.bytes, 'it is stored')).toString('utf8');
}

const reject = (field: string) => [
  400,
  expect.objectContaining({ message: expect.stringMatching(`^${field}: `) }),
];

test('an integration is returned without its secret, which is stored sealed', async () => {
  const { type, bucket, accessKeyId, secretAccessKey } = BUCKET;
  const { status, json, etag } = await service.ask(root, 'POST', ALL, {
    body: { projectId: 'site', type, bucket, accessKeyId, secretAccessKey },
  });
  expect(status).toBe(200);
  const { id, createdAt } = integrationAnswer.parse(json).data;
  const shown = {
    id,
    teamId: 'team',
    projectId: 'site',
    name: bucket,
    type,
    bucket,
    prefix: '',
    region: 'us-east-1',
    endpoint: null,
    pathStyle: false,
    accessKeyId,
    format: 'parquet',
    paused: false,
    createdAt,
    updatedAt: createdAt,
  };
  expect(json).toEqual({ data: { ...shown, status: STARTING } });
  const read = await service.ask(root, 'GET', `${ALL}/${id}`);
  expect([read.json, read.etag]).toEqual([json, etag]);

  const text = await storedText(id);
  const { sealed, ...record } = JSON.parse(text);
  expect(record).toEqual({ ...shown, storedId: 'site', backfills: [] });
  for (const secret of SECRETS) {
    expect(text).not.toContain(secret);
    expect(Buffer.from(sealed, 'base64').toString('latin1')).not.toContain(secret);
  }
  expect(unseal(SECRETS_KEY, `integration.${id}`, sealed)).toBe(secretAccessKey);
  // A backup contains this same text.
  const key = integrationKeyOf(id);
  expect(problemOf({ bucket: 'control', key, bytes: Buffer.from(text) })).toBeUndefined();
  expect(problemOf({ bucket: 'control', key: `${key}0`, bytes: Buffer.from(text) })).toBeDefined();
});

test.each([
  [{ endpoint: null }, { endpoint: null, pathStyle: false }],
  [{ endpoint: 'HTTPS://Storage.Example:443/' }, { endpoint: 'https://storage.example', pathStyle: true }],
  [{ endpoint: 'http://[::1]:9000' }, { endpoint: 'http://[::1]:9000', pathStyle: true }],
  [{ endpoint: null, bucket: 'events.shop.example' }, { pathStyle: true }],
  [{ endpoint: null, bucket: 'events.shop.example', pathStyle: false }, { pathStyle: false }],
  [{ endpoint: null, pathStyle: true }, { pathStyle: true }],
  [{ name: ' Warehouse ' }, { name: 'Warehouse', bucket: BUCKET.bucket }],
  [
    { bucket: 'abc', prefix: '' },
    { bucket: 'abc', name: 'abc', prefix: '' },
  ],
  [{ prefix: 'raw/ Größe …/x' }, { prefix: 'raw/ Größe …/x' }],
  [{ prefix: 'é'.repeat(256) }, { prefix: 'é'.repeat(256) }],
  [
    { format: 'ndjson_gzip', region: 'eu-central-1' },
    { format: 'ndjson_gzip', region: 'eu-central-1' },
  ],
])('%j creates %j', async (body, shown) => {
  expect(await make(body)).toMatchObject(shown);
});

test.each([
  [{ projectId: undefined }, 'projectId'],
  [{ name: ' ' }, 'name'],
  [{ name: 'x'.repeat(101) }, 'name'],
  [{ type: undefined }, 'type'],
  [{ type: 'gcs' }, 'type'],
  [{ bucket: undefined }, 'bucket'],
  [{ bucket: 'ab' }, 'bucket'],
  [{ bucket: 'x'.repeat(64) }, 'bucket'],
  [{ bucket: 'Events' }, 'bucket'],
  [{ bucket: 'shop_events' }, 'bucket'],
  [{ bucket: 'shop..events' }, 'bucket'],
  [{ bucket: '-events' }, 'bucket'],
  [{ bucket: 'events.' }, 'bucket'],
  [{ bucket: 'shop/events' }, 'bucket'],
  [{ bucket: '192.0.2.1' }, 'bucket'],
  [{ prefix: '/raw' }, 'prefix'],
  [{ prefix: 'raw/' }, 'prefix'],
  [{ prefix: 'raw//events' }, 'prefix'],
  [{ prefix: 'raw/../events' }, 'prefix'],
  [{ prefix: './events' }, 'prefix'],
  [{ prefix: 'raw\nevents' }, 'prefix'],
  [{ prefix: 'raw\u007fevents' }, 'prefix'],
  [{ prefix: '\ud800' }, 'prefix'],
  [{ prefix: 'é'.repeat(257) }, 'prefix'],
  [{ region: '' }, 'region'],
  [{ region: 'EU' }, 'region'],
  [{ region: 'eu.evil.example/' }, 'region'],
  [{ region: 'x'.repeat(33) }, 'region'],
  [{ endpoint: 'storage.example' }, 'endpoint'],
  [{ endpoint: 'ftp://storage.example' }, 'endpoint'],
  [{ endpoint: 'https://storage.example/base' }, 'endpoint'],
  [{ endpoint: 'https://storage.example?a' }, 'endpoint'],
  [{ endpoint: 'https://storage.example#a' }, 'endpoint'],
  [{ endpoint: 'https://somebody:secret-of-later@storage.example' }, 'endpoint'],
  [{ endpoint: 'https://storage.example\\a' }, 'endpoint'],
  [{ endpoint: 'https://storage.example:99999' }, 'endpoint'],
  [{ endpoint: `https://${'x'.repeat(300)}.example` }, 'endpoint'],
  [{ pathStyle: 'true' }, 'pathStyle'],
  [{ accessKeyId: undefined }, 'accessKeyId'],
  [{ accessKeyId: '' }, 'accessKeyId'],
  [{ accessKeyId: 'a/b' }, 'accessKeyId'],
  [{ accessKeyId: 'a b' }, 'accessKeyId'],
  [{ accessKeyId: 'x'.repeat(129) }, 'accessKeyId'],
  [{ secretAccessKey: undefined }, 'secretAccessKey'],
  [{ secretAccessKey: '' }, 'secretAccessKey'],
  [{ secretAccessKey: 'secret-of-later\n' }, 'secretAccessKey'],
  [{ secretAccessKey: 'secret-of-later'.repeat(70) }, 'secretAccessKey'],
  [{ format: 'csv' }, 'format'],
  [{ paused: true }, 'paused'],
  [{ sealed: 'AAAA' }, 'sealed'],
  [{ storedId: 'site' }, 'storedId'],
])('an integration cannot be created with %j', async (change, field) => {
  const body = { projectId: 'site', ...BUCKET, ...change };
  const { status, json } = await service.ask(root, 'POST', ALL, { body });
  expect([status, json]).toEqual(reject(field));
});

test.each([
  ['projectId', 'site'],
  ['type', 's3'],
  ['bucket', 'others'],
  ['prefix', ''],
  ['endpoint', null],
  ['format', 'ndjson_gzip'],
])('%s is fixed, and the error says to create another integration', async (field, value) => {
  const { id, updatedAt } = await make();
  const { status, json } = await patch(id, { name: 'Renamed', [field]: value });
  const message = expect.stringMatching(`^${field}: cannot be changed; create another integration$`);
  expect([status, json]).toEqual([400, expect.objectContaining({ message })]);
  expect(JSON.parse(await storedText(id))).toMatchObject({ name: BUCKET.bucket, updatedAt });
});

describe('an integration', () => {
  let id: string;
  beforeAll(async () => {
    id = (await make()).id;
  });

  test.each([
    [{ name: '' }, 'name'],
    [{ region: 'EU' }, 'region'],
    [{ pathStyle: null }, 'pathStyle'],
    [{ paused: 'yes' }, 'paused'],
    [{ accessKeyId: 'another' }, 'secretAccessKey'],
    [{ secretAccessKey: 'secret-of-later' }, 'accessKeyId'],
    [{ accessKeyId: 'another', secretAccessKey: 'secret-of-later\n' }, 'secretAccessKey'],
    [{ backfills: [] }, 'backfills'],
    [{ id: randomUUID() }, 'id'],
    [[], 'body'],
    ['no JSON', 'body'],
  ])('cannot be changed to %j', async (body, field) => {
    const { status, json } = await patch(id, body);
    expect([status, json]).toEqual(reject(field));
  });
});

test('If-Match is honored, concurrent changes are all applied, and deletion succeeds once', async () => {
  const { id } = await make();
  const path = `${ALL}/${id}`;
  const { etag, json: before } = await service.ask(root, 'GET', path);
  service.clock.advance(1);
  const first = await patch(id, {}, { 'if-match': etag });
  const updatedAt = new Date(service.clock.nowMs()).toISOString();
  expect(first.json).toEqual({ data: { ...integrationAnswer.parse(before).data, updatedAt } });
  const stale = { headers: { 'if-match': etag } };
  for (const [method, action, sent] of [
    ['PATCH', '', { ...stale, body: { name: 'Late' } }],
    ['POST', '/pause', stale],
    ['POST', '/resume', stale],
    ['POST', '/backfill', { ...stale, body: { from: '2026-02-01', to: '2026-02-01' } }],
  ] as const)
    expect((await service.ask(root, method, path + action, sent)).status, action).toBe(412);
  const changes = [{ name: 'Warehouse' }, { region: 'eu-west-1' }, { pathStyle: false }, { paused: true }];
  const answers = await Promise.all(changes.map((change) => patch(id, change)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const after = await service.ask(root, 'GET', path);
  expect(after.json).toMatchObject({ data: Object.assign({}, ...changes) });

  const remove = (tag: string) => service.ask(root, 'DELETE', path, { headers: { 'if-match': tag } });
  expect((await remove(etag)).status).toBe(412);
  const removed = await remove(after.etag);
  expect([removed.status, removed.json]).toEqual([200, after.json]);
  expect((await service.control.get(integrationKeyOf(id)))?.bytes).toBeUndefined();
  expect((await remove('')).status).toBe(404);
  for (const action of ['pause', 'resume', 'test'])
    expect((await service.ask(root, 'POST', `${path}/${action}`)).status).toBe(404);
});

test('a new access key replaces the sealed one, and no other change does', async () => {
  const { id } = await make();
  const sealedNow = async () => JSON.parse(await storedText(id)).sealed as string;
  const before = await sealedNow();
  expect((await patch(id, { name: 'Renamed' })).status).toBe(200);
  expect(await sealedNow()).toBe(before);
  const { status, json } = await patch(id, { accessKeyId: 'another', secretAccessKey: 'secret-of-later' });
  expect([status, json]).toMatchObject([200, { data: { accessKeyId: 'another', name: 'Renamed' } }]);
  expect(unseal(SECRETS_KEY, `integration.${id}`, await sealedNow())).toBe('secret-of-later');
});

test('an integration is paused and resumed, and repeating either has no effect', async () => {
  const { id } = await make();
  for (const [action, paused, state] of [
    ['resume', false, 'starting'],
    ['pause', true, 'paused'],
    ['pause', true, 'paused'],
    ['resume', false, 'starting'],
  ] as const) {
    const { data } = await service.read(integrationAnswer, root, 'POST', `${ALL}/${id}/${action}`);
    expect([data.paused, data.status.state]).toEqual([paused, state]);
    expect(JSON.parse(await storedText(id)).paused).toBe(paused);
  }
});

test('the list has all integrations of the team or of one site, newest first', async () => {
  const { id: projectId } = await service.makeSite(root, 'Listed');
  const ids: string[] = [];
  for (const site of [projectId, 'site', projectId]) {
    service.clock.advance(1);
    const sent = { body: { projectId: site, ...BUCKET } };
    ids.unshift((await service.read(integrationAnswer, root, 'POST', ALL, sent)).data.id);
  }
  const list = async (query: string) =>
    (await service.read(integrationsAnswer, root, 'GET', ALL + query)).data.map(({ id }) => id);
  expect((await list('')).slice(0, 3)).toEqual(ids);
  expect(await list(`?projectId=${projectId}`)).toEqual([ids[0], ids[2]]);
  expect((await service.ask(root, 'GET', `${ALL}?projectId=none`)).status).toBe(404);
  const { json } = await service.ask(root, 'GET', `${ALL}/${ids[0]}`);
  const { json: all } = await service.ask(root, 'GET', `${ALL}?projectId=${projectId}`);
  expect(all).toMatchObject({ data: [Object(json).data, {}] });
});

test('integrations are hidden with their site, and the next site of its id has none', async () => {
  const { id, projectId } = await make();
  await service.purge(root, projectId);
  expect((await service.ask(root, 'GET', `${ALL}/${id}`)).status).toBe(404);
  expect((await service.makeSite(root, 'Shop')).id).toBe(projectId);
  expect((await service.ask(root, 'GET', `${ALL}/${id}`)).status).toBe(404);
  const { data } = await service.read(integrationsAnswer, root, 'GET', `${ALL}?projectId=${projectId}`);
  expect(data).toEqual([]);
});

test('a site has at most 10 integrations, a team 50', async () => {
  const key = must(service.roots.full, 'the other team has a root client');
  const sites: string[] = [];
  for (let index = 0; index < 6; index += 1) sites.push((await service.makeSite(key, 'Full')).id);
  const create = (projectId: string | undefined) =>
    service.ask(key, 'POST', ALL, { body: { projectId, ...BUCKET } });
  for (const projectId of sites.slice(0, 5)) {
    for (let index = 0; index < 10; index += 1) expect((await create(projectId)).status).toBe(200);
    if (projectId !== sites[4])
      expect((await create(projectId)).text).toMatch(/body: limit of 10 .*of the site/);
  }
  const { status, text } = await create(sites[5]);
  expect([status, text]).toEqual([400, expect.stringMatching(/body: limit of 50 .*of the team/)]);
});

test('without a sealing key secrets are rejected', async () => {
  const keyless = await startManageService(['team'], { SECRETS_KEY: '' });
  const key = must(keyless.roots.team, 'the team has a root client');
  await keyless.makeSite(key, 'Site');
  const made = await keyless.ask(key, 'POST', ALL, { body: { projectId: 'site', ...BUCKET } });
  const message = expect.stringMatching(/^SECRETS_KEY /);
  expect([made.status, made.json]).toEqual([503, expect.objectContaining({ message })]);
  expect((await keyless.control.keys()).filter((key) => key.startsWith('integration.'))).toEqual([]);
  // Sealed while there was still a key.
  const { id } = await make();
  const record = { ...JSON.parse(await storedText(id)), projectId: 'site', storedId: 'site' };
  await keyless.control.put(integrationKeyOf(id), encodeJson(record), 0);
  const path = `${ALL}/${id}`;
  await expect.poll(async () => (await keyless.ask(key, 'GET', path)).status).toBe(200);
  const body = { accessKeyId: 'another', secretAccessKey: 'secret-of-later' };
  expect((await keyless.ask(key, 'PATCH', path, { body })).status).toBe(503);
  expect((await keyless.ask(key, 'PATCH', path, { body: { name: 'Renamed' } })).status).toBe(200);
  const tried = await keyless.ask(key, 'POST', `${path}/test`);
  expect(tried.json).toMatchObject({ data: { ok: false, failure: 'unreadable', steps: [] } });
  for (const text of keyless.answers) for (const secret of SECRETS) expect(text).not.toContain(secret);
  await keyless.stop();
});

test('no response and no log line contained a secret', async () => {
  // The log names the problem of a record, not its contents.
  const damaged = { id: 'damaged', secretAccessKey: BUCKET.secretAccessKey };
  await service.control.put(integrationKeyOf(randomUUID()), encodeJson(damaged), 0);
  await expect.poll(() => logged.join('')).toContain('a changed record is ignored');
  expect(service.answers.length).toBeGreaterThan(100);
  for (const text of [...service.answers, ...logged])
    for (const secret of SECRETS) expect(text).not.toContain(secret);
});
