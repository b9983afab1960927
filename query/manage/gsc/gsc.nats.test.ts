import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../../infra/assert.ts';
import { unseal } from '../../../infra/sealed.ts';
import { OAUTH } from '../testing/fixtures.ts';
import {
  type ClientKey,
  type ManageService,
  SECRETS_KEY,
  startManageService,
} from '../testing/manage-service.ts';
import { connectionAnswer } from './gsc-api.ts';

const AT = '/manage/projects/site/gsc';
const ROWS = `${AT}/rows`;
const PEM_LINES = ['-----BEGIN PRIVATE KEY-----', 'c2VjcmV0LWtleQ==', '-----END PRIVATE KEY-----', ''];
const ACCOUNT = {
  type: 'service_account',
  clientEmail: 'reader@project.example',
  privateKey: PEM_LINES.join('\n'),
};
/** No response or log line may contain any of these. */
const SECRETS = ['secret-of-client', 'secret-to-refresh', 'c2VjcmV0LWtleQ'];
const siteUrl = 'https://site.example/';
const row = { date: '2026-03-01', query: 'shoes', page: '/', clicks: 1, impressions: 2, position: 1.5 };
const NOT_CONNECTED = {
  connected: false,
  siteUrl: null,
  authType: null,
  account: null,
  state: 'not-connected',
};

let service: ManageService;
let root: ClientKey;

beforeAll(async () => {
  service = await startManageService(['team', 'others']);
  root = must(service.roots.team, 'the team has a root client');
  await service.makeSite(root, 'Site');
});
afterAll(() => service.stop());

const put = (body: unknown, headers = {}) => service.ask(root, 'PUT', AT, { body, headers });

/** The stored text under a site's key. */
async function storedText(site: string): Promise<string> {
  const stored = await service.control.get(`gsc.${site}`);
  return Buffer.from(must(stored?.bytes, 'it is stored')).toString('utf8');
}

test.each([
  ['oauth', OAUTH, OAUTH.clientId, { clientSecret: 'secret-of-client', refreshToken: 'secret-to-refresh' }],
  ['service_account', ACCOUNT, ACCOUNT.clientEmail, { privateKey: ACCOUNT.privateKey.trim() }],
])(
  'a connection by %s is returned without its secrets, which are stored sealed',
  async (authType, auth, account, secrets) => {
    const { data } = await service.read(connectionAnswer, root, 'PUT', AT, { body: { siteUrl, auth } });
    expect(data).toEqual({ connected: true, siteUrl, authType, account, state: 'connected' });
    const text = await storedText('site');
    const record = JSON.parse(text);
    expect(record).toMatchObject({ projectId: 'site', storedId: 'site', siteUrl, authType, account });
    for (const secret of SECRETS) {
      expect(text).not.toContain(secret);
      expect(Buffer.from(record.sealed, 'base64').toString('latin1')).not.toContain(secret);
    }
    expect(JSON.parse(unseal(SECRETS_KEY, 'gsc.site', record.sealed) ?? '')).toEqual(secrets);
  },
);

test('a connection is replaced as a whole, If-Match is honored, and deletion succeeds once', async () => {
  expect((await put({ siteUrl, auth: OAUTH })).status).toBe(200);
  const { etag, json } = await put({ siteUrl: 'sc-domain:site.example', auth: ACCOUNT });
  expect(json).toMatchObject({ data: { siteUrl: 'sc-domain:site.example', authType: 'service_account' } });
  expect(await storedText('site')).not.toContain(OAUTH.clientId);
  const replaced = await put({ siteUrl, auth: OAUTH }, { 'if-match': etag });
  expect(replaced.status).toBe(200);
  expect((await put({ siteUrl, auth: ACCOUNT }, { 'if-match': etag })).status).toBe(412);
  const remove = (tag: string) => service.ask(root, 'DELETE', AT, { headers: { 'if-match': tag } });
  expect((await remove(etag)).status).toBe(412);
  const removed = await remove(replaced.etag);
  expect([removed.status, removed.json]).toEqual([200, { data: NOT_CONNECTED }]);
  expect((await service.control.get('gsc.site'))?.bytes).toBeUndefined();
  expect((await remove('')).status).toBe(404);
  expect((await put({ siteUrl, auth: OAUTH }, { 'if-match': '*' })).status).toBe(412);
  expect((await put({ siteUrl, auth: OAUTH })).status).toBe(200);
});

test('of concurrent connections one is stored, and all responses agree with it', async () => {
  await service.makeSite(root, 'Raced');
  const urls = Array.from({ length: 8 }, (_, index) => `https://site-${index}.example/`);
  const answers = await Promise.all(
    urls.map((url) =>
      service.ask(root, 'PUT', '/manage/projects/raced/gsc', { body: { siteUrl: url, auth: OAUTH } }),
    ),
  );
  const done = answers.filter(({ status }) => status === 200);
  expect(done.length).toBeGreaterThan(0);
  expect(answers.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
  const last = done.reduce((a, b) => (Number(JSON.parse(a.etag)) > Number(JSON.parse(b.etag)) ? a : b));
  expect(last.json).toMatchObject({ data: { siteUrl: JSON.parse(await storedText('raced')).siteUrl } });
});

test('a site that takes over the id of a purged one is not connected', async () => {
  const { id } = await service.makeSite(root, 'Twice');
  const at = `/manage/projects/${id}/gsc`;
  expect((await service.ask(root, 'PUT', at, { body: { siteUrl, auth: OAUTH } })).status).toBe(200);
  await service.purge(root, id);
  expect((await service.ask(root, 'PUT', at, { body: { siteUrl, auth: OAUTH } })).status).toBe(404);
  expect((await service.makeSite(root, 'Twice')).id).toBe(id);
  expect((await service.ask(root, 'DELETE', at)).status).toBe(404);
  expect((await service.ask(root, 'PUT', at, { body: { siteUrl, auth: ACCOUNT } })).status).toBe(200);
  expect(JSON.parse(await storedText('twice')).authType).toBe('oauth');
});

test('without a sealing key connections are rejected', async () => {
  const keyless = await startManageService(['team'], { SECRETS_KEY: '' });
  const key = must(keyless.roots.team, 'the team has a root client');
  await keyless.makeSite(key, 'Site');
  const { status, json } = await keyless.ask(key, 'PUT', AT, { body: { siteUrl, auth: OAUTH } });
  expect([status, json]).toEqual([
    503,
    expect.objectContaining({ message: expect.stringMatching(/^SECRETS_KEY /) }),
  ]);
  expect(await keyless.control.get('gsc.site')).toBeUndefined();
  await keyless.stop();
});

test.each([
  [{ auth: OAUTH }, 'siteUrl'],
  [{ siteUrl: 'site.example', auth: OAUTH }, 'siteUrl'],
  [{ siteUrl: 'ftp://site.example/', auth: OAUTH }, 'siteUrl'],
  [{ siteUrl: 'https://somebody:secret-to-refresh@site.example/', auth: OAUTH }, 'siteUrl'],
  [{ siteUrl: 'sc-domain:https://site.example', auth: OAUTH }, 'siteUrl'],
  [{ siteUrl }, 'auth'],
  [{ siteUrl, auth: { ...OAUTH, type: 'basic' } }, 'auth.type'],
  [{ siteUrl, auth: { ...OAUTH, refreshToken: '' } }, 'auth.refreshToken'],
  [{ siteUrl, auth: { ...OAUTH, privateKey: ACCOUNT.privateKey } }, 'auth.privateKey'],
  [{ siteUrl, auth: { ...ACCOUNT, clientEmail: 'nobody' } }, 'auth.clientEmail'],
  [{ siteUrl, auth: { ...ACCOUNT, privateKey: PEM_LINES.join('\\n') } }, 'auth.privateKey'],
  [{ siteUrl, auth: { ...ACCOUNT, privateKey: 'secret-to-refresh' } }, 'auth.privateKey'],
  [{ siteUrl, auth: OAUTH, projectId: 'site' }, 'projectId'],
])('a connection cannot be created with %j', async (body, field) => {
  const { status, json } = await put(body);
  expect([status, json]).toEqual([
    400,
    expect.objectContaining({ message: expect.stringMatching(`^${field}: `) }),
  ]);
});

const manyRows = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ ...row, query: `q${index}` }));

test.each([
  ['no rows', { rows: [] }, 'rows'],
  ['too many rows', { rows: manyRows(10_001) }, 'rows'],
  [
    'a wrong row among others',
    { rows: [...manyRows(17), { ...row, position: -1 }, { ...row, clicks: '1' }] },
    'rows.17.position',
  ],
  ['a day that there is not', { rows: [{ ...row, date: '2026-02-29' }] }, 'rows.0.date'],
  ['a time', { rows: [{ ...row, date: '2026-02-28T00:00:00Z' }] }, 'rows.0.date'],
  ['a day before all data', { rows: [{ ...row, date: '1999-12-31' }] }, 'rows.0.date'],
  // The clock of the service is fixed at 2026-03-01.
  ['a day after tomorrow', { rows: [row, { ...row, date: '2026-03-03' }] }, 'rows.1.date'],
  ['a day of the next century', { rows: [{ ...row, date: '2126-03-01' }] }, 'rows.0.date'],
  [
    'more clicks than impressions',
    { rows: [row, { ...row, clicks: 3, date: '2026-02-28' }] },
    'rows.1.clicks',
  ],
  ['half a click', { rows: [{ ...row, clicks: 0.5 }] }, 'rows.0.clicks'],
  ['more than can be stored', { rows: [{ ...row, impressions: 2 ** 32 }] }, 'rows.0.impressions'],
  ['a field of its own', { rows: [{ ...row, ctr: 0.5 }] }, 'rows.0.ctr'],
  ['no query', { rows: [{ ...row, query: undefined }] }, 'rows.0.query'],
  ['an empty page', { rows: [{ ...row, page: ' ' }] }, 'rows.0.page'],
  ['a lone surrogate', { rows: [{ ...row, query: '\ud800' }] }, 'rows.0.query'],
  ['two letters for a country', { rows: [{ ...row, country: 'DE' }] }, 'rows.0.country'],
  ['a device of its own', { rows: [{ ...row, device: 'watch' }] }, 'rows.0.device'],
  [
    'a row with the same key as another row',
    { rows: [{ ...row, country: 'DEU' }, row, { ...row, country: 'deu', clicks: 2 }] },
    'rows.2',
  ],
])('rows with %s are rejected, and the first invalid row is named', async (_name, body, field) => {
  const { status, json } = await service.ask(root, 'POST', ROWS, { body });
  expect([status, json]).toEqual([
    400,
    expect.objectContaining({ message: expect.stringMatching(`^${field}: `) }),
  ]);
});

test('a request takes 10,000 rows and 8 MiB, and not one byte more', async () => {
  const full = JSON.stringify({ rows: manyRows(10_000) });
  const statusOf = async (body: string) => (await service.ask(root, 'POST', ROWS, { body })).status;
  // Accepted, except that the store is absent.
  expect(await statusOf(full)).toBe(503);
  expect(await statusOf(full.padEnd(8_388_608))).toBe(503);
  expect(await statusOf(full.padEnd(8_388_609))).toBe(413);
});

test('without the store rows are rejected with 503 and Retry-After', async () => {
  for (const [method, path, sent] of [
    ['POST', ROWS, { body: { rows: [row] } }],
    ['GET', AT, {}],
  ] as const) {
    const { status, headers } = await service.ask(root, method, path, sent);
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
  }
});

test('no response contained a secret', () => {
  expect(service.answers.length).toBeGreaterThan(30);
  for (const text of service.answers) for (const secret of SECRETS) expect(text).not.toContain(secret);
});
