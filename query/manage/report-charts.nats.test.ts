import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { dashboardAnswer, reportAnswer } from './catalog-api.ts';
import { type ClientKey, type ManageService, startManageService } from './testing/manage-service.ts';

const DASHBOARDS = '/manage/projects/site/dashboards';

let service: ManageService;
let root: ClientKey;
let path: string;

beforeAll(async () => {
  service = await startManageService(['team']);
  root = must(service.roots.team, 'the team has a root client');
  await service.makeSite(root, 'Site');
  const body = { name: 'Of reports' };
  const { data } = await service.read(dashboardAnswer, root, 'POST', DASHBOARDS, { body });
  path = `${DASHBOARDS}/${data.id}/reports`;
});
afterAll(() => service.stop());

const plain = { name: 'Views', series: [{ name: 'screen_view' }] };
const series = (item: object) => ({ series: [{ name: 'a', ...item }] });
const make = async (body: object) =>
  (await service.read(reportAnswer, root, 'POST', path, { body: { ...plain, ...body } })).data;
const change = async (id: string, body: object) =>
  (await service.read(reportAnswer, root, 'PATCH', `${path}/${id}`, { body })).data;
const naming = (field: string) => ({ status: 400, message: expect.stringMatching(`^${field}: `) });

async function rejected(method: string, target: string, body: unknown): Promise<unknown> {
  const { status, json } = await service.ask(root, method, target, { body });
  expect(status).toBe(400);
  return json;
}

const breakdown = { breakdowns: [{ name: 'country' }] };
test.each([
  ['a property that is no number', series({ segment: 'property_sum', property: 'country' })],
  ['a breakdown by a profile', { breakdowns: [{ name: 'profile.email' }] }],
  ['a breakdown twice', { breakdowns: [{ name: 'country' }, { name: 'country' }] }],
  ['a formula over more series than there are', { formula: 'A / B' }],
  ['a filter by no number', series({ filters: [{ name: 'revenue', operator: 'gt', value: ['x'] }] })],
  ['an unknown segment', series({ segment: 'mean' })],
  ['too many buckets', { range: '12m', interval: 'minute' }],
  ['a range without its end', { startDate: '2026-01-01' }],
  ['contradicting dates', { range: '7d', startDate: '2026-01-01', endDate: '2026-01-02' }],
])('a report with %s is rejected at the field that a chart names', async (_name, definition) => {
  const { id } = await make({});
  const chart = new URLSearchParams({ projectId: 'site' });
  for (const [name, value] of Object.entries({ series: plain.series, ...definition }))
    chart.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  const asked = await service.ask(root, 'GET', `/export/charts?${chart}`);
  expect(asked.status).toBe(400);
  const created = await rejected('POST', path, { ...plain, ...definition });
  expect(created).toEqual(asked.json);
  expect(await rejected('PATCH', `${path}/${id}`, definition)).toEqual(asked.json);
  const { data } = await service.read(reportAnswer, root, 'GET', `${path}/${id}`);
  expect(data).toMatchObject({ range: '30d', interval: 'day', series: [{ name: 'screen_view' }] });
});

test('a report with more than 64 KiB of series, which no chart reads, is rejected', async () => {
  const long = { name: 'path', operator: 'is', value: ['x'.repeat(4_096)] };
  const body = series({ filters: Array.from({ length: 17 }, () => long) });
  expect(await rejected('POST', path, { ...plain, ...body })).toMatchObject(naming('series'));
  const { id } = await make({});
  expect(await rejected('PATCH', `${path}/${id}`, body)).toMatchObject(naming('series'));
});

test('a report is rejected if its chart has too many figures', async () => {
  const definition = {
    series: Array.from({ length: 26 }, () => ({ name: '*' })),
    ...breakdown,
    range: 'yesterday',
    interval: 'minute',
  };
  expect(await rejected('POST', path, { ...plain, ...definition })).toMatchObject(naming('interval'));
  const { id } = await make({ ...definition, interval: 'hour' });
  expect(await rejected('PATCH', `${path}/${id}`, { interval: 'minute' })).toMatchObject(naming('interval'));
});

test('a report is checked as a whole when a part of it changes', async () => {
  const two = { series: [{ name: 'a' }, { name: 'b' }], formula: 'A / B' };
  const { id } = await make(two);
  const one = { series: [{ name: 'a' }] };
  expect(await rejected('PATCH', `${path}/${id}`, one)).toMatchObject(naming('formula'));
  expect(await change(id, { ...one, formula: null })).toMatchObject({ series: [{ name: 'a' }] });
  expect(await rejected('PATCH', `${path}/${id}`, { formula: 'A / B' })).toMatchObject(naming('formula'));
});
