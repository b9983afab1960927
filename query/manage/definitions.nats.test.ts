import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import {
  goalAnswer,
  goalsAnswer,
  SEGMENTS_MAX,
  segmentAnswer,
  segmentsAnswer,
} from '../definitions/definition-records.ts';
import { referencesAnswer } from '../insights/references-api.ts';
import { type ClientKey, type ManageService, startManageService } from './testing/manage-service.ts';

// Segments, goals and references as questions see them. The service has no store: the names in a question are checked before.

const SEGMENTS = '/manage/projects/site/segments';
const GOALS = '/manage/projects/site/goals';
const GERMANY = [{ name: 'country', operator: 'is', value: ['DE'] }];

let service: ManageService;
let root: ClientKey;
let read: ClientKey;
let secondUrl: string;
beforeAll(async () => {
  service = await startManageService(['team']);
  root = must(service.roots.team, 'the team has a root client');
  await service.makeSite(root, 'Site');
  await service.makeSite(root, 'Sister');
  read = await service.makeClient(root, { type: 'read', projectId: 'site' });
  secondUrl = await service.serve();
});
afterAll(() => service.stop());

async function asked(path: string, key = read, baseUrl?: string) {
  const sent = baseUrl === undefined ? {} : { baseUrl };
  const { status, json } = await service.ask(key, 'GET', path, sent);
  return { status, message: (json as { readonly message?: string }).message };
}

async function rejected(method: string, path: string, body: unknown): Promise<unknown> {
  const { status, json } = await service.ask(root, method, path, { body });
  expect(status).toBe(400);
  return json;
}
const naming = (field: string) => ({ status: 400, message: expect.stringMatching(`^${field}: `) });

const makeSegment = async (body: object, path = SEGMENTS) =>
  (await service.read(segmentAnswer, root, 'POST', path, { body: { filters: GERMANY, ...body } })).data;
const makeGoal = async (body: object, path = GOALS) =>
  (await service.read(goalAnswer, root, 'POST', path, { body })).data;

describe('segments', () => {
  test('are created, listed newest first, changed and deleted', async () => {
    const first = await makeSegment({ name: ' First ' });
    service.clock.advance(1);
    const second = await makeSegment({ name: 'Second' });
    const { createdAt, updatedAt } = first;
    expect(first).toEqual({
      ...{ id: expect.stringMatching(/^[0-9a-f-]{36}$/), projectId: 'site', name: 'First' },
      ...{ filters: GERMANY, createdAt, updatedAt },
    });
    const { data } = await service.read(segmentsAnswer, root, 'GET', SEGMENTS);
    expect(data).toEqual([second, first]);
    const one = `${SEGMENTS}/${first.id}`;
    expect(await rejected('PATCH', one, { name: 'Second' })).toMatchObject(naming('name'));
    const filters = [{ name: 'path', operator: 'startsWith', value: ['/de/'] }];
    const changed = await service.read(segmentAnswer, root, 'PATCH', one, { body: { filters } });
    expect(changed.data).toMatchObject({ name: 'First', filters });
    expect((await service.ask(root, 'PATCH', one, { body: { name: 'First' } })).status).toBe(200);
    expect((await service.ask(root, 'DELETE', one)).status).toBe(200);
    expect((await service.ask(root, 'GET', one)).status).toBe(404);
    await makeSegment({ name: 'First' });
  });

  test.each([
    [{ name: undefined }, 'name'],
    [{ name: 'x'.repeat(101) }, 'name'],
    [{ name: 'Taken' }, 'name'],
    [{ filters: undefined }, 'filters'],
    [{ filters: [] }, 'filters'],
    [{ filters: [{ name: 'colour', operator: 'is', value: ['red'] }] }, 'filters.0.name'],
    [{ filters: [{ name: 'path', operator: 'is' }] }, 'filters.0.value'],
    [{ filters: Array.from({ length: 51 }, () => GERMANY[0]) }, 'filters'],
    [
      {
        filters: [0, 1].map(() => ({
          name: 'path',
          operator: 'is',
          value: Array(10).fill('x'.repeat(4_000)),
        })),
      },
      'filters',
    ],
    [{ id: randomUUID() }, 'id'],
    [{ storedId: 'site' }, 'storedId'],
  ])('cannot be created with %j', async (change, field) => {
    const path = '/manage/projects/sister/segments';
    if ('name' in change && change.name === 'Taken') await makeSegment({ name: 'Taken' }, path);
    const body = { name: 'Another', filters: GERMANY, ...change };
    expect(await rejected('POST', path, body)).toMatchObject(naming(field));
  });

  test('are limited for each site', async () => {
    await service.makeSite(root, 'Full');
    const path = '/manage/projects/full/segments';
    for (let made = 0; made < SEGMENTS_MAX; made += 1) await makeSegment({ name: `${made}` }, path);
    expect(await rejected('POST', path, { name: 'more', filters: GERMANY })).toMatchObject(naming('body'));
  });

  test('are known to every question by id or exact name, in every process, until they are deleted', async () => {
    const { id } = await makeSegment({ name: 'Known & named' });
    const named = `segment=${encodeURIComponent('Known & named')}`;
    const unknown = (name: string) => ({ status: 400, message: `segment: no such segment: "${name}"` });
    const away = { status: 503, message: expect.anything() };
    for (const path of [
      '/insights/site/metrics?',
      '/insights/site/country?',
      '/insights/site/goals?',
      '/insights/site/active_users?',
      '/insights/site/sessions?',
      '/export/events?',
      '/export/events.ndjson?',
      '/export/charts?series=[{"name":"*"}]&',
    ]) {
      expect(await asked(path + named), path).toMatchObject(away);
      expect(await asked(`${path}segment=${id.toUpperCase()}&${named}`), path).toMatchObject(away);
      expect(await asked(`${path}segment=known`), path).toEqual(unknown('known'));
      expect(await asked(`${path}${named}&segment=`), path).toMatchObject(away);
    }
    const metrics = `/insights/site/metrics?${named}`;
    // A segment of another site does not exist here.
    expect((await asked(`/insights/sister/metrics?${named}`, root)).status).toBe(400);
    await expect.poll(async () => (await asked(metrics, read, secondUrl)).status).toBe(503);
    const six = Array.from({ length: 6 }, () => named).join('&');
    expect(await asked(`/insights/site/metrics?${six}`)).toMatchObject(naming('segment'));
    await service.ask(root, 'DELETE', `${SEGMENTS}/${id}`);
    expect(await asked(metrics)).toEqual(unknown('Known & named'));
    await expect.poll(async () => (await asked(metrics, read, secondUrl)).status).toBe(400);
  });

  test('and filters have the limits of one list together', async () => {
    const many = Array.from({ length: 30 }, () => ({ name: 'path', operator: 'regex', value: ['a'] })).slice(
      0,
      15,
    );
    await makeSegment({ name: 'Patterns', filters: many });
    const filters = (count: number) => encodeURIComponent(JSON.stringify(many.slice(0, count)));
    const path = (count: number) => `/insights/site/pages?segment=Patterns&filters=${filters(count)}`;
    expect((await asked(path(5))).status).toBe(503);
    expect(await asked(path(6))).toMatchObject(naming('filters'));
    const long = (name: string) => ({ name, operator: 'is', value: Array(9).fill('x'.repeat(4_000)) });
    await makeSegment({ name: 'Long', filters: [long('path')] });
    const three = `/insights/site/pages?segment=Long`;
    expect((await asked(three)).status).toBe(503);
    expect(await asked(`${three}&segment=Long`)).toMatchObject(naming('filters'));
  });
});

describe('goals', () => {
  test('are an event or a page, and are created, changed and deleted', async () => {
    const event = await makeGoal({ name: 'Sign-up', type: 'event', event: 'sign_up', value: 2.5 });
    service.clock.advance(1);
    const page = await makeGoal({ name: 'Thanks', type: 'page', path: '/thanks*', filters: GERMANY });
    expect(event).toMatchObject({ type: 'event', event: 'sign_up', path: null, filters: [], value: 2.5 });
    expect(page).toMatchObject({
      type: 'page',
      event: null,
      path: '/thanks*',
      filters: GERMANY,
      value: null,
    });
    expect((await service.read(goalsAnswer, root, 'GET', GOALS)).data).toEqual([page, event]);
    const one = `${GOALS}/${page.id}`;
    const change = { path: '/danke', filters: [], value: 3 };
    const { data } = await service.read(goalAnswer, root, 'PATCH', one, { body: change });
    expect(data).toMatchObject({ name: 'Thanks', type: 'page', event: null, ...change });
    expect(
      (await service.read(goalAnswer, root, 'PATCH', one, { body: { value: null } })).data.value,
    ).toBeNull();
    expect(await rejected('PATCH', one, { event: 'sign_up' })).toMatchObject(naming('event'));
    expect(await rejected('PATCH', one, { type: 'event' })).toMatchObject(naming('type'));
    expect(await rejected('PATCH', one, { name: 'Sign-up' })).toMatchObject(naming('name'));
    expect((await service.ask(root, 'DELETE', one)).status).toBe(200);
    expect((await service.ask(root, 'GET', one)).status).toBe(404);
  });

  test.each([
    [{ name: '' }, 'name'],
    [{ type: 'revenue' }, 'type'],
    [{ event: undefined }, 'event'],
    [{ event: '' }, 'event'],
    [{ path: '/a' }, 'path'],
    [{ type: 'page', path: '/a' }, 'event'],
    [{ type: 'page', event: undefined }, 'path'],
    [{ type: 'page', event: undefined, path: 'x'.repeat(201) }, 'path'],
    [{ value: -1 }, 'value'],
    [{ value: '1' }, 'value'],
    [{ filters: [{ name: 'colour', operator: 'is', value: ['red'] }] }, 'filters.0.name'],
    [{ filters: Array.from({ length: 21 }, () => GERMANY[0]) }, 'filters'],
    [{ storedId: 'site' }, 'storedId'],
  ])('cannot be created with %j', async (change, field) => {
    const body = { name: 'Another', type: 'event', event: 'sign_up', ...change };
    expect(await rejected('POST', '/manage/projects/sister/goals', body)).toMatchObject(naming(field));
  });

  test('are limited to 50 for each site', async () => {
    await service.makeSite(root, 'Busy');
    const path = '/manage/projects/busy/goals';
    const body = { type: 'event', event: 'a' };
    for (let made = 0; made < 50; made += 1) await makeGoal({ name: `${made}`, ...body }, path);
    expect(await rejected('POST', path, { name: 'more', ...body })).toMatchObject(naming('body'));
  });

  test('are known to the questions that take one, by id or exact name, until they are deleted', async () => {
    const { id } = await makeGoal({ name: 'Known goal', type: 'page', path: '/a*b*' });
    const paths = ['metrics', 'pages', 'pages/entry_exit', 'city', 'traffic/geo'];
    for (const path of paths) {
      const ask = async (name: string) => asked(`/insights/site/${path}?goal=${name}`);
      for (const name of [id, 'Known%20goal']) expect((await ask(name)).status).toBe(503);
      expect(await ask('known')).toEqual({ status: 400, message: 'goal: no such goal: "known"' });
    }
    for (const path of ['active_users', 'sessions', 'goals'])
      expect(await asked(`/insights/site/${path}?goal=${id}`)).toMatchObject(naming('goal'));
    // Ranges that memory answers without the store have no conversions.
    expect((await asked(`/insights/site/metrics?range=30min&partial=true&goal=${id}`)).status).toBe(503);
    await service.ask(root, 'DELETE', `${GOALS}/${id}`);
    for (const path of paths) expect((await asked(`/insights/site/${path}?goal=${id}`)).status).toBe(400);
  });
});

test('references are listed by range, oldest first, for the site alone', async () => {
  await service.ask(root, 'PATCH', '/manage/projects/site', { body: { timezone: 'Asia/Kolkata' } });
  const make = (projectId: string, title: string, date: string) =>
    service.ask(root, 'POST', '/manage/references', { body: { projectId, title, date } });
  await make('site', 'Last instant', '2026-02-03T23:59:59.999+05:30');
  await make('site', 'First instant', '2026-02-01');
  await make('site', 'Before', '2026-01-31T23:59:59.999+05:30');
  await make('site', 'After', '2026-02-04');
  await make('site', 'Same instant', '2026-01-31T18:30:00Z');
  await make('sister', 'Of another site', '2026-02-02');
  const list = async (more = '') => {
    const path = `/insights/site/references?startDate=2026-02-01&endDate=2026-02-03${more}`;
    return service.read(referencesAnswer, read, 'GET', path);
  };
  const all = await list();
  expect(all.map(({ date }) => date)).toEqual([
    ...['2026-01-31T18:30:00.000Z', '2026-01-31T18:30:00.000Z', '2026-02-03T18:29:59.999Z'],
  ]);
  expect(all.map(({ title }) => title).toSorted()).toEqual(['First instant', 'Last instant', 'Same instant']);
  expect(await list('&limit=2')).toEqual(all.slice(1));
  expect((await asked('/insights/site/references?range=8d')).status).toBe(400);
  const { data } = must(
    (await service.ask(root, 'GET', '/manage/references')).json as { data: { id: string }[] },
    '',
  );
  for (const { id } of data) await service.ask(root, 'DELETE', `/manage/references/${id}`);
  expect(await list()).toEqual([]);
});
