import { expect, test } from 'vitest';
import { z } from 'zod';
import { exportQuery, metricsQuery } from '../api.ts';
import { chartsQuery } from '../export/charts-api.ts';
import { eventListQuery } from '../insights/event-list-api.ts';
import { funnelQuery } from '../paths/funnel-api.ts';
import { profileListQuery } from '../people/profile-list-api.ts';
import { RejectError } from '../reject.ts';
import { foreignParameters } from './foreign-parameters.ts';
import { readParameters } from './parameters.ts';
import { readBody } from './serve.ts';

const DEEP = 25_000;
const lists = '['.repeat(DEEP) + ']'.repeat(DEEP);
const objects = `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`;

/** Returns the reason for which a query string is rejected. Any other error would be a 500, or the end of the process. */
function rejectionOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof RejectError) return error.message;
    throw error;
  }
  return '';
}

test.each<readonly [name: string, schema: z.ZodType]>([
  ['filters', metricsQuery],
  ['steps', funnelQuery],
  ['series', chartsQuery],
  ['breakdowns', chartsQuery],
])('%s with brackets within brackets is rejected before anything is built', (name, schema) => {
  for (const brackets of ['[]', '[0]', '[a]', '%5B%5D']) {
    const query = `${name}${brackets.repeat(60_000 / brackets.length)}=x`;
    expect(rejectionOf(() => readParameters(query, schema))).toMatch(
      /expected (?:a name of at most 5000 characters|at most 4 pairs of brackets)$/,
    );
    const shorter = `${name}${brackets.repeat(5)}=x`;
    expect(rejectionOf(() => readParameters(shorter, schema))).toMatch(/at most 4 pairs of brackets$/);
  }
});

test.each([
  ['a', ['a']],
  ['a&b', ['a', 'b']],
  ['a&b&a', ['a', 'b', 'a']],
] as const)('the deepest form of a list that means anything is read: %s', (values, value) => {
  const below = 'series[0][filters][0]';
  const all = values.split('&').map((each) => `${below}[value]=${each}`);
  const deep = `series[0][name]=a&${below}[name]=path&${below}[operator]=is&${all.join('&')}`;
  const json = JSON.stringify([{ name: 'a', filters: [{ name: 'path', operator: 'is', value }] }]);
  expect(readParameters(deep, chartsQuery)).toEqual(
    readParameters(new URLSearchParams({ series: json }).toString(), chartsQuery),
  );
});

test.each(['[0]', '[]', '%5B%5D'])('one pair of brackets more is rejected by its number: %s', (more) => {
  const name = 'series[0][filters][0][value]';
  const shown = decodeURIComponent(name + more);
  expect(rejectionOf(() => readParameters(`${name}${more}=x`, chartsQuery))).toBe(
    `${shown}: expected at most 4 pairs of brackets`,
  );
});

test.each<readonly [name: string, schema: z.ZodType]>([
  ['filters', metricsQuery],
  ['steps', funnelQuery],
  ['series', chartsQuery],
  ['breakdowns', chartsQuery],
  ['event', exportQuery],
])('%s of JSON that is nested too deep is rejected before it is parsed', (name, schema) => {
  for (const text of [lists, objects, `[${objects}]`, `[{"name":${objects}}]`]) {
    const query = `${name}=${text}`;
    for (const sent of [query, `${name}[]=${text}`, `${query}&${query.slice(0, 1_000)}`])
      expect(rejectionOf(() => readParameters(sent.slice(0, 65_000), schema))).not.toBe('');
  }
  expect(rejectionOf(() => readParameters(`filters=${lists}`, metricsQuery))).toBe(
    'filters: lists and objects are nested deeper than 32',
  );
});

test('properties of JSON that is nested too deep are rejected', () => {
  const foreign = foreignParameters('/insights/:projectId/events');
  const query = `properties=${objects}`;
  expect(rejectionOf(() => readParameters(query, eventListQuery, foreign))).toBe(
    'properties: expected a JSON object of texts',
  );
});

test.each<readonly [name: string, schema: z.ZodType, message: string]>([
  ['filters', metricsQuery, 'filters: expected at most 50 filters'],
  ['steps', funnelQuery, 'steps: expected at most 10 steps'],
  ['series', chartsQuery, 'series: expected at most 26 series'],
  ['breakdowns', chartsQuery, 'breakdowns: expected at most 3 breakdowns'],
])('%s with too many elements is rejected before the first one is read', (name, schema, message) => {
  let reads = 0;
  const elements = Array.from({ length: 20_000 }, () => ({}));
  const parse = JSON.parse;
  JSON.parse = (text: string) => {
    const parsed = parse(text);
    // Counts reads of the elements.
    return new Proxy(parsed, {
      get: (target, key) => {
        if (typeof key === 'string' && /^\d+$/.test(key)) reads += 1;
        return Reflect.get(target, key);
      },
    });
  };
  try {
    const list = `${name}=${JSON.stringify(elements)}`;
    const query = name === 'breakdowns' ? `series=[{"name":"a"}]&${list}` : list;
    expect(rejectionOf(() => readParameters(query, schema))).toBe(message);
  } finally {
    JSON.parse = parse;
  }
  // The other list has one element.
  expect(reads).toBeLessThanOrEqual(1);
});

test('of many wrong values of a filter the first one is named', () => {
  const filter = { name: 'path', operator: 'is', value: ['a', {}, ...Array.from({ length: 900 }, () => [])] };
  const query = new URLSearchParams({ filters: JSON.stringify([filter]) }).toString();
  expect(rejectionOf(() => readParameters(query, metricsQuery))).toBe(
    'filters.0.value.1: expected a string, a number or a boolean',
  );
});

test.each([
  ['startDate', metricsQuery],
  ['range', metricsQuery],
  ['goal', metricsQuery],
  ['cursor', eventListQuery],
  ['limit', eventListQuery],
  ['formula', chartsQuery],
  ['timezone', chartsQuery],
  ['breakdown', funnelQuery],
  ['profileId', exportQuery],
  ['event', exportQuery],
  ['includes', exportQuery],
  ['segment', metricsQuery],
  ['search', profileListQuery],
] as const)('%s has a length that is checked before its schema', (name, schema) => {
  const known = Object.keys((schema as z.ZodObject).shape).includes(name);
  const query = `${name}=${'+'.repeat(4_097)}`;
  expect(rejectionOf(() => readParameters(query, schema as z.ZodType))).toMatch(
    known ? `${name}: expected at most 4096 characters` : 'no such parameter',
  );
});

test('parameters are counted before they are read', () => {
  const query = `a${'&'.repeat(60_000)}`;
  expect(rejectionOf(() => readParameters(query, metricsQuery))).toBe(
    'too many parameters; expected at most 1000',
  );
});

test('a list of texts as JSON has a count', () => {
  const query = `event=${JSON.stringify(Array.from({ length: 1_001 }, () => 'a'))}`;
  expect(rejectionOf(() => readParameters(query, exportQuery))).toBe('event: expected at most 1000 values');
});

test.each([
  ['lists', lists],
  ['objects', objects],
  ['a field', `{"name":${lists}}`],
])('a body with %s that are nested too deep is rejected before it is parsed', (_what, text) => {
  const read = () => readBody({ contentType: '' }, Buffer.from(text), { body: z.unknown() });
  expect(rejectionOf(read)).toBe('body: lists and objects are nested deeper than 32');
});
