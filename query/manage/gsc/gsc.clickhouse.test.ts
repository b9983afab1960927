import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../../infra/assert.ts';
import { encodeJson } from '../../../infra/bus/mirror.ts';
import { HOUR_MS } from '../../../infra/durations.ts';
import { projectRoot } from '../../../infra/root.ts';
import { seal } from '../../../infra/sealed.ts';
import { migrate } from '../../../infra/store/migrate.ts';
import { Store } from '../../../infra/store/store.ts';
import { type StoreServer, startStoreServer } from '../../../infra/testing/store-server.ts';
import { OAUTH } from '../testing/fixtures.ts';
import {
  type ClientKey,
  type ManageService,
  SECRETS_KEY,
  startManageService,
} from '../testing/manage-service.ts';
import { connectionAnswer, rowsImported, statusAnswer } from './gsc-api.ts';

const siteUrl = 'sc-domain:site.example';
const row = { date: '2026-02-27', query: 'shoes', page: '/', clicks: 1, impressions: 20, position: 1.5 };
const NEVER = {
  state: 'never-synced',
  backfill: null,
  lastSyncedAt: null,
  lastDay: null,
  preliminaryFrom: null,
  failure: null,
};
const NOTHING = { lastImportAt: null, firstDate: null, lastDate: null, rows: 0 };

const folder = mkdtempSync(join(tmpdir(), 'footfall-gsc-'));
let server: StoreServer;
let store: Store;
let service: ManageService;
let root: ClientKey;

beforeAll(async () => {
  server = await startStoreServer({ dataDir: folder });
  store = new Store({ url: server.url, database: 'footfall', requestTimeoutMs: 30_000 });
  await migrate(store, join(projectRoot, 'processor/schema'));
  service = await startManageService(['team'], { CLICKHOUSE_URL: server.url });
  root = must(service.roots.team, 'the team has a root client');
});

afterAll(async () => {
  await service.stop();
  await store.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const pathOf = (site: string) => `/manage/projects/${site}/gsc`;
const send = (site: string, rows: readonly object[]) =>
  service.read(rowsImported, root, 'POST', `${pathOf(site)}/rows`, { body: { rows } });
const statusOf = async (site: string) => (await service.read(statusAnswer, root, 'GET', pathOf(site))).data;
const nowText = () => new Date(service.clock.nowMs()).toISOString();

/** The effective rows of a site in order, without site and import time. */
function rowsOf(site: string): Promise<unknown[]> {
  return store.query(
    `SELECT toString(date) AS date, query, page, country, device, clicks, impressions, position
     FROM search_console FINAL WHERE projectId = {site:String} ORDER BY date, query, page, country, device`,
    { site },
  );
}

test('rows are stored as sent, up to the limits of each field', async () => {
  const { id } = await service.makeSite(root, 'Whole');
  expect(await statusOf(id)).toMatchObject({ state: 'not-connected', connected: false, ...NOTHING });
  const most = 4_294_967_295;
  const sent = [
    { ...row, date: '2000-01-01', query: '', page: 'https://site.example/größe/😀?a="b"&c=\'d\'' },
    {
      ...row,
      date: '2024-02-29',
      query: 'x'.repeat(2_048),
      clicks: most,
      impressions: most,
      position: 10_000,
    },
    { ...row, country: 'deu', device: 'mobile' },
    { ...row, country: 'usa', device: 'desktop', clicks: 0, impressions: 0, position: 0 },
    // Tomorrow in UTC.
    { ...row, date: '2026-03-02', clicks: 20, position: 0.1 + 0.2 },
  ];
  expect(await send(id, sent.toReversed())).toEqual({ data: { imported: 5 } });
  expect(await rowsOf(id)).toEqual(sent.map((one) => ({ country: '', device: '', ...one })));
  expect(await statusOf(id)).toMatchObject({
    state: 'not-connected',
    lastImportAt: nowText(),
    firstDate: '2000-01-01',
    lastDate: '2026-03-02',
    rows: 5,
  });
});

test('a repeated row replaces the earlier one and no other, merged or not', async () => {
  const { id } = await service.makeSite(root, 'Again');
  await service.makeSite(root, 'Sister');
  const german = { ...row, country: 'deu', device: 'mobile' };
  await send('sister', [row, german]);
  await send(id, [row, german, { ...row, query: 'boots' }]);
  for (let time = 1; time <= 5; time += 1) {
    service.clock.advance(HOUR_MS);
    const again = { ...german, country: 'DEU', device: 'MOBILE', clicks: time, position: time / 4 };
    await send(id, [{ ...row, date: `2026-02-0${time}` }, again]);
  }
  const days = [1, 2, 3, 4, 5].map((day) => ({ ...row, date: `2026-02-0${day}` }));
  const wanted = [...days, { ...row, query: 'boots' }, row, { ...german, clicks: 5, position: 1.25 }].map(
    (one) => ({ country: '', device: '', ...one }),
  );
  const status = { lastImportAt: nowText(), firstDate: '2026-02-01', lastDate: row.date, rows: 8 };
  expect(await rowsOf(id)).toEqual(wanted);
  expect(await statusOf(id)).toMatchObject(status);
  await store.command('OPTIMIZE TABLE search_console FINAL');
  expect(await rowsOf(id)).toEqual(wanted);
  expect(await statusOf(id)).toMatchObject(status);
  expect((await rowsOf('sister')).length).toBe(2);
});

test.each([
  ['impressions', { impressions: -1 }],
  ['clicks', { clicks: 21 }],
  ['date', { date: '2026-03-04' }],
])('one row with wrong %s among 10,000 rejects all of them', async (field, wrong) => {
  const { id } = await service.makeSite(root, `Many ${field}`);
  const many = Array.from({ length: 10_000 }, (_, index) => ({ ...row, query: `query ${index}` }));
  const rows = many.map((one, index) => (index === 9_999 ? { ...one, ...wrong } : one));
  const { status, json } = await service.ask(root, 'POST', `${pathOf(id)}/rows`, { body: { rows } });
  expect(json).toMatchObject({ status: 400, message: expect.stringMatching(`^rows\\.9999\\.${field}: `) });
  expect(status).toBe(400);
  expect(await statusOf(id)).toMatchObject(NOTHING);
  expect(await send(id, many)).toEqual({ data: { imported: 10_000 } });
  expect(await statusOf(id)).toMatchObject({ rows: 10_000 });
});

test('rows survive a disconnect, and a lost sealing key is reported', async () => {
  const { id } = await service.makeSite(root, 'Connected');
  await send(id, [row]);
  const body = { siteUrl, auth: OAUTH };
  await service.read(connectionAnswer, root, 'PUT', pathOf(id), { body });
  const connection = { siteUrl, authType: 'oauth', account: OAUTH.clientId };
  const imported = { lastImportAt: nowText(), firstDate: row.date, lastDate: row.date, rows: 1 };
  const connected = { connected: true, state: 'connected', ...connection, ...imported };
  expect(await statusOf(id)).toEqual({ ...connected, sync: NEVER });

  const recordKey = `gsc.${id}`;
  const stored = must(await service.control.get(recordKey), 'it is stored');
  const record = JSON.parse(Buffer.from(stored.bytes ?? '').toString('utf8'));
  const lost = [seal('f'.repeat(64), recordKey, '{}'), seal(SECRETS_KEY, 'gsc.other', '{}'), '', 'damaged'];
  let { revision } = stored;
  for (const sealed of lost) {
    revision = await service.control.put(recordKey, encodeJson({ ...record, sealed }), revision);
    const tagOf = async () => (await service.ask(root, 'GET', pathOf(id))).etag;
    await expect.poll(tagOf).toBe(`"${revision}"`);
    const sync = { ...NEVER, state: 'unreadable' };
    const unreadable = { connected: false, state: 'unreadable', ...connection, ...imported, sync };
    expect(await statusOf(id)).toEqual(unreadable);
  }
  await service.read(connectionAnswer, root, 'PUT', pathOf(id), { body });
  expect(await statusOf(id)).toMatchObject({ connected: true, state: 'connected' });

  await service.read(connectionAnswer, root, 'DELETE', pathOf(id));
  expect(await statusOf(id)).toMatchObject({
    connected: false,
    state: 'not-connected',
    siteUrl: null,
    rows: 1,
  });
});

test('acknowledged rows survive a kill of the store, and imports work again after it', async () => {
  const { id } = await service.makeSite(root, 'Killed');
  await send(id, [row]);
  await server.kill();
  const rejected = await service.ask(root, 'POST', `${pathOf(id)}/rows`, { body: { rows: [row] } });
  expect(rejected.status).toBe(503);
  expect((await service.ask(root, 'GET', pathOf(id))).status).toBe(503);
  await server.restart();
  const answered = async () => (await service.ask(root, 'GET', pathOf(id))).status;
  await expect.poll(answered).toBe(200);
  expect(await statusOf(id)).toMatchObject({ rows: 1 });
  await send(id, [row, { ...row, query: 'boots' }]);
  expect(await statusOf(id)).toMatchObject({ rows: 2 });
});
