import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { encodeJson } from '../../infra/bus/mirror.ts';
import { SEGMENTS } from '../export/chart-fields.ts';
import { SERIES_TYPES } from '../reports/report-api.ts';
import {
  dashboardAnswer,
  dashboardsAnswer,
  referenceAnswer,
  referencesAnswer,
  reportAnswer,
  reportsAnswer,
} from './catalog-api.ts';
import { makeSiteWithAll } from './testing/fixtures.ts';
import { type ClientKey, type ManageService, startManageService } from './testing/manage-service.ts';

const REFERENCES = '/manage/references';
const DASHBOARDS = '/manage/projects/site/dashboards';

let service: ManageService;
let root: ClientKey;
let secondUrl: string;

beforeAll(async () => {
  service = await startManageService(['team']);
  root = must(service.roots.team, 'the team has a root client');
  await service.makeSite(root, 'Site');
  await service.makeSite(root, 'Sister');
  secondUrl = await service.serve();
});
afterAll(() => service.stop());

const statusOf = async (method: string, path: string) => (await service.ask(root, method, path)).status;

async function rejected(method: string, path: string, body: unknown): Promise<unknown> {
  const { status, json } = await service.ask(root, method, path, { body });
  expect(status).toBe(400);
  return json;
}
const naming = (field: string) => ({ status: 400, message: expect.stringMatching(`^${field}: `) });

/** Asserts that a record can be read, changed with its ETag, changed concurrently without loss, and deleted once. */
async function goesThroughLife(path: string, changes: readonly object[]): Promise<void> {
  const { etag, json: before } = await service.ask(root, 'GET', path);
  const patch = (body: object, tag = '') =>
    service.ask(root, 'PATCH', path, { body, headers: { 'if-match': tag } });
  service.clock.advance(1);
  const unchanged = await patch({}, etag);
  expect(unchanged.status).toBe(200);
  const updatedAt = new Date(service.clock.nowMs()).toISOString();
  expect(unchanged.json).toEqual({ data: { ...dataOf(before), updatedAt } });
  expect((await patch({}, etag)).status).toBe(412);
  const answers = await Promise.all(changes.map((change) => patch(change)));
  expect(answers.map(({ status }) => status)).toEqual(changes.map(() => 200));
  const after = await service.ask(root, 'GET', path);
  expect(dataOf(after.json)).toEqual({ ...dataOf(unchanged.json), ...Object.assign({}, ...changes) });
  const elsewhere = () => service.ask(root, 'GET', path, { baseUrl: secondUrl });
  await expect.poll(async () => (await elsewhere()).text).toBe(after.text);

  const removal = { headers: { 'if-match': etag } };
  expect((await service.ask(root, 'DELETE', path, removal)).status).toBe(412);
  const removed = await service.ask(root, 'DELETE', path, { headers: { 'if-match': after.etag } });
  expect(removed.json).toEqual(after.json);
  for (const method of ['GET', 'DELETE']) expect(await statusOf(method, path)).toBe(404);
  expect((await patch({})).status).toBe(404);
  await expect.poll(async () => (await elsewhere()).status).toBe(404);
}

function dataOf(json: unknown): object {
  return must((json as { data?: object }).data, 'it has data');
}

describe('references', () => {
  const make = async (body: object) => {
    const all = { projectId: 'site', title: 'Launch', date: '2026-03-01', ...body };
    return (await service.read(referenceAnswer, root, 'POST', REFERENCES, { body: all })).data;
  };

  test('have a date, a title and a description', async () => {
    const reference = await make({ title: ' Launch ' });
    expect(reference).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      projectId: 'site',
      title: 'Launch',
      description: '',
      date: '2026-03-01T00:00:00.000Z',
      createdAt: new Date(service.clock.nowMs()).toISOString(),
      updatedAt: reference.createdAt,
    });
    await goesThroughLife(`${REFERENCES}/${reference.id}`, [
      { title: 'Relaunch' },
      { description: 'once more' },
      { date: '2026-04-01T08:30:00.000Z' },
    ]);
  });

  test("begin with the site's midnight where they name a day, and are at an instant otherwise", async () => {
    const zone = { body: { timezone: 'Asia/Kolkata' } };
    await service.ask(root, 'PATCH', '/manage/projects/sister', zone);
    const at = async (date: string) => (await make({ projectId: 'sister', date })).date;
    expect(await at('2026-03-01')).toBe('2026-02-28T18:30:00.000Z');
    expect(await at('2026-03-01T12:00')).toBe('2026-03-01T06:30:00.000Z');
    expect(await at('2026-03-01T12:00:00.5+01:00')).toBe('2026-03-01T11:00:00.500Z');
    const { id } = await make({ projectId: 'sister', date: '2026-03-01' });
    const body = { date: '2026-03-02' };
    const { data } = await service.read(referenceAnswer, root, 'PATCH', `${REFERENCES}/${id}`, { body });
    expect(data.date).toBe('2026-03-01T18:30:00.000Z');
  });

  test.each([
    [{ title: undefined }, 'title'],
    [{ title: ' ' }, 'title'],
    [{ title: 'x'.repeat(201) }, 'title'],
    [{ description: 7 }, 'description'],
    [{ description: 'x'.repeat(2_001) }, 'description'],
    [{ date: undefined }, 'date'],
    [{ date: 'tomorrow' }, 'date'],
    [{ date: '2026-02-30' }, 'date'],
    [{ date: 1_772_323_200_000 }, 'date'],
    [{ projectId: undefined }, 'projectId'],
    [{ id: randomUUID() }, 'id'],
    [{ storedId: 'site' }, 'storedId'],
  ])('cannot be created with %j', async (change, field) => {
    const body = { projectId: 'site', title: 'Launch', date: '2026-03-01', ...change };
    expect(await rejected('POST', REFERENCES, body)).toMatchObject(naming(field));
  });

  test.each([
    [{ title: '' }, 'title'],
    [{ date: '' }, 'date'],
    [{ description: null }, 'description'],
    [{ projectId: 'sister' }, 'projectId'],
  ])('cannot be changed to %j', async (body, field) => {
    const { id } = await make({});
    expect(await rejected('PATCH', `${REFERENCES}/${id}`, body)).toMatchObject(naming(field));
  });

  test('are limited to 1,000 per site', async () => {
    await service.makeSite(root, 'Full of references');
    const projectId = 'full-of-references';
    const at = new Date(service.clock.nowMs()).toISOString();
    const stored = { projectId, storedId: projectId, title: 'a', description: '', date: at, createdAt: at };
    const ids = Array.from({ length: 1_000 }, () => randomUUID());
    await Promise.all(
      ids.map((id) =>
        service.control.put(`reference.${id}`, encodeJson({ ...stored, id, updatedAt: at }), 0),
      ),
    );
    const list = async () =>
      (await service.read(referencesAnswer, root, 'GET', `${REFERENCES}?projectId=${projectId}`)).data;
    await expect.poll(async () => (await list()).length).toBe(1_000);
    const body = { projectId, title: 'one more', date: '2026-03-01' };
    expect(await rejected('POST', REFERENCES, body)).toMatchObject(naming('body'));
    expect(await statusOf('DELETE', `${REFERENCES}/${ids[0]}`)).toBe(200);
    await make({ projectId });
  });

  test('are listed newest first, for all sites or for one', async () => {
    await service.makeSite(root, 'Third');
    await service.makeSite(root, 'Fourth');
    const ids: string[] = [];
    for (const projectId of ['third', 'fourth', 'third']) {
      service.clock.advance(1);
      ids.unshift((await make({ projectId })).id);
    }
    const list = async (query: string) =>
      (await service.read(referencesAnswer, root, 'GET', REFERENCES + query)).data.map(({ id }) => id);
    expect((await list('')).slice(0, 3)).toEqual(ids);
    expect(await list('?projectId=third')).toEqual([ids[0], ids[2]]);
    expect(await statusOf('GET', `${REFERENCES}?projectId=none`)).toBe(404);
  });
});

describe('dashboards', () => {
  const make = async (body: object, path = DASHBOARDS) =>
    (await service.read(dashboardAnswer, root, 'POST', path, { body })).data;

  test('have a name', async () => {
    const dashboard = await make({ name: 'Overview' });
    const { id, createdAt, updatedAt } = dashboard;
    expect(dashboard).toEqual({
      id,
      projectId: 'site',
      name: 'Overview',
      reportOrder: [],
      createdAt,
      updatedAt,
    });
    await goesThroughLife(`${DASHBOARDS}/${id}`, [
      { name: 'Overview of all' },
      { reportOrder: [randomUUID(), randomUUID()] },
    ]);
  });

  test.each([
    [{ reportOrder: ['first'] }, 'reportOrder.0'],
    [{ reportOrder: Array.from({ length: 201 }, () => randomUUID()) }, 'reportOrder'],
  ])('cannot be changed to %j', async (body, field) => {
    const { id } = await make({ name: 'Ordered' });
    expect(await rejected('PATCH', `${DASHBOARDS}/${id}`, body)).toMatchObject(naming(field));
  });

  test.each([
    [{}, 'name'],
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(101) }, 'name'],
    [{ name: 'a', reports: [] }, 'reports'],
    [{ name: 'a', projectId: 'sister' }, 'projectId'],
  ])('cannot be created with %j', async (body, field) => {
    expect(await rejected('POST', DASHBOARDS, body)).toMatchObject(naming(field));
  });

  test('are listed newest first, each with its site', async () => {
    const path = '/manage/projects/sister/dashboards';
    const ids: string[] = [];
    for (const name of ['first', 'second']) {
      service.clock.advance(1);
      ids.unshift((await make({ name }, path)).id);
    }
    const list = await service.read(dashboardsAnswer, root, 'GET', path);
    expect(list.map(({ id }) => id)).toEqual(ids);
    for (const method of ['GET', 'DELETE']) {
      expect(await statusOf(method, `${DASHBOARDS}/${ids[0]}`)).toBe(404);
    }
    expect(await statusOf('GET', `${path}/${ids[0]}`)).toBe(200);
  });

  test('are deleted together with their reports', async () => {
    const { ids } = await makeSiteWithAll(service, root, 'Cleared');
    const path = `/manage/projects/${ids.projectId}/dashboards/${ids.dashboardId}`;
    const more = { body: { name: 'More', series: [{ name: '*' }] } };
    for (let made = 0; made < 5; made += 1) await service.ask(root, 'POST', `${path}/reports`, more);
    const { ids: other } = await makeSiteWithAll(service, root, 'Kept');
    const reports = async () =>
      (await service.control.keys()).filter((key) => key.startsWith('report.')).toSorted();
    const before = await reports();
    expect(before.length).toBeGreaterThanOrEqual(7);
    expect(await statusOf('DELETE', path)).toBe(200);
    expect(before.length - (await reports()).length).toBe(6);
    expect(await reports()).toContain(`report.${other.reportId}`);
    expect(await statusOf('GET', `${path}/reports`)).toBe(404);
    expect(await statusOf('GET', `${path}/reports/${ids.reportId}`)).toBe(404);
  });

  test('are limited to 200 per site', async () => {
    await service.makeSite(root, 'Full');
    const path = '/manage/projects/full/dashboards';
    for (let made = 0; made < 200; made += 1) await make({ name: String(made) }, path);
    expect(await rejected('POST', path, { name: 'one more' })).toMatchObject(naming('body'));
    const [newest] = await service.read(dashboardsAnswer, root, 'GET', path);
    expect(newest).toBeDefined();
    expect(await statusOf('DELETE', `${path}/${newest?.id}`)).toBe(200);
    await make({ name: 'one more' }, path);
  });
});

describe('reports', () => {
  let path: string;
  beforeAll(async () => {
    const body = { name: 'Of reports' };
    const { data } = await service.read(dashboardAnswer, root, 'POST', DASHBOARDS, { body });
    path = `${DASHBOARDS}/${data.id}/reports`;
  });

  const plain = { name: 'Views', series: [{ name: 'screen_view' }] };
  const make = async (body: object) =>
    (await service.read(reportAnswer, root, 'POST', path, { body: { ...plain, ...body } })).data;
  const change = async (id: string, body: object) =>
    (await service.read(reportAnswer, root, 'PATCH', `${path}/${id}`, { body })).data;

  test('need only a name and a series', async () => {
    const report = await make({});
    const { id, dashboardId, createdAt, updatedAt } = report;
    expect(path).toContain(dashboardId);
    expect(report).toEqual({
      id,
      projectId: 'site',
      dashboardId,
      name: 'Views',
      chartType: 'linear',
      range: '30d',
      interval: 'day',
      series: [{ name: 'screen_view', segment: 'event' }],
      breakdowns: [],
      createdAt,
      updatedAt,
    });
    await goesThroughLife(`${path}/${id}`, [
      { name: 'Views and more' },
      { chartType: 'bar' },
      { range: '7d' },
      { interval: 'hour' },
      { series: [{ name: '*', segment: 'property_sum', property: 'price' }] },
      { breakdowns: [{ name: 'country' }, { name: 'properties.plan' }] },
      { formula: 'A / (A + 1.5) * 100' },
    ]);
  });

  test('store filters unchanged', async () => {
    const filters = [
      { name: 'path', operator: 'startsWith', value: ['/blog', '/news'] },
      { id: 'x', name: 'revenue', operator: 'gt', value: [10], type: 'number' },
      { name: 'utm_source', operator: 'isNull' },
    ];
    const { id, series } = await make({ series: [{ name: 'screen_view', filters }] });
    expect(series).toEqual([{ name: 'screen_view', filters, segment: 'event' }]);
    const { data } = await service.read(reportAnswer, root, 'GET', `${path}/${id}`);
    expect(data.series).toEqual(series);
  });

  test('can have every chart type of series and every segment', async () => {
    for (const chartType of SERIES_TYPES) expect((await make({ chartType })).chartType).toBe(chartType);
    const series = SEGMENTS.map((segment) => ({ name: 'sale', segment, property: 'price' }));
    expect((await make({ series })).series).toEqual(series);
  });

  test('have a custom range with dates, and lose the dates with a named range', async () => {
    const { id, ...report } = await make({ startDate: '2026-01-01', endDate: '2026-01-31' });
    expect(report).toMatchObject({ range: 'custom', startDate: '2026-01-01', endDate: '2026-01-31' });
    expect(await change(id, { endDate: '2026-02-28' })).toMatchObject({
      range: 'custom',
      startDate: '2026-01-01',
      endDate: '2026-02-28',
    });
    const named = await change(id, { range: '7d' });
    expect(named.range).toBe('7d');
    expect(named).not.toHaveProperty('startDate');
    expect(named).not.toHaveProperty('endDate');
    const item = `${path}/${id}`;
    expect(await rejected('PATCH', item, { range: 'custom' })).toMatchObject(naming('startDate'));
    expect(await rejected('PATCH', item, { interval: 'minute' })).toMatchObject(naming('interval'));
    const contradiction = { range: '7d', startDate: '2026-01-01', endDate: '2026-01-31' };
    expect(await rejected('PATCH', item, contradiction)).toMatchObject(naming('range'));
  });

  test('lose their formula when it is set to null', async () => {
    const { id, formula } = await make({ formula: ' A*2 ' });
    expect(formula).toBe('A*2');
    expect((await change(id, { name: 'Same' })).formula).toBe('A*2');
    expect(await change(id, { formula: null })).not.toHaveProperty('formula');
  });

  const series = (item: object) => ({ series: [{ name: 'a', ...item }] });
  test.each([
    [{ name: '' }, 'name'],
    [{ chartType: 'sphere' }, 'chartType'],
    [{ chartType: 'conversion' }, 'chartType'],
    [{ range: '8d' }, 'range'],
    [{ range: 'custom' }, 'startDate'],
    [{ startDate: '2026-01-01' }, 'endDate'],
    [{ startDate: '2026-01-31', endDate: '2026-01-01' }, 'endDate'],
    [{ startDate: 'soon', endDate: '2026-01-01' }, 'startDate'],
    [{ range: '12m', interval: 'minute' }, 'interval'],
    [{ interval: 'year' }, 'interval'],
    [{ series: [] }, 'series'],
    [{ series: undefined }, 'series'],
    [{ series: Array.from({ length: 27 }, () => ({ name: 'a' })) }, 'series'],
    [series({ name: '' }), 'series.0.name'],
    [series({ segment: 'mean' }), 'series.0.segment'],
    [series({ segment: 'property_sum' }), 'series.0.property'],
    [series({ segment: 'property_min', property: '' }), 'series.0.property'],
    [series({ colour: 'red' }), 'series.0.colour'],
    [series({ filters: '[]' }), 'series.0.filters'],
    [series({ filters: [{ name: 'colour', operator: 'is', value: ['a'] }] }), 'series.0.filters.0.name'],
    [series({ filters: [{ name: 'path', operator: 'like', value: ['a'] }] }), 'series.0.filters.0.operator'],
    [series({ filters: [{ name: 'path', operator: 'is' }] }), 'series.0.filters.0.value'],
    [
      series({ filters: [{ name: 'revenue', operator: 'gt', value: [1, 'x'] }] }),
      'series.0.filters.0.value.1',
    ],
    [{ breakdowns: [{ name: 'colour' }] }, 'breakdowns.0.name'],
    [{ breakdowns: ['country'] }, 'breakdowns.0'],
    [{ breakdowns: Array.from({ length: 4 }, () => ({ name: 'country' })) }, 'breakdowns'],
    [{ formula: 'A; B' }, 'formula'],
    [{ formula: 'a+b' }, 'formula'],
    [{ formula: '' }, 'formula'],
    [{ formula: 'A'.repeat(201) }, 'formula'],
    [{ formula: 'A * (B + 1' }, 'formula'],
    [{ projectId: 'sister' }, 'projectId'],
    [{ dashboardId: randomUUID() }, 'dashboardId'],
  ])('cannot be created with %j', async (body, field) => {
    expect(await rejected('POST', path, { ...plain, ...body })).toMatchObject(naming(field));
  });

  test('are limited to 200 per dashboard', async () => {
    const body = { name: 'Full' };
    const { data } = await service.read(dashboardAnswer, root, 'POST', DASHBOARDS, { body });
    const full = `${DASHBOARDS}/${data.id}/reports`;
    for (let made = 0; made < 200; made += 1)
      await service.read(reportAnswer, root, 'POST', full, { body: plain });
    expect(await rejected('POST', full, plain)).toMatchObject(naming('body'));
    expect(await service.read(reportsAnswer, root, 'GET', full)).toHaveLength(200);
    await make({});
  });

  test('are listed newest first, each with its dashboard', async () => {
    const { ids } = await makeSiteWithAll(service, root, 'Of lists');
    const dashboards = `/manage/projects/${ids.projectId}/dashboards`;
    const reports = `${dashboards}/${ids.dashboardId}/reports`;
    service.clock.advance(1);
    const { data: newer } = await service.read(reportAnswer, root, 'POST', reports, { body: plain });
    const list = await service.read(reportsAnswer, root, 'GET', reports);
    expect(list.map(({ id }) => id)).toEqual([newer.id, ids.reportId]);

    const body = { name: 'Empty' };
    const { data: empty } = await service.read(dashboardAnswer, root, 'POST', dashboards, { body });
    const elsewhere = `${dashboards}/${empty.id}/reports`;
    expect((await service.ask(root, 'GET', elsewhere)).json).toEqual([]);
    for (const method of ['GET', 'DELETE']) {
      expect(await statusOf(method, `${elsewhere}/${newer.id}`)).toBe(404);
      expect(await statusOf(method, `${path}/${newer.id}`)).toBe(404);
    }
    expect(await statusOf('GET', `${reports}/${newer.id}`)).toBe(200);
  });
});
