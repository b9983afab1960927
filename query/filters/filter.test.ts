import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EVENT_COLUMNS } from '../../ingest/event.ts';
import { compileFilters, EVENT_ROWS } from './compile.ts';
import { filterList, OPERATORS, readFilters } from './filter.ts';

const path = { name: 'path', operator: 'is', value: ['/'] };
const one = (change: object) => JSON.stringify([{ ...path, ...change }]);
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

const REJECTED: readonly [text: string, message: string][] = [
  ['nonsense', 'filters: expected a JSON array'],
  ['', 'filters: expected a JSON array'],
  ['[', 'filters: expected a JSON array'],
  ['['.repeat(30_000), 'filters: lists and objects are nested deeper than 32'],
  ['{}', 'filters: '],
  ['null', 'filters: '],
  ['"[]"', 'filters: '],
  ['[1]', 'filters.0: '],
  ['[[]]', 'filters.0: '],
  [`${'['.repeat(30_000)}${']'.repeat(30_000)}`, 'filters: lists and objects are nested deeper than 32'],
  [`${'['.repeat(32)}${']'.repeat(32)}`, 'filters.0: '],
  ['[null]', 'filters.0: '],
  ['[{}]', 'filters.0.name: '],
  ['[{"name":"path"}]', 'filters.0.operator: '],
  ['[{"name":"path","operator":"is"}]', 'filters.0.value: expected at least one value'],
  [one({ name: 7 }), 'filters.0.name: '],
  [one({ name: '' }), 'filters.0.name: unknown field '],
  [one({ name: 'Path' }), 'filters.0.name: unknown field Path'],
  [one({ name: 'partition' }), 'filters.0.name: unknown field partition'],
  [one({ name: 'flush_number' }), 'filters.0.name: '],
  [one({ name: 'properties' }), 'filters.0.name: '],
  [one({ name: 'properties.' }), 'filters.0.name: '],
  [one({ name: 'profile' }), 'filters.0.name: '],
  [one({ name: 'profile.' }), 'filters.0.name: '],
  [one({ name: 'profile.version' }), 'filters.0.name: '],
  [one({ name: 'profile.properties.' }), 'filters.0.name: '],
  [one({ name: 'isBounce' }), 'filters.0.value.0: expected true or false'],
  [one({ name: 'is_bounce', operator: 'gt', value: ['1'] }), 'filters.0.operator: expected is, isNot,'],
  [one({ name: 'isBounce', operator: 'contains', value: ['t'] }), 'filters.0.operator: expected is, isNot,'],
  [one({ name: 'duration' }), 'filters.0.value.0: expected a number'],
  [one({ name: 'screen_views', operator: 'regex', value: ['1'] }), 'filters.0.operator: expected is, isNot,'],
  [one({ name: 'entry_Path' }), 'filters.0.name: unknown field entry_Path'],
  [one({ name: 'group.email' }), 'filters.0.name: '],
  [one({ name: 'group.updateIds' }), 'filters.0.name: '],
  [one({ name: '__proto__' }), 'filters.0.name: '],
  [one({ name: 'constructor' }), 'filters.0.name: '],
  [one({ name: "path' OR 1 --" }), 'filters.0.name: '],
  [one({ name: `properties.${'x'.repeat(5_000)}` }), 'filters.0.name: '],
  [one({ operator: 'Is' }), 'filters.0.operator: '],
  [one({ operator: 'like' }), 'filters.0.operator: '],
  [one({ operator: ['is'] }), 'filters.0.operator: '],
  [one({ operator: null }), 'filters.0.operator: '],
  [one({ value: '/' }), 'filters.0.value: '],
  [one({ value: [] }), 'filters.0.value: expected at least one value'],
  [one({ value: [null] }), 'filters.0.value.0: expected a string, a number or a boolean'],
  [one({ value: ['a', {}] }), 'filters.0.value.1: '],
  [one({ value: [['a']] }), 'filters.0.value.0: '],
  [one({ value: numbers(1_001) }), 'filters.0.value: expected at most 1000 values'],
  [one({ value: numbers(10_000) }), 'filters.0.value: expected at most 1000 values'],
  [one({ value: ['é'.repeat(2_049)] }), 'filters.0.value.0: expected at most 4096 bytes'],
  [one({ operator: 'isNull', value: ['x'] }), 'filters.0.value: isNull takes no values'],
  [one({ operator: 'contains', value: ['a', ''] }), 'filters.0.value.1: expected a non-empty string'],
  [
    one({ operator: 'regex', value: ['x'.repeat(513)] }),
    'filters.0.value.0: expected at most 512 characters',
  ],
  [one({ operator: 'gt', value: ['12', 'much'] }), 'filters.0.value.1: expected a number'],
  [one({ operator: 'lt', value: ['NaN'] }), 'filters.0.value.0: expected a number'],
  [one({ operator: 'lt', value: ['1e400'] }), 'filters.0.value.0: expected a number'],
  [one({ operator: 'lt', value: [true] }), 'filters.0.value.0: expected a number'],
  [one({ name: 'revenue', value: ['a lot'] }), 'filters.0.value.0: expected a number'],
  [one({ name: 'revenue', operator: 'contains' }), 'filters.0.operator: '],
  [one({ name: 'longitude', operator: 'regex' }), 'filters.0.operator: '],
  [one({ name: 'createdAt', operator: 'startsWith' }), 'filters.0.operator: '],
  [
    one({ name: 'createdAt', operator: 'gt', value: [7] }),
    'filters.0.value.0: expected an ISO 8601 time with a zone',
  ],
  [
    one({ name: 'createdAt', operator: 'gt', value: ['2026-06-10'] }),
    'filters.0.value.0: expected an ISO 8601 time with a zone',
  ],
  [
    one({ name: 'created_at', value: ['2026-02-30T00:00:00Z'] }),
    'filters.0.value.0: expected an ISO 8601 time with a zone',
  ],
  [
    one({ name: 'created_at', value: ['2026-02-20T00:00:00'] }),
    'filters.0.value.0: expected an ISO 8601 time with a zone',
  ],
  [
    one({ name: 'created_at', value: ['2026-02-20T00:00:00.0001Z'] }),
    'filters.0.value.0: expected an ISO 8601 time with a zone',
  ],
  [one({ type: 7 }), 'filters.0.type: '],
  [one({ values: ['/'] }), 'filters.0: '],
  [JSON.stringify([path, { ...path, name: 'nobody' }]), 'filters.1.name: unknown field nobody'],
  [JSON.stringify(numbers(51).map(() => path)), 'filters: expected at most 50 filters'],
  [
    JSON.stringify([0, 1].map(() => ({ ...path, operator: 'contains', value: numbers(501) }))),
    'filters: expected at most 1000 values of contains, doesNotContain, startsWith, endsWith and regex',
  ],
  [one({ operator: 'regex', value: numbers(21) }), 'filters: expected at most 20 regular expressions'],
  [one({ value: numbers(17).map(() => 'x'.repeat(4_000)) }), 'filters: expected at most 65536 bytes'],
];

test.each(REJECTED)('%.100s is rejected with %s', (text, message) => {
  expect(() => readFilters(text)).toThrow(
    expect.objectContaining({
      reason: 'invalid',
      status: 400,
      message: expect.stringMatching(startOf(message)),
    }),
  );
});

test('a body rejects filters at the same path with the same message, and keeps valid ones unchanged', () => {
  const bodies = REJECTED.filter(([text]) => text.startsWith('[{') && text.length < 60_000);
  expect(bodies.length).toBeGreaterThan(30);
  for (const [text, message] of bodies) {
    const issue = filterList.safeParse(JSON.parse(text)).error?.issues[0];
    expect(`${['filters', ...(issue?.path ?? [])].join('.')}: ${issue?.message}`).toMatch(startOf(message));
  }
  const valid = [
    { ...path, id: 'A' },
    { name: 'revenue', operator: 'gt', value: [7] },
  ];
  expect(filterList.parse(valid)).toEqual(valid);
});

function startOf(message: string): RegExp {
  return new RegExp(`^${message.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`);
}

test('without filters the condition holds for every row', () => {
  expect(compileFilters(readFilters('[]'), EVENT_ROWS)).toEqual({ condition: '1', parameters: {} });
});

test('the fields id and type of a filter have no effect', () => {
  const compiled = compileFilters(readFilters(one({})), EVENT_ROWS);
  expect(compileFilters(readFilters(one({ id: 'A', type: 'event' })), EVENT_ROWS)).toEqual(compiled);
});

test('every event column has a camel-case and a snake-case name', () => {
  for (const column of [...EVENT_COLUMNS, 'id', 'sessionId']) {
    if (column === 'properties') continue;
    const snakeCase = column.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const read = (name: string) => readFilters(one({ name, operator: 'isNull', value: [] }));
    expect(read(snakeCase)).toEqual(read(column));
  }
});

test.each([
  [['1', '20', '3'], 'gt', 1],
  [[1, 20, 3], 'gte', 1],
  [[1, 20, 3], 'lt', 20],
  [['1', '2e1', '-3.5'], 'lte', 20],
])('of the bounds %j the one that decides %s is %d', (value, operator, bound) => {
  expect(readFilters(one({ operator, value }))).toMatchObject([{ test: { kind: 'order', bound } }]);
});

const NAMES = ['path', 'session_id', 'groups', 'profile.email', 'group.name', 'profile.groups'];
const OWNERS = ['properties.', 'profile.properties.', 'group.properties.'];

test('the SQL of a condition is the same for all values and keys, which are bound', () => {
  const texts = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 });
  const operators = OPERATORS.filter((operator) => !/^(gt|lt|isN?o?t?Null)/.test(operator));
  const names = fc.oneof(
    fc.constantFrom(...NAMES).map((name) => [name, name] as const),
    fc.tuple(fc.constantFrom(...OWNERS), texts).map(([owner, key]) => [owner + key, `${owner}x`] as const),
  );
  fc.assert(
    fc.property(
      names,
      fc.constantFrom(...operators),
      fc.array(texts, { minLength: 1 }),
      (name, operator, value) => {
        const compiled = compileFilters(readFilters(one({ name: name[0], operator, value })), EVENT_ROWS);
        const plain = one({ name: name[1], operator, value: value.map(() => 'x') });
        expect(compiled.condition).toBe(compileFilters(readFilters(plain), EVENT_ROWS).condition);
        expect(Object.values(compiled.parameters).flat()).toEqual(expect.arrayContaining(value));
      },
    ),
  );
});
