import { expect, test } from 'vitest';
import { exportQuery, metricsQuery } from '../api.ts';
import { readParameters } from './parameters.ts';

test.each([
  ['range=8d', 'range:'],
  ['interval=fortnight', 'interval:'],
  ['filters=nonsense', 'filters:'],
  ['filters={}', 'filters:'],
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
  expect(readParameters('range=&filters=[]', metricsQuery)).toEqual({ filters: [], partial: false });
  expect(readParameters('', exportQuery)).toEqual({
    event: [],
    limit: 50,
    filters: [],
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
