import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { ALIASES_BUCKET, type Alias, aliasKeyOf, encodeAlias } from '../../ingest/entity-update.ts';
import { type AliasShown, aliasAnswer, aliasesAnswer } from './aliases.ts';
import { type ClientKey, type ManageService, startManageService } from './testing/manage-service.ts';

const AT = '2026-02-01T00:00:00.000Z';

let service: ManageService;
let bucket: KeyedBytes;
let root: ClientKey;
let site: string;
let other: string;

beforeAll(async () => {
  service = await startManageService(['team']);
  root = must(service.roots.team, 'the team has a root client');
  bucket = await service.bus.keyed(ALIASES_BUCKET);
  site = (await service.makeSite(root, 'Site')).id;
  other = (await service.makeSite(root, 'Other')).id;
  for (let index = 0; index < 25; index += 1) {
    const name = String(index).padStart(2, '0');
    await store({ alias: `anon/ü ${name}`, profileId: `p${index % 5}`, verified: index % 3 > 0 });
  }
  await store({ projectId: storedId(other), alias: 'anon/ü 00', profileId: 'elsewhere' });
  await store({ alias: 'zz restored', profileId: 'p0', verified: false, createdAt: null });
});

afterAll(() => service.stop());

async function store(alias: Partial<Alias> & Pick<Alias, 'alias' | 'profileId'>): Promise<void> {
  const record: Alias = { projectId: storedId(site), verified: true, createdAt: AT, ...alias };
  await bucket.put(aliasKeyOf(record), encodeAlias(record), 0);
}

const list = (query = '', id = site) =>
  service.read(aliasesAnswer, root, 'GET', `/manage/projects/${id}/aliases${query}`);
const namesIn = ({ data }: { readonly data: readonly AliasShown[] }) => data.map(({ alias }) => alias);

describe('the list of aliases', () => {
  test('has every alias of the site once, in order, in pages', async () => {
    const seen: AliasShown[] = [];
    for (let cursor = ''; ; ) {
      const path = `/manage/projects/${site}/aliases?limit=10${cursor && `&cursor=${cursor}`}`;
      const { status, json, headers } = await service.ask(root, 'GET', path);
      expect(status).toBe(200);
      seen.push(...aliasesAnswer.parse(json).data);
      cursor = headers.get('x-next-cursor') ?? '';
      if (cursor === '') break;
    }
    expect(seen).toHaveLength(26);
    expect(seen.map(({ alias }) => alias)).toEqual(seen.map(({ alias }) => alias).toSorted());
    expect(seen[0]).toEqual({ alias: 'anon/ü 00', profileId: 'p0', verified: false, createdAt: AT });
    expect(seen.at(-1)).toEqual({ alias: 'zz restored', profileId: 'p0', verified: false, createdAt: null });
    expect(namesIn(await list('?limit=2&cursor=24'))).toEqual(['anon/ü 24', 'zz restored']);
    expect(await list('', other)).toEqual({
      data: [{ alias: 'anon/ü 00', profileId: 'elsewhere', verified: true, createdAt: AT }],
    });
  });

  test('is filtered by profile, by alias, and by who made them', async () => {
    expect(namesIn(await list('?profileId=p1'))).toEqual(
      ['01', '06', '11', '16', '21'].map((name) => `anon/ü ${name}`),
    );
    expect(namesIn(await list('?profileId=p1&verified=false'))).toEqual(['anon/ü 06', 'anon/ü 21']);
    expect((await list('?verified=true')).data).toHaveLength(16);
    expect(namesIn(await list(`?alias=${encodeURIComponent('anon/ü 07')}`))).toEqual(['anon/ü 07']);
    expect((await list('?alias=nothing')).data).toEqual([]);
  });

  test.each(['limit=0', 'limit=1001', 'cursor=x', 'verified=maybe'])('rejects %s', async (query) => {
    const { status } = await service.ask(root, 'GET', `/manage/projects/${site}/aliases?${query}`);
    expect(status).toBe(400);
  });
});

test('an id that no alias can have never becomes a subject of the bus', async () => {
  // The server of the bus closes the connection of a process that sends a subject of more than 4 KB.
  const long = 'a'.repeat(3_100);
  const base = `/manage/projects/${site}/aliases`;
  const listed = await service.ask(root, 'GET', `${base}?alias=${long}`);
  expect([listed.status, listed.json]).toEqual([400, expect.objectContaining({ error: 'Bad Request' })]);
  expect((await service.ask(root, 'DELETE', `${base}/${long}`)).status).toBe(404);
});

test('an alias is undone once, and others stay', async () => {
  const one = `/manage/projects/${site}/aliases/${encodeURIComponent('anon/ü 03')}`;
  const before = (await list()).data;
  expect(await service.read(aliasAnswer, root, 'DELETE', one)).toEqual({ data: before[3] });
  expect((await list()).data).toEqual(before.filter(({ alias }) => alias !== 'anon/ü 03'));
  const again = await service.ask(root, 'DELETE', one);
  expect(again.status).toBe(404);
  expect((await list('', other)).data).toHaveLength(1);
});
