import { expect, test } from 'vitest';
import { SESSIONS_COLUMNS } from '../../processor/rows.ts';
import { readParameters } from '../http/parameters.ts';
import { listQuery, trafficQueries } from './breakdown-api.ts';
import { columnsText, DIMENSION_NAMES, dimensionOf, isDimensionName, rollupTableOf } from './dimensions.ts';
import { entryExitQuery } from './pages-api.ts';

test('the dimensions are those of the API', () => {
  const names =
    'referrer referrer_name referrer_type utm_source utm_medium utm_campaign utm_term utm_content country region city ' +
    'entry_hostname device brand model browser browser_version os os_version channel language timezone screen';
  expect([...DIMENSION_NAMES].sort()).toEqual(names.split(' ').sort());
});

test.each(DIMENSION_NAMES)('%s is about the field of the same name', (name) => {
  const { field, column, parent } = dimensionOf(name);
  expect(field).toBe(name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()));
  if (rollupTableOf(dimensionOf(name)) === undefined) return;
  for (const one of [column, parent ?? column]) expect(SESSIONS_COLUMNS).toContain(one);
});

test('regions, cities, models and versions come with their parent', () => {
  const texts = DIMENSION_NAMES.filter((name) => dimensionOf(name).parent !== undefined).map((name) =>
    columnsText(dimensionOf(name)),
  );
  expect(texts).toEqual([
    'country AS prefix, region AS name',
    'country AS prefix, city AS name',
    'brand AS prefix, model AS name',
    'browser AS prefix, browserVersion AS name',
    'os AS prefix, osVersion AS name',
  ]);
  expect(columnsText(dimensionOf('country'))).toBe("'' AS prefix, country AS name");
});

test.each(['toString', '__proto__', 'projectId', ''])('%j is not a dimension', (text) => {
  expect(isDimensionName(text)).toBe(false);
});

test.each([
  ['', { limit: 10, cursor: 0 }],
  ['limit=1&cursor=1000000000', { limit: 1, cursor: 1_000_000_000 }],
  ['limit=1000', { limit: 1_000, cursor: 0 }],
])('?%s selects a page of rows', (query, page) => {
  expect(readParameters(query, listQuery)).toMatchObject(page);
});

test.each([
  ['limit=0', 'limit'],
  ['limit=1001', 'limit'],
  ['limit=x', 'limit'],
  ['limit=1.5', 'limit'],
  ['limit=5&limit=6', 'limit'],
  ['cursor=-1', 'cursor'],
  ['cursor=1000000001', 'cursor'],
  ['range=8d', 'range'],
  ['partial=perhaps', 'partial'],
  ['filters=x', 'filters'],
  ['filters=[{"name":"country","operator":"equals","value":["DE"]}]', 'filters.0.operator'],
])('?%s is rejected, naming %s', (query, parameter) => {
  expect(() => readParameters(query, listQuery)).toThrow(`${parameter}:`);
});

test.each([
  ['referrers', 'country', 'referrer_name'],
  ['geo', 'browser', 'country'],
  ['devices', 'referrer', 'device'],
  ['geo', 'timezone', 'country'],
] as const)('traffic/%s rejects the dimension %s, and its default is %s', (name, foreign, usual) => {
  const schema = trafficQueries[name];
  expect(schema.safeParse({ breakdown: foreign }).success).toBe(false);
  expect(schema.safeParse({}).data?.breakdown).toBe(usual);
});

test.each(['language', 'timezone', 'screen'] as const)(
  'traffic/devices can be broken down by %s',
  (breakdown) => {
    expect(trafficQueries.devices.safeParse({ breakdown }).data?.breakdown).toBe(breakdown);
  },
);

test('entry pages are the default, exit pages have a mode', () => {
  expect(readParameters('', entryExitQuery).mode).toBe('entry');
  expect(readParameters('mode=exit', entryExitQuery).mode).toBe('exit');
  expect(() => readParameters('mode=both', entryExitQuery)).toThrow('mode:');
});
