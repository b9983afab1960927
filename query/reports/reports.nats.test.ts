import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { encodeJson } from '../../infra/bus/mirror.ts';
import { dashboardAnswer, reportAnswer } from '../manage/catalog-api.ts';
import { type ClientKey, type ManageService, startManageService } from '../manage/testing/manage-service.ts';
import { CHART_TYPES, reportListAnswer, reportSchema } from './report-api.ts';

const DASHBOARDS = '/manage/projects/site/dashboards';

let service: ManageService;
let root: ClientKey;
let path: string;
let dashboardId: string;

beforeAll(async () => {
  service = await startManageService(['team', 'other']);
  root = must(service.roots.team, 'the team has a root client');
  await service.makeSite(root, 'Site');
  await service.makeSite(root, 'Second');
  const body = { name: 'Growth' };
  const { data } = await service.read(dashboardAnswer, root, 'POST', DASHBOARDS, { body });
  dashboardId = data.id;
  path = `${DASHBOARDS}/${data.id}/reports`;
});
afterAll(() => service.stop());

const views = [{ name: 'screen_view' }];
const steps = [{ name: 'screen_view' }, { name: 'signup' }];
const make = async (body: object) =>
  (await service.read(reportAnswer, root, 'POST', path, { body: { name: 'A report', ...body } })).data;
const rejected = async (method: string, target: string, body: unknown) =>
  await service.ask(root, method, target, { body });
const naming = (field: string) => ({
  status: 400,
  json: expect.objectContaining({ message: expect.stringMatching(`^${field.replaceAll('.', '\\.')}: `) }),
});
const listed = (query = '') => service.read(reportListAnswer, root, 'GET', `/insights/site/reports${query}`);

test.each([
  [{ chartType: 'funnel', series: steps }],
  [
    {
      chartType: 'funnel',
      series: [{ name: '*', filters: [{ name: 'path', operator: 'is', value: ['/'] }] }, { name: 'signup' }],
      breakdowns: [{ name: 'country' }],
      options: { windowHours: 48, groupBy: 'profile_id', filters: [{ name: 'os', operator: 'isNotNull' }] },
    },
  ],
  [{ chartType: 'retention' }],
  [
    {
      chartType: 'retention',
      interval: 'week',
      range: '3m',
      options: { firstEvent: 'signup', event: 'sale' },
    },
  ],
  [{ chartType: 'retention', series: [{ name: '*' }, { name: 'sale' }] }],
  [{ chartType: 'sankey' }],
  [
    {
      chartType: 'sankey',
      options: { by: 'events', start: 'signup', direction: 'backward', depth: 8, limit: 30 },
    },
  ],
])('a report %o is saved as it was sent', async (definition) => {
  const { series = [], ...others } = definition as { series?: readonly object[] };
  const report = await make(definition);
  expect(report).toMatchObject({ ...others, series });
  const read = await service.read(reportAnswer, root, 'GET', `${path}/${report.id}`);
  expect(read.data).toEqual(report);
});

test.each([
  ['linear', {}, 'series'],
  ['linear', { series: views, options: { depth: 2 } }, 'options.depth'],
  ['map', { series: views, options: { filters: [] } }, 'options.filters'],
  ['funnel', { series: views }, 'series'],
  ['funnel', { series: Array.from({ length: 11 }, () => views[0]) }, 'series'],
  ['funnel', { series: [...steps, { name: 'a', segment: 'user' }] }, 'series.2.segment'],
  ['funnel', { series: steps, breakdowns: [{ name: 'os' }, { name: 'city' }] }, 'breakdowns'],
  ['funnel', { series: steps, breakdowns: [{ name: 'groups' }] }, 'breakdowns.0.name'],
  ['funnel', { series: steps, formula: 'A / B' }, 'formula'],
  ['funnel', { series: steps, options: { windowHours: 721 } }, 'options.windowHours'],
  ['funnel', { series: steps, options: { start: '/' } }, 'options.start'],
  ['funnel', { series: steps, range: 'custom' }, 'startDate'],
  ['retention', { interval: 'hour' }, 'interval'],
  ['retention', { range: '12m' }, 'interval'],
  ['retention', { series: [...steps, { name: 'a' }] }, 'series'],
  ['retention', { series: steps, options: { event: 'a' } }, 'options.event'],
  [
    'retention',
    { series: [{ name: 'a', filters: [{ name: 'os', operator: 'isNull' }] }] },
    'series.0.filters',
  ],
  ['retention', { breakdowns: [{ name: 'os' }] }, 'breakdowns'],
  ['retention', { options: { windowHours: 2 } }, 'options.windowHours'],
  ['sankey', { series: views }, 'series'],
  ['sankey', { options: { depth: 9 } }, 'options.depth'],
  ['sankey', { options: { colour: 'red' } }, 'options.colour'],
  [
    'sankey',
    { options: { filters: [{ name: 'no-such', operator: 'is', value: ['a'] }] } },
    'options.filters.0.name',
  ],
  ['sankey', { startDate: '2026-01-02', endDate: '2026-01-01' }, 'endDate'],
])(
  'a %s with %o cannot be saved, created or changed, and the response names %s',
  async (chartType, definition, field) => {
    const body = { chartType, ...definition };
    expect(await rejected('POST', path, { name: 'No', ...body })).toMatchObject(naming(field));
    const { id } = await make({ series: views });
    const change = chartType === 'linear' && !('series' in definition) ? { series: [] } : body;
    const cleared = 'series' in definition || chartType === 'linear' ? change : { ...change, series: [] };
    expect(await rejected('PATCH', `${path}/${id}`, cleared)).toMatchObject(naming(field));
    const { data } = await service.read(reportAnswer, root, 'GET', `${path}/${id}`);
    expect(data).toMatchObject({ chartType: 'linear', series: views });
  },
);

test('options go with null, and when the report becomes one of another kind', async () => {
  const { id } = await make({ chartType: 'sankey', options: { depth: 2 } });
  const change = async (body: object) =>
    (await service.read(reportAnswer, root, 'PATCH', `${path}/${id}`, { body })).data;
  expect(await change({ name: 'Same' })).toMatchObject({ options: { depth: 2 } });
  expect(await change({ options: null })).not.toHaveProperty('options');
  expect(await change({ options: { depth: 3 } })).toMatchObject({ options: { depth: 3 } });
  expect(await change({ chartType: 'funnel', series: steps })).not.toHaveProperty('options');
});

test('the list has the reports of every dashboard of the site, newest first, in pages', async () => {
  const body = { name: 'Another' };
  const { data: other } = await service.read(dashboardAnswer, root, 'POST', DASHBOARDS, { body });
  service.clock.advance(1_000);
  const target = `${DASHBOARDS}/${other.id}/reports`;
  const dated = { startDate: '2026-01-01', endDate: '2026-01-31' };
  const { data: newest } = await service.read(reportAnswer, root, 'POST', target, {
    body: { name: 'Newest', series: views, ...dated },
  });
  const all = await listed('?limit=1000');
  expect(all[0]).toEqual({
    ...{
      id: newest.id,
      dashboardId: other.id,
      dashboardName: 'Another',
      position: 0,
      name: 'Newest',
      chartType: 'linear',
    },
    ...{ range: 'custom', ...dated, interval: 'day' },
    ...{ createdAt: newest.createdAt, updatedAt: newest.updatedAt },
  });
  expect(all.slice(1).every(({ dashboardName }) => dashboardName === 'Growth')).toBe(true);
  expect([...all].sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1)).at(0)).toEqual(all[0]);
  expect([...(await listed('?limit=2')), ...(await listed('?limit=2&cursor=2'))]).toEqual(all.slice(0, 4));
  const { headers } = await service.ask(root, 'GET', '/insights/site/reports?limit=2');
  expect(headers.get('x-next-cursor')).toBe('2');
  expect(await service.read(reportListAnswer, root, 'GET', '/insights/second/reports')).toEqual([]);
  await service.ask(root, 'DELETE', `${DASHBOARDS}/${other.id}`);
  expect((await listed('?limit=1000')).map(({ id }) => id)).not.toContain(newest.id);
});

test('the list says the place of each report on its dashboard: new ones first, then the others as they are arranged', async () => {
  const body = { name: 'Arranged' };
  const { data: board } = await service.read(dashboardAnswer, root, 'POST', DASHBOARDS, { body });
  const target = `${DASHBOARDS}/${board.id}`;
  const make = async (name: string) => {
    service.clock.advance(1_000);
    const asked = { body: { name, series: views } };
    return (await service.read(reportAnswer, root, 'POST', `${target}/reports`, asked)).data.id;
  };
  const shown = async () =>
    (await listed('?limit=1000'))
      .filter(({ dashboardId }) => dashboardId === board.id)
      .sort((a, b) => a.position - b.position)
      .map(({ name, position }) => `${position} ${name}`);
  const [a, b, c] = [await make('a'), await make('b'), await make('c')];
  expect(await shown()).toEqual(['0 c', '1 b', '2 a']);
  const arrange = (reportOrder: readonly string[]) =>
    service.read(dashboardAnswer, root, 'PATCH', target, { body: { reportOrder } });
  const { data } = await arrange([b, a.toUpperCase(), dashboardId, c]);
  expect(data).toMatchObject({ name: 'Arranged', reportOrder: [b, a, dashboardId, c] });
  expect(await shown()).toEqual(['0 b', '1 a', '2 c']);
  await make('d');
  await service.ask(root, 'DELETE', `${target}/reports/${a}`);
  expect(await shown()).toEqual(['0 d', '1 b', '2 c']);
});

test('a report of another site, of another team or of none is unknown', async () => {
  const { id } = await make({ series: views });
  const statusOf = async (target: string, client = root) => (await service.ask(client, 'GET', target)).status;
  expect(await statusOf(`/insights/second/reports/${id}/data`)).toBe(404);
  expect(await statusOf(`/insights/site/reports/${dashboardId}/data`)).toBe(404);
  expect(
    await statusOf(`/insights/site/reports/${id}/data`, must(service.roots.other, 'a root client')),
  ).toBe(404);
  expect(await statusOf('/insights/site/reports/x/data')).toBe(404);
  expect(await statusOf('/insights/none/reports')).toBe(404);
  expect(await statusOf(`/insights/site/reports/${id}/data?limit=1`)).toBe(400);
  // The service of this test has no store: the report is known, and cannot be drawn now.
  expect(await statusOf(`/insights/site/reports/${id}/data`)).toBe(503);
});

test('records of the version before stay readable, and one that cannot be drawn says so', async () => {
  const shown = await make({ series: views });
  const { createdAt, updatedAt } = shown;
  const before = {
    ...{ projectId: 'site', dashboardId, name: 'Before', range: '30d', interval: 'day', breakdowns: [] },
    ...{ createdAt, updatedAt, series: [{ name: 'screen_view', segment: 'event' }] },
  };
  const storedIdOf = async () => {
    const bytes = must(await service.control.get(`report.${shown.id}`), 'the report is stored').bytes;
    return reportSchema.parse(JSON.parse(Buffer.from(must(bytes, 'it has a value')).toString())).storedId;
  };
  const storedId = await storedIdOf();
  const ids: Record<string, string> = {};
  for (const [index, chartType] of ['conversion', 'funnel', 'retention', 'linear'].entries()) {
    const id = `00000000-0000-4000-8000-00000000000${index}`;
    ids[chartType] = id;
    await service.control.put(`report.${id}`, encodeJson({ ...before, id, storedId, chartType }), 0);
  }
  await expect
    .poll(async () => (await listed('?limit=1000')).map(({ id }) => id))
    .toEqual(expect.arrayContaining(Object.values(ids)));
  const typeOf = async (id: string) =>
    (await service.read(reportAnswer, root, 'GET', `${path}/${id}`)).data.chartType;
  expect(await typeOf(ids.conversion ?? '')).toBe('linear');
  expect(await typeOf(ids.retention ?? '')).toBe('retention');
  const asked = async (id = '') => service.ask(root, 'GET', `/insights/site/reports/${id}/data`);
  expect(await asked(ids.funnel)).toMatchObject(naming('series'));
  for (const id of [ids.conversion, ids.retention, ids.linear]) expect((await asked(id)).status).toBe(503);
});

test('every chart type can be saved', async () => {
  for (const chartType of CHART_TYPES) {
    const series = chartType === 'sankey' ? [] : steps;
    expect((await make({ chartType, series })).chartType).toBe(chartType);
  }
});
