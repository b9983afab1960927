import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { encodeRecord, type SiteDeletion, siteKeyOf, siteSchema } from '../../infra/accounts/accounts.ts';
import { must } from '../../infra/assert.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { projectAnswer, projectRestored, projectsAnswer } from './project-api.ts';
import { makeSiteWithAll } from './testing/fixtures.ts';
import { type ClientKey, type ManageService, startManageService } from './testing/manage-service.ts';

const ALL = '/manage/projects';
const DAY_S = 86_400;

let service: ManageService;
let root: ClientKey;
let secondUrl: string;

beforeAll(async () => {
  service = await startManageService(['team', 'others']);
  root = must(service.roots.team, 'the team has a root client');
  secondUrl = await service.serve();
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => service.stop());

const one = (id: string) => `${ALL}/${id}`;
const remove = async (id: string, query = '') =>
  (await service.read(projectAnswer, root, 'DELETE', one(id) + query)).data;
const restore = (id: string, sent = {}) => service.ask(root, 'POST', `${one(id)}/restore`, sent);
const shown = async (id: string) => (await service.read(projectAnswer, root, 'GET', one(id))).data;
const atText = () => new Date(service.clock.nowMs()).toISOString();

async function storedSite(id: string) {
  const stored = must(await service.control.get(siteKeyOf(id)), 'there is such a site');
  const text = Buffer.from(must(stored.bytes, 'not removed')).toString('utf8');
  return { site: siteSchema.parse(JSON.parse(text)), revision: stored.revision };
}

/** Writes the state of a deletion as the processor does, by one compare-and-set; false if another write was first. */
async function putStatus(
  id: string,
  status: SiteDeletion['status'],
  put = service.control.put.bind(service.control),
) {
  const { site, revision } = await storedSite(id);
  if (site.deletion?.status !== 'waiting') return false;
  try {
    await put(siteKeyOf(id), encodeRecord({ ...site, deletion: { ...site.deletion, status } }), revision);
    return true;
  } catch (error) {
    if (error instanceof BusError && error.reason === 'conflict') return false;
    throw error;
  }
}

test('a restored site has everything that it had, and its clients work again', async () => {
  const { ids, read, write } = await makeSiteWithAll(service, root, 'Back');
  const settings = { domain: 'back.example', filters: { paths: ['/a*'] }, feed: true, retentionDays: 30 };
  await service.ask(root, 'PATCH', one('back'), { body: settings });
  const dashboard = `${one('back')}/dashboards/${ids.dashboardId}`;
  const paths = [
    '/manage/clients?projectId=back',
    `/manage/clients/${read.id}`,
    `/manage/clients/${write.id}`,
    '/manage/references?projectId=back',
    `/manage/references/${ids.referenceId}`,
    `${one('back')}/dashboards`,
    dashboard,
    `${dashboard}/reports`,
    `${dashboard}/reports/${ids.reportId}`,
    `${one('back')}/segments`,
    `${one('back')}/segments/${ids.segmentId}`,
    `${one('back')}/goals`,
    `${one('back')}/goals/${ids.goalId}`,
    `${one('back')}/erasures/${ids.erasureId}`,
    '/manage/integrations?projectId=back',
    `/manage/integrations/${ids.integrationId}`,
  ];
  const readAll = () =>
    Promise.all(
      paths.map(async (path) => {
        const { status, text, etag } = await service.ask(root, 'GET', path);
        return { path, status, text, etag };
      }),
    );
  const records = async () => {
    const keys = [...(await service.control.keys())].filter((key) => !key.startsWith('site.')).toSorted();
    return Promise.all(keys.map(async (key) => [key, (await service.control.get(key))?.revision]));
  };
  const insights = async (baseUrl?: string) =>
    (await service.ask(read, 'GET', '/insights/back/live', baseUrl === undefined ? {} : { baseUrl })).status;
  const before = { site: await shown('back'), answers: await readAll(), records: await records() };
  expect(before.answers.map(({ status }) => status)).toEqual(paths.map(() => 200));
  expect(await insights()).toBe(503); // No process owns a lane here: an authorized question gets this far.

  await remove('back');
  expect((await readAll()).map(({ status }) => status)).toEqual(paths.map(() => 404));
  service.clock.advance(23 * HOUR_MS);
  const restored = await restore('back');
  expect(restored.status).toBe(200);
  const { data } = projectRestored.parse(restored.json);
  expect(data).toEqual({
    ...before.site,
    updatedAt: atText(),
    restored: {
      requestedAt: before.site.updatedAt,
      purgeAt: new Date(Date.parse(before.site.updatedAt) + DAY_S * 1_000).toISOString(),
      remainingSeconds: 3_600,
    },
  });
  expect(await shown('back')).toEqual({ ...before.site, updatedAt: atText() });
  expect((await service.ask(root, 'GET', one('back'))).etag).toBe(restored.etag);
  expect(await readAll()).toEqual(before.answers);
  expect(await records()).toEqual(before.records);
  expect(await insights()).toBe(503);
  await expect.poll(() => insights(secondUrl)).toBe(503);
});

test('a deletion states the time that is left, and after a restore the next one has 24 hours again', async () => {
  await service.makeSite(root, 'Timed');
  const first = (await remove('timed')).deletion;
  expect(first).toMatchObject({ status: 'waiting', restorable: true, remainingSeconds: DAY_S });
  service.clock.advance(HOUR_MS + 400);
  const left = { requestedAt: first?.requestedAt, restorable: true, remainingSeconds: DAY_S - 3_601 };
  expect((await shown('timed')).deletion).toMatchObject(left);
  expect((await remove('timed')).deletion).toMatchObject(left);
  expect((await restore('timed')).status).toBe(200);
  service.clock.advance(HOUR_MS);
  expect((await remove('timed')).deletion).toMatchObject({
    requestedAt: atText(),
    purgeAt: new Date(service.clock.nowMs() + DAY_S * 1_000).toISOString(),
    remainingSeconds: DAY_S,
  });
  // The time is over, and the purge has not begun.
  service.clock.advance(DAY_S * 1_000 + 5_000);
  expect((await shown('timed')).deletion).toMatchObject({ restorable: true, remainingSeconds: 0 });
  expect((await restore('timed')).status).toBe(200);
});

test('a deletion with now=true, at once or later, cannot be undone', async () => {
  for (const [name, queries] of [
    ['At once', ['?now=true']],
    ['Hurried', ['', '?now=true']],
  ] as const) {
    const { id } = await service.makeSite(root, name);
    for (const query of queries) await remove(id, query);
    const before = await shown(id);
    expect(before.deletion).toMatchObject({ status: 'waiting', restorable: false, remainingSeconds: 0 });
    const rejected = await restore(id);
    expect(rejected.json).toMatchObject({
      status: 409,
      error: 'Conflict',
      message: expect.stringMatching(/^projectId: /),
    });
    expect(await shown(id)).toEqual(before);
  }
});

test('a site whose purge began, or that is not deleted, cannot be restored', async () => {
  const { id } = await service.makeSite(root, 'Late');
  expect((await restore(id)).json).toMatchObject({
    status: 409,
    message: expect.stringContaining('not deleted'),
  });
  await remove(id);
  expect(await putStatus(id, 'purging')).toBe(true);
  for (const url of [undefined, secondUrl]) {
    const sent = url === undefined ? {} : { baseUrl: url };
    expect((await restore(id, sent)).json).toMatchObject({
      status: 409,
      message: expect.stringContaining('purge'),
    });
  }
  await service.purge(root, id);
  expect((await shown(id)).deletion).toMatchObject({ restorable: false, remainingSeconds: 0 });
  expect((await restore(id)).status).toBe(409);
  expect((await service.ask(service.roots.others, 'POST', `${one(id)}/restore`)).status).toBe(404);
});

test('a restore is strict about its body and honors If-Match', async () => {
  const { id } = await service.makeSite(root, 'Strict');
  const { etag } = await service.ask(root, 'GET', one(id));
  await remove(id);
  expect((await restore(id, { body: { now: true } })).status).toBe(400);
  expect((await restore(id, { headers: { 'if-match': etag } })).status).toBe(412);
  const deleted = (await service.ask(root, 'GET', one(id))).etag;
  expect((await restore(id, { body: {}, headers: { 'if-match': deleted } })).status).toBe(200);
});

test('deleted sites are listed on request, the last deleted one first', async () => {
  const listed = async (key: ClientKey | undefined, query: string) =>
    (await service.read(projectsAnswer, must(key, 'a client'), 'GET', ALL + query)).data.map(({ id }) => id);
  for (const name of ['Listed', 'Gone first', 'Gone last']) await service.makeSite(root, name);
  for (const id of ['gone-first', 'gone-last']) {
    service.clock.advance(1_000);
    await remove(id);
  }
  expect((await listed(root, '?deleted=true')).slice(0, 2)).toEqual(['gone-last', 'gone-first']);
  expect(await listed(root, '?deleted=true')).not.toContain('listed');
  for (const query of ['', '?deleted=false']) {
    expect(await listed(root, query)).toContain('listed');
    expect(await listed(root, query)).not.toContain('gone-last');
  }
  expect(await listed(service.roots.others, '?deleted=true')).toEqual([]);
  await restore('gone-last');
  expect(await listed(root, '?deleted=true')).not.toContain('gone-last');
  expect((await service.ask(root, 'GET', `${ALL}?deleted=maybe`)).status).toBe(400);
});

test('a purge that begins between the reading and the writing of a restore wins', async () => {
  const { id } = await service.makeSite(root, 'Overtaken');
  await remove(id);
  const { put } = KeyedBytes.prototype;
  const puts = vi.spyOn(KeyedBytes.prototype, 'put').mockImplementationOnce(async function (
    this: KeyedBytes,
    ...given
  ) {
    expect(await putStatus(id, 'purging', put.bind(service.control))).toBe(true);
    return put.apply(this, given);
  });
  const rejected = await restore(id);
  expect(puts).toHaveBeenCalled();
  expect(rejected.status).toBe(409);
  expect((await storedSite(id)).site.deletion?.status).toBe('purging');
});

test('of restores on two servers and the start of a purge exactly one happens', async () => {
  for (let round = 0; round < 20; round += 1) {
    const { id } = await service.makeSite(root, `Raced ${round}`);
    await remove(id);
    const isKnown = async () =>
      (await service.ask(root, 'GET', one(id), { baseUrl: secondUrl })).text.includes('waiting');
    await expect.poll(isKnown).toBe(true);
    const [here, there, begun] = await Promise.all([
      restore(id),
      restore(id, { baseUrl: secondUrl }),
      round % 2 === 0
        ? putStatus(id, 'purging')
        : new Promise(setImmediate).then(() => putStatus(id, 'purging')),
    ]);
    const won = [here.status === 200, there.status === 200, begun].filter((wins) => wins);
    expect(won).toHaveLength(1);
    expect([200, 409]).toContain(here.status);
    expect([200, 409]).toContain(there.status);
    const { deletion } = (await storedSite(id)).site;
    expect(deletion?.status).toBe(begun ? 'purging' : undefined);
  }
});
