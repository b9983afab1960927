import { afterAll, beforeAll, expect, test } from 'vitest';
import { Accounts } from '../../infra/accounts/accounts.ts';
import { must } from '../../infra/assert.ts';
import { createLogger } from '../../infra/log.ts';
import { storedId } from '../../infra/testing/ids.ts';
import type { Erasure } from '../../processor/erasure.ts';
import { Catalog } from './catalog.ts';
import { removeOldest } from './erasures.ts';
import { projectCreated } from './project-api.ts';
import { ControlRecords } from './records.ts';
import { TeamBytes } from './team-bytes.ts';
import { type ClientKey, type ManageService, startManageService } from './testing/manage-service.ts';

const TEAM_BYTES_MAX = 40_000;
const RECORD_BYTES_MAX = 20_000;
const log = createLogger('test', 'silent');

let service: ManageService;
let accounts: Accounts;
let catalog: Catalog;
let teamBytes: TeamBytes;
let records: ControlRecords;

beforeAll(async () => {
  service = await startManageService(['large', 'small', 'racing', 'full', 'shared']);
  accounts = await Accounts.open(service.bus, log);
  catalog = await Catalog.open(service.bus, log);
  teamBytes = new TeamBytes(accounts, catalog, {
    recordBytesMax: RECORD_BYTES_MAX,
    teamBytesMax: TEAM_BYTES_MAX,
  });
  records = new ControlRecords(service.control, teamBytes);
});
afterAll(async () => {
  accounts.stop();
  catalog.stop();
  await service.stop();
});

function rootOf(team: string): ClientKey {
  return must(service.roots[team], 'the team has a root client');
}

/** 65,520 characters of three bytes each. */
const list = (length: number) => Array.from({ length: 65_520 / length }, () => '一'.repeat(length));

test('a site whose lists take more than a record may have is rejected, and a smaller change is not', async () => {
  const { id } = await service.makeSite(rootOf('large'), 'Large');
  const patch = (body: object) => service.ask(rootOf('large'), 'PATCH', `/manage/projects/${id}`, { body });
  const rejected = await patch({ filters: { paths: list(70), names: list(70) } });
  expect([rejected.status, rejected.json]).toEqual([
    400,
    expect.objectContaining({
      message: expect.stringMatching(/^filters\.(paths|names): .* bytes, and one may have 262,144/),
    }),
  ]);
  expect((await patch({ filters: { paths: list(70) } })).status).toBe(200);
  expect((await patch({ filters: { names: list(70) } })).status).toBe(400);
  expect((await patch({ filters: { paths: [] } })).status).toBe(200);
  expect((await patch({ filters: { names: list(70) } })).status).toBe(200);
});

test.each([
  ['cors', { cors: Array.from({ length: 1_000 }, (_, index) => `${index}.`.padEnd(70, 'a')) }],
  ['filters.paths', { filters: { paths: Array.from({ length: 1_000 }, () => 'a'.repeat(70)) } }],
  ['filters.paths.0', { filters: { paths: ['a'.repeat(513)] } }],
  ['filters.paths.0', { filters: { paths: ['*'.repeat(9)] } }],
  ['filters.names', { filters: { names: Array.from({ length: 1_000 }, () => 'a'.repeat(70)) } }],
])('a list with too many characters is rejected: %s', async (field, body) => {
  const { id } = await service.makeSite(rootOf('small'), `Small ${field} ${JSON.stringify(body).length}`);
  const { status, json } = await service.ask(rootOf('small'), 'PATCH', `/manage/projects/${id}`, { body });
  expect([status, json]).toEqual([
    400,
    expect.objectContaining({ message: expect.stringMatching(`^${field}: expected at most`) }),
  ]);
});

async function siteOf(team: string, name: string): Promise<string> {
  const { id } = await service.makeSite(rootOf(team), name);
  await expect.poll(() => accounts.site(id)?.id).toBe(id);
  return id;
}

function referenceOf(site: string, number: number, length: number) {
  const id = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
  const at = '2026-01-05T08:00:00.000Z';
  const value = {
    id,
    projectId: site,
    storedId: storedId(site),
    title: 'x',
    description: 'x'.repeat(length),
    date: at,
  };
  return { key: `reference.${id}`, value: { ...value, createdAt: at, updatedAt: at } };
}

test('concurrent writes fill what a team may have and never exceed it; another team has its own', async () => {
  const site = await siteOf('racing', 'Racing');
  const results = await Promise.allSettled(
    Array.from({ length: 30 }, (_, index) => {
      const { key, value } = referenceOf(site, index, 3_000);
      return records.create(catalog.references, key, value);
    }),
  );
  const refused = results.filter(({ status }) => status === 'rejected');
  expect(refused.length).toBeGreaterThan(0);
  for (const result of refused)
    expect(result).toMatchObject({
      reason: { status: 403, message: expect.stringMatching(/^description: .* a team may have 40,000;/) },
    });
  const used = teamBytes.usedBy('racing');
  expect(used).toBeLessThanOrEqual(TEAM_BYTES_MAX);
  expect(used).toBeGreaterThan(TEAM_BYTES_MAX - 4_000);
  const stored = await service.control.list('reference.*');
  const [own] = await service.control.list(`site.${site}`);
  expect(stored.length).toBe(30 - refused.length);
  expect(used).toBeGreaterThan(stored.reduce((sum, { bytes }) => sum + (bytes?.byteLength ?? 0), 0));
  expect(own).toBeDefined();

  const other = await siteOf('shared', 'Shared');
  const { key, value } = referenceOf(other, 100, 3_000);
  expect(await records.create(catalog.references, key, value)).toBeDefined();
});

test('a full team can shorten and delete what it has, and what was refused is not held', async () => {
  const site = await siteOf('full', 'Full');
  const [a, b] = [referenceOf(site, 201, 17_000), referenceOf(site, 202, 17_000)];
  await records.create(catalog.references, a.key, a.value);
  await records.create(catalog.references, b.key, b.value);
  const before = teamBytes.usedBy('full');
  const c = referenceOf(site, 203, 10_000);
  await expect(records.create(catalog.references, c.key, c.value)).rejects.toMatchObject({ status: 403 });
  expect(teamBytes.usedBy('full')).toBe(before);
  const missing = () => new Error('missing') as never;
  const change = (length: number) =>
    records.change(catalog.references, a.key, '', {
      change: (value) => ({ ...value, description: 'x'.repeat(length) }),
      missing,
    });
  await expect(change(RECORD_BYTES_MAX)).rejects.toMatchObject({ status: 400 });
  await change(10_000);
  expect(teamBytes.usedBy('full')).toBe(before - 7_000);
  await records.remove(catalog.references, b.key, '', missing);
  expect(await records.create(catalog.references, c.key, c.value)).toBeDefined();

  // Nothing that is written may keep a deletion or an erasure from being stored.
  const d = referenceOf(site, 204, TEAM_BYTES_MAX - teamBytes.usedBy('full') - 250);
  await records.create(catalog.references, d.key, d.value).catch(() => undefined);
  const receipt = await service.ask(
    rootOf('full'),
    'DELETE',
    `/manage/projects/${site}/profiles/${'p'.repeat(200)}`,
  );
  expect(receipt.status).toBe(200);
  const deleted = await service.ask(rootOf('full'), 'DELETE', `/manage/projects/${site}`);
  expect(deleted.status).toBe(200);
});

test('the oldest finished receipts of erasures make room for the next, and waiting ones stay', async () => {
  const { data } = await service.read(projectCreated, rootOf('shared'), 'POST', '/manage/projects', {
    body: { name: 'Erased' },
  });
  const receiptOf = async (number: number, status: Erasure['status']) => {
    const id = `00000000-0000-4000-9000-${String(number).padStart(12, '0')}`;
    const at = `2026-01-05T08:00:0${number}.000Z`;
    const value: Erasure = {
      ...{ id, teamId: 'shared', projectId: data.id, storedId: storedId(data.id), status, profileId: null },
      ...{ profileDigest: 'x', createdAt: at, updatedAt: at, finishedAt: null },
      ...{ rowsRemoved: {}, aliasesErased: 0, aliasesUndone: 0 },
    };
    await records.create(catalog.erasures, `erasure.${id}`, value);
  };
  for (const number of [1, 2, 3, 4]) await receiptOf(number, 'done');
  await receiptOf(0, 'waiting');
  await removeOldest({ catalog, records }, 'shared', 3);
  const shared = [...catalog.erasures.entries()].filter(({ value }) => value.teamId === 'shared');
  const left = shared.map(({ value }) => value.createdAt.slice(17, 19)).sort();
  expect(left).toEqual(['00', '03', '04']);
});
