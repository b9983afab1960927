import { expect, test } from 'vitest';
import { readParameters } from '../http/parameters.ts';
import { type Combination, chartRows, computedCombinations, totalMetrics } from './chart-rows.ts';
import { chartsQuery } from './charts-api.ts';
import { parseFormula } from './formula.ts';

const view = { name: 'screen_view' };
const query = (parameters: Readonly<Record<string, unknown>>) =>
  new URLSearchParams(
    Object.entries({ series: [view], ...parameters }).map(([name, value]): [string, string] => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  ).toString();
const filter = { name: 'path', operator: 'is', value: ['/'] };
/** Numbers that are longer in decimal notation. */
const EXPANDING = `{"name":"path","operator":"is","value":[${Array.from({ length: 900 }, () => '1e20').join(',')}]}`;

test.each([
  [{ series: '' }, 'series: '],
  [{ series: 'nonsense' }, 'series: expected a JSON array'],
  [{ series: '[' }, 'series: expected a JSON array'],
  [{ series: `[${'"x",'.repeat(20_000)}"x"]` }, 'series: expected at most 65536 bytes'],
  [{ series: '{}' }, 'series: '],
  [{ series: 'null' }, 'series: '],
  [{ series: [] }, 'series: expected at least one series'],
  [{ series: Array.from({ length: 27 }, () => view) }, 'series: expected at most 26 series'],
  [{ series: [view, 'click'] }, 'series.1: '],
  [{ series: [{}] }, 'series.0.name: '],
  [{ series: [{ name: '' }] }, 'series.0.name: expected a non-empty string'],
  [{ series: [{ name: 'x'.repeat(81) }] }, 'series.0.name: expected at most 80 characters'],
  [{ series: [{ ...view, colour: 'red' }] }, 'series.0.colour: no such field'],
  [{ series: [{ ...view, segment: 'mean' }] }, 'series.0.segment: '],
  [{ series: [view, { ...view, segment: 'property_sum' }] }, 'series.1.property: missing'],
  [
    { series: [{ ...view, segment: 'property_max', property: 'path' }] },
    'series.0.property: expected a property key',
  ],
  [
    { series: [{ ...view, segment: 'property_min', property: 'profile.email' }] },
    'series.0.property: expected a property key',
  ],
  [
    { series: [{ ...view, segment: 'property_sum', property: 'revenue', currency: 'EURO' }] },
    'series.0.currency: expected an ISO 4217 code',
  ],
  [{ series: [{ ...view, currency: 'EUR' }] }, 'series.0.currency: only for property_ segments of revenue'],
  [
    { series: [{ ...view, segment: 'property_sum', property: 'price', currency: 'EUR' }] },
    'series.0.currency: only for property_ segments of revenue',
  ],
  [{ currency: 'usd' }, 'currency: expected an ISO 4217 code'],
  [{ series: [{ ...view, filters: '[]' }] }, 'series.0.filters: '],
  [
    { series: [{ ...view, filters: [{ ...filter, name: 'colour' }] }] },
    'series.0.filters.0.name: unknown field',
  ],
  [
    { series: [view, { ...view, filters: [filter, { ...filter, operator: 'like' }] }] },
    'series.1.filters.1.operator: ',
  ],
  [
    { series: `[{"name":"a","filters":[${Array.from({ length: 9 }, () => EXPANDING).join(',')}]}]` },
    'series.0.filters: expected at most 65536 bytes',
  ],
  [{ filters: [{ ...filter, name: 'colour' }] }, 'filters.0.name: unknown field'],
  [{ breakdowns: 'country' }, 'breakdowns: expected a JSON array'],
  [{ breakdowns: ['country'] }, 'breakdowns.0: '],
  [{ breakdowns: [{ name: 'colour' }] }, 'breakdowns.0.name: unknown field'],
  [{ breakdowns: [{ name: 'country', limit: 2 }] }, 'breakdowns.0.limit: no such field'],
  [
    { breakdowns: [{ name: 'os' }, { name: 'profile.email' }] },
    'breakdowns.1.name: profile.email is not an event field',
  ],
  [
    { breakdowns: [{ name: 'group.properties.k' }] },
    'breakdowns.0.name: group.properties.k is not an event field',
  ],
  [
    { breakdowns: [{ name: 'groups' }, { name: 'os' }, { name: 'group.id' }] },
    'breakdowns.2.name: is the same field as breakdowns.0',
  ],
  [
    { breakdowns: ['os', 'city', 'path', 'name'].map((name) => ({ name })) },
    'breakdowns: expected at most 3',
  ],
  [{ formula: 'A +' }, 'formula: character 4: '],
  [{ formula: 'A'.repeat(201) }, 'formula: expected at most 200 characters'],
  [{ range: '8d' }, 'range: '],
  [{ interval: 'year' }, 'interval: '],
  [{ previous: 'yes' }, 'previous: '],
  [{ limit: '0' }, 'limit: expected a whole number from 1 to 500'],
  [{ limit: '501' }, 'limit: expected a whole number from 1 to 500'],
] as const)('%.120j is rejected with %s', (parameters, message) => {
  const read = () => readParameters(query(parameters), chartsQuery);
  const escaped = message.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  expect(read).toThrow(
    expect.objectContaining({ status: 400, message: expect.stringMatching(`^${escaped}`) }),
  );
});

test.each([
  ['price', { owner: 'event', kind: 'property', key: 'price' }],
  ['properties.price', { owner: 'event', kind: 'property', key: 'price' }],
  ['properties.path', { owner: 'event', kind: 'property', key: 'path' }],
  ['cart.total', { owner: 'event', kind: 'property', key: 'cart.total' }],
  ['revenue', { owner: 'event', kind: 'amount', column: 'revenue' }],
])('the property %s is read from %j', (property, field) => {
  const series = [{ name: '*', segment: 'property_sum', property }];
  const [read] = readParameters(query({ series }), chartsQuery).series;
  expect(read).toMatchObject({ property, measured: field, filters: [] });
});

const combination = (
  names: readonly string[],
  buckets: readonly number[],
  isCurrent = true,
): Combination => ({
  names,
  current: { buckets, whole: buckets.reduce((sum, one) => sum + one, 0) },
  previous: { buckets: [1, 2], whole: 2 },
  isCurrent,
});
const traits = {
  event: { id: 'A', name: 'buy', segment: 'event' } as const,
  dates: ['2026-01-01', '2026-01-02', '2026-01-03'],
  showsPrevious: true,
  isAverage: false,
  currencyOf: () => undefined,
};

test('rows are sorted by sum, ties by the bytes of their names, and unknown values are null', () => {
  const combinations = [
    combination(['é', ''], [1, 1, 1]),
    combination(['z', 'b'], [3, 0, 0]),
    combination(['z', 'a'], [0, 0, 3]),
    combination(['', 'x'], [0.1, 0.2, 5]),
    combination(['least', ''], [0, 0, 1]),
  ];
  const rows = chartRows(combinations, traits, 4);
  expect(rows.map(({ names }) => names)).toEqual([
    [null, 'x'],
    ['z', 'a'],
    ['z', 'b'],
    ['é', null],
  ]);
  expect(rows.map(({ id }) => id)).toEqual(['A::x', 'A:z:a', 'A:z:b', 'A:%C3%A9:']);
  expect(rows[0]).toMatchObject({
    metrics: {
      ...{ sum: 5.3, average: 1.77, min: 0.1, max: 5, count: 5.3 },
      previous: { sum: 3, average: 1.5, min: 1, max: 2, count: 2 },
    },
    data: [
      { date: '2026-01-01', count: 0.1, previous: 1 },
      { date: '2026-01-02', count: 0.2, previous: 2 },
      { date: '2026-01-03', count: 5, previous: 0 },
    ],
  });
  expect(totalMetrics(rows, true)).toEqual({
    ...{ sum: 14.3, average: 1.19, min: 0, max: 5, count: 14.3 },
    previous: { sum: 12, average: 1.5, min: 1, max: 2, count: 8 },
  });
});

test('the figures of averages have two decimals, and those of a row follow from its buckets', () => {
  const thirds = combination([], [1 / 3, -2 / 3, -0.001]);
  const [row] = chartRows([thirds], { ...traits, isAverage: true }, 1);
  expect(row?.data.map(({ count }) => count)).toEqual([0.33, -0.67, 0]);
  expect(row?.metrics).toMatchObject({ sum: -0.34, average: -0.11, min: -0.67, max: 0.33, count: -0.33 });
  // A double this large has no decimals to round.
  const [huge] = chartRows([combination([], [1e307, 2 ** 53 + 2, 0])], { ...traits, isAverage: true }, 1);
  expect(huge?.data.map(({ count }) => count)).toEqual([1e307, 2 ** 53 + 2, 0].map(fifteenDigits));
});

test('sums of decimals are decimals, also where the greatest cancel out', () => {
  const [row] = chartRows([combination([], [1658.1, 2500.07, -4158.11])], traits, 1);
  expect(row?.metrics).toMatchObject({ sum: 0.06, average: 0.02 });
  const rows = chartRows(
    [combination(['a'], [1658.1, 2500.07, 0]), combination(['b'], [-4158.11, 0, 0])],
    traits,
    2,
  );
  expect(totalMetrics(rows, false)).toMatchObject({ sum: 0.06, average: 0.01 });
  const [small] = chartRows([combination([], [1e-12, 2e-12, 0])], traits, 1);
  expect(small?.metrics.sum).toBe(3e-12);
});

test('a formula with results near the end of what a number holds gives numbers, in its sums too', () => {
  const rows = computedCombinations(
    parseFormula('A * B', 2),
    [[combination(['x'], [1e150, 1e154, 1e154])], [combination(['x'], [1e150, 1.7e154, 1.7e154])]],
    { current: 3, previous: 2 },
  );
  const [row] = chartRows(rows, traits, 1);
  // 1.7e308 is a number, and twice as much is not.
  expect(row?.data.map(({ count }) => count)).toEqual([1e300, 0, 0]);
  expect(row?.metrics).toMatchObject({ sum: 1e300, max: 1e300 });
  const totals = totalMetrics(chartRows([...rows, ...rows], traits, 2), false);
  expect(Object.values(totals).every((figure) => Number.isFinite(figure))).toBe(true);
});

const fifteenDigits = (number: number) => Number(number.toPrecision(15));

test('without rows all figures are 0, and the previous period is shown only on request', () => {
  const none = { sum: 0, average: 0, min: 0, max: 0, count: 0 };
  expect(totalMetrics([], false)).toEqual(none);
  expect(totalMetrics([], true)).toEqual({ ...none, previous: none });
  const [row] = chartRows([combination([], [1, 2, 3])], { ...traits, showsPrevious: false }, 1);
  expect(row).toMatchObject({ id: 'A', names: ['buy'] });
  expect(row?.metrics).not.toHaveProperty('previous');
  expect(row?.data).toEqual(traits.dates.map((date, index) => ({ date, count: index + 1 })));
});

test('a formula is computed for each row of any series; a series without the row is 0', () => {
  const a = [combination(['x'], [4, 6, 0]), combination(['y'], [1, 1, 1], false)];
  const b = [combination(['x'], [2, 0, 3]), combination(['z'], [1, 2, 3])];
  const computed = computedCombinations(parseFormula('A / B + 1', 2), [a, b], { current: 3, previous: 2 });
  expect(computed).toEqual([
    {
      names: ['x'],
      current: { buckets: [3, 1, 1], whole: 3 },
      previous: { buckets: [2, 2], whole: 2 },
      isCurrent: true,
    },
    {
      names: ['y'],
      current: { buckets: [1, 1, 1], whole: 1 },
      previous: { buckets: [1, 1], whole: 1 },
      isCurrent: false,
    },
    {
      names: ['z'],
      current: { buckets: [1, 1, 1], whole: 1 },
      previous: { buckets: [1, 1], whole: 1 },
      isCurrent: true,
    },
  ]);
});
