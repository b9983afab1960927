import { describe, expect, test } from 'vitest';
import { exportQuery, metricsQuery } from '../api.ts';
import { chartsQuery } from '../export/charts-api.ts';
import { eventListQuery } from '../insights/event-list-api.ts';
import { sessionListQuery } from '../insights/session-list-api.ts';
import { propertyValuesQuery } from '../insights/vocabulary-api.ts';
import { noParameters } from '../manage/parameters.ts';
import { foreignParameters } from './foreign-parameters.ts';
import { readParameters } from './parameters.ts';

test.each([
  ['range=8d', 'range:'],
  ['interval=fortnight', 'interval:'],
  ['filters=nonsense', 'filters:'],
  ['filters={}', 'filters:'],
  ['filters=7', 'filters:'],
  ['filters={"name":"path"}', 'filters.0.operator:'],
  ['filters=[{"name":"path","operator":"is"}]', 'filters.0.value:'],
  ['filters=[{"name":"nothing","operator":"is","value":["/"]}]', 'filters.0.name:'],
  ['partial=perhaps', 'partial:'],
  ['range=7d&range=30d', 'range:'],
])('metrics?%s is rejected, naming %s', (query, name) => {
  expect(() => readParameters(query, metricsQuery)).toThrow(name);
});

test.each([
  ['page=0', 'page:'],
  ['page=-1', 'page:'],
  ['page=1.5', 'page:'],
  ['limit=0', 'limit:'],
  ['limit=many', 'limit:'],
  ['includes=properties,secrets', 'includes.1:'],
  ['filters=[1]', 'filters.0:'],
])('export?%s is rejected, naming %s', (query, name) => {
  expect(() => readParameters(query, exportQuery)).toThrow(name);
});

test('a missing or empty parameter has its default', () => {
  expect(readParameters('range=&filters=[]', metricsQuery)).toEqual({
    filters: [],
    segment: [],
    partial: false,
  });
  expect(readParameters('', exportQuery)).toEqual({
    event: [],
    limit: 50,
    filters: [],
    segment: [],
    includes: [],
    partial: false,
  });
});

test('values stay texts, events repeat, and a limit is clamped', () => {
  const query = 'profileId=007&event=a&event=b&limit=5000&includes=geo,%20utm&page=2';
  expect(readParameters(query, exportQuery)).toMatchObject({
    profileId: '007',
    event: ['a', 'b'],
    limit: 1000,
    includes: ['geo', 'utm'],
    page: 2,
  });
});

const COUNTRY = { name: 'country', operator: 'is', value: ['DE'] };
const BROWSER = { name: 'browser', operator: 'isNot', value: ['Opera', 'Edge'] };

describe('unknown parameters', () => {
  test.each([
    ['foo=1', 'foo: no such parameter'],
    ['foo=', 'foo: no such parameter'],
    ['foo', 'foo: no such parameter'],
    ['Range=7d', 'Range: no such parameter'],
    ['range=7d&cb=1&_=2&cb=3', 'cb, _: no such parameter'],
    ['range[from]=1&filters[a]=1', 'range[from], filters[a]: no such parameter'],
    ['__proto__=1&constructor=2', '__proto__, constructor: no such parameter'],
    ['=1', '"": no such parameter'],
    ['range=8d&foo=1', 'foo: no such parameter'],
  ])('metrics?%s is rejected, naming all of them', (query, message) => {
    expect(() => readParameters(query, metricsQuery)).toThrow(message);
  });

  test('the message names what the endpoint takes', () => {
    expect(() => readParameters('foo=1', metricsQuery)).toThrow(
      'foo: no such parameter; expected range, startDate, endDate, filters, segment, partial, goal, interval',
    );
    expect(() => readParameters('foo=1', noParameters)).toThrow('foo: no such parameter; expected none');
  });

  test('a long list of long names is cut', () => {
    const query = Array.from({ length: 100 }, (_, index) => `${'x'.repeat(1_000)}${index}=1`).join('&');
    const error = errorOf(() => readParameters(query, noParameters));
    expect(error).toMatch(/ and 90 more: no such parameter/);
    expect(error.length).toBeLessThan(1_200);
  });
});

describe('a list', () => {
  test.each([
    ['event=a&event=b', ['a', 'b']],
    ['event[]=a&event[]=b', ['a', 'b']],
    ['event%5B%5D=a&event%5B%5D=b', ['a', 'b']],
    ['event[0]=a&event[1]=b', ['a', 'b']],
    ['event[1]=b&event[0]=a', ['a', 'b']],
    ['event=["a","b"]', ['a', 'b']],
    ['event=[]', []],
    ['event[]=a', ['a']],
    ['event=a', ['a']],
    ['event=[a]', ['[a]']],
    ['event=a,b', ['a,b']],
    ['event=a&event[]=b&event[7]=c', ['a', 'b', 'c']],
  ])('of texts is read from %s', (query, event) => {
    expect(readParameters(query, exportQuery)).toMatchObject({ event });
  });

  test.each([
    'includes=geo&includes=utm',
    'includes=geo,utm',
    'includes[]=geo&includes[]=utm',
    'includes[0]=geo&includes[1]=utm',
    'includes=["geo","utm"]',
  ])('of includes is read from %s', (query) => {
    expect(readParameters(query, exportQuery)).toMatchObject({ includes: ['geo', 'utm'] });
  });

  const whole = readParameters(queryOf({ filters: JSON.stringify([COUNTRY, BROWSER]) }), metricsQuery);
  test.each([
    queryOf({ filters: JSON.stringify(COUNTRY) }, { filters: JSON.stringify(BROWSER) }),
    queryOf({ 'filters[]': JSON.stringify(COUNTRY) }, { 'filters[]': JSON.stringify(BROWSER) }),
    queryOf({ 'filters[0]': JSON.stringify(COUNTRY) }, { 'filters[1]': JSON.stringify(BROWSER) }),
    'filters[0][name]=country&filters[0][operator]=is&filters[0][value][0]=DE&filters[1][name]=browser&filters[1][operator]=isNot&filters[1][value][0]=Opera&filters[1][value][1]=Edge',
    'filters[0][name]=country&filters[0][operator]=is&filters[0][value][]=DE&filters[1][name]=browser&filters[1][operator]=isNot&filters[1][value][]=Opera&filters[1][value][]=Edge',
    'filters[0][name]=country&filters[0][operator]=is&filters[0][value]=DE&filters[1][name]=browser&filters[1][operator]=isNot&filters[1][value]=Opera&filters[1][value]=Edge',
    queryOf({ 'filters[0]': JSON.stringify(COUNTRY) }, { 'filters[0]': JSON.stringify(BROWSER) }),
  ])('of filters is read from %s', (query) => {
    expect(whole.filters).toHaveLength(2);
    expect(readParameters(query, metricsQuery)).toEqual(whole);
  });

  test('of series and of breakdowns is read in the same forms', () => {
    const json = queryOf({ series: '[{"name":"a"},{"name":"b"}]', breakdowns: '[{"name":"country"}]' });
    const expected = readParameters(json, chartsQuery);
    for (const query of [
      'series[0][name]=a&series[1][name]=b&breakdowns[0][name]=country',
      queryOf({ series: '{"name":"a"}' }, { series: '{"name":"b"}', 'breakdowns[]': '{"name":"country"}' }),
    ])
      expect(readParameters(query, chartsQuery)).toEqual(expected);
  });

  test.each([
    ['filters[0][name]=country&filters[0][name]=city&filters[0][operator]=is', 'filters.0.name:'],
    ['filters[0][name]=country&filters[0][operator]=is&filters[0][value][x]=DE', 'filters.0.value:'],
    ['filters=[{"name":"country","operator":"is","value":"DE"}]', 'filters.0.value:'],
    ['filters=x&filters=y', 'filters.0:'],
    ['filters[x][y]=1', 'filters[x][y]: no such parameter'],
    ['filters[0', 'filters[0: no such parameter'],
    ['filters[99999999]=1', 'filters.0:'],
  ])('that is malformed is rejected: %s', (query, message) => {
    expect(() => readParameters(query, metricsQuery)).toThrow(message);
  });
});

test.each([
  ['range=7d&range=30d', 'range: expected one value, not 2'],
  ['range=7d&range=7d', 'range: expected one value, not 2'],
  ['limit=1&limit=2&limit=3', 'limit: expected one value, not 3'],
  ['cursor[]=1', 'cursor: expected one value, not a list'],
  ['cursor[0]=1', 'cursor: expected one value, not a list'],
])('a single parameter that is sent as a list is rejected: %s', (query, message) => {
  expect(() => readParameters(query, eventListQuery)).toThrow(message);
});

describe('what clients of the de-facto API send', () => {
  const events = '/insights/:projectId/events';
  const read = (query: string, schema: typeof eventListQuery, pattern: string) =>
    readParameters(query, schema, foreignParameters(pattern));

  test('has the same meaning under our names', () => {
    expect(read('eventNames=a&eventNames=b&limit=20', eventListQuery, events)).toMatchObject({
      event: ['a', 'b'],
      limit: 20,
    });
    expect(
      readParameters(
        'eventName=a&propertyKey=plan',
        propertyValuesQuery,
        foreignParameters(`${events}/property_values`),
      ),
    ).toMatchObject({ event: ['a'], property: 'plan' });
    expect(
      readParameters(
        'startDate=2026-01-01&endDate=2026-01-02',
        exportQuery,
        foreignParameters('/export/events'),
      ),
    ).toMatchObject({ start: '2026-01-01', end: '2026-01-02' });
    const series = '[{"name":"a"}]';
    expect(
      readParameters(queryOf({ events: series }), chartsQuery, foreignParameters('/export/charts')),
    ).toEqual(readParameters(queryOf({ series }), chartsQuery));
  });

  test('filters by fields as our filters do', () => {
    const filters = (list: object[]) =>
      readParameters(queryOf({ filters: JSON.stringify(list) }), metricsQuery);
    const path = { name: 'path', operator: 'is', value: ['/a'] };
    const type = { name: 'referrer_type', operator: 'is', value: ['search'] };
    const plan = { name: 'properties.plan', operator: 'is', value: ['pro'] };
    for (const properties of ['properties[plan]=pro', queryOf({ properties: '{"plan":"pro"}' })])
      expect(read(`${properties}&path=/a&referrerType=search`, eventListQuery, events).filters).toEqual(
        expect.arrayContaining([...filters([path, type, plan]).filters]),
      );
    const both = queryOf({ country: 'DE', filters: JSON.stringify([BROWSER]) });
    expect(
      readParameters(both, sessionListQuery, foreignParameters('/insights/:projectId/sessions')).filters,
    ).toEqual(filters([BROWSER, COUNTRY]).filters);
  });

  test('that only says how a chart looks has no effect', () => {
    const series = queryOf({ series: '[{"name":"a"}]' });
    const foreign = foreignParameters('/export/charts');
    expect(readParameters(`${series}&chartType=linear&metric=sum`, chartsQuery, foreign)).toEqual(
      readParameters(series, chartsQuery),
    );
  });

  test.each([
    ['eventNames=a&event=b', 'eventNames: cannot be combined with event'],
    ['country=DE&country=FR', 'country: expected one value, not 2'],
    ['properties=nonsense', 'properties: expected a JSON object of texts'],
    ['filters=nonsense&country=DE', 'filters:'],
  ])('is rejected where it makes no sense: %s', (query, message) => {
    expect(() => read(query, eventListQuery, events)).toThrow(message);
  });

  test('is unknown elsewhere', () => {
    expect(() =>
      readParameters('eventNames=a', metricsQuery, foreignParameters('/insights/:projectId/metrics')),
    ).toThrow('eventNames: no such parameter');
  });
});

function queryOf(...parts: readonly Readonly<Record<string, string>>[]): string {
  return parts.map((part) => new URLSearchParams(part).toString()).join('&');
}

function errorOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return String(error);
  }
  return '';
}
