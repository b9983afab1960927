import { describe, expect, test } from 'vitest';
import { schemaBreaches } from './json-schema-check.ts';

const NAMED = {
  Name: { type: 'string', minLength: 1, maxLength: 3 },
  Tree: {
    type: 'object',
    properties: { left: { $ref: '#/components/schemas/Tree' } },
    additionalProperties: false,
  },
};

const ID = '3b1f6c52-94a7-4f0e-8d35-6a2c9be0417d';

/** A schema, what fits it, and what does not. */
const CASES: readonly [schema: unknown, fits: readonly unknown[], breaks: readonly unknown[]][] = [
  [{ type: 'string' }, ['', 'a'], [1, null, [], {}]],
  [{ type: 'integer' }, [0, -1, 1e20], [0.5, '1', null]],
  [{ type: 'number' }, [0, 0.5], ['0', true]],
  [{ type: 'boolean' }, [true, false], ['true', 0]],
  [{ type: 'null' }, [null], [0, '', false]],
  [{ type: 'object' }, [{}], [null, []]],
  [{ type: 'array' }, [[]], [{}, 'a']],
  [{ type: ['string', 'null'] }, ['a', null], [1, {}]],
  [{ const: 'a' }, ['a'], ['b', null]],
  [{ enum: ['a', 1, null] }, ['a', 1, null], ['1', undefined]],
  [{ minimum: 0, maximum: 2 }, [0, 2, 'no number'], [-1, 2.1]],
  [{ exclusiveMinimum: 0, exclusiveMaximum: 2 }, [1], [0, 2]],
  [{ minLength: 1, maxLength: 2 }, ['a', '😀😀', 7], ['', 'abc']],
  [{ minItems: 1, maxItems: 2 }, [[1], [1, 2], 'abc'], [[], [1, 2, 3]]],
  [{ items: { type: 'string' } }, [[], ['a'], {}], [[1], ['a', null]]],
  [{ required: ['a'] }, [{ a: undefined }, [], 1], [{}, { b: 1 }]],
  [{ required: ['toString'] }, [{ toString: 1 }], [{}]],
  [{ properties: { a: { type: 'string' } } }, [{}, { a: '' }, { b: 1 }], [{ a: 1 }]],
  [{ properties: { a: {} }, additionalProperties: false }, [{}, { a: 1 }], [{ b: 1 }, { toString: 1 }]],
  [{ additionalProperties: { type: 'number' } }, [{}, { a: 1 }], [{ a: 'a' }]],
  [{ anyOf: [{ type: 'string' }, { minimum: 3 }] }, ['a', 3, null], [2]],
  [{ oneOf: [{ type: 'number' }, { minimum: 3 }] }, [2, 'a'], [3]],
  [{ $ref: '#/components/schemas/Name' }, ['a'], ['', 'abcd', 1]],
  [{ $ref: '#/components/schemas/Tree' }, [{ left: { left: {} } }], [{ left: { right: {} } }]],
  [{ format: 'date' }, ['2026-01-05', 1], ['2026-1-5', '2026-01-32', '2026-01-05T00:00:00Z']],
  [{ format: 'uuid' }, [ID, 1], ['', ID.slice(1), `${ID}\n`]],
  [
    { format: 'date-time' },
    ['2026-01-05T08:00:00.000Z', '2026-12-31T23:59:59+01:00'],
    ['2026-01-05', '2026-13-05T08:00:00Z', '2026-01-05T24:00:00Z', '2026-01-05 08:00:00Z'],
  ],
  [{ description: 'of anything', default: 1 }, [1, null, {}], []],
  [true, [1], []],
  [false, [], [1]],
];

test.each(CASES)('%j', (schema, fits, breaks) => {
  for (const value of fits) expect([value, schemaBreaches(value, schema, NAMED)]).toEqual([value, []]);
  for (const value of breaks)
    expect([value, schemaBreaches(value, schema, NAMED).length]).toEqual([value, 1]);
});

describe('what is not known', () => {
  test.each([
    [{ pattern: '^a' }, 'keyword pattern'],
    [{ constructor: 1 }, 'keyword constructor'],
    [{ format: 'email' }, 'format email'],
    [{ type: 'text' }, 'type text'],
    [{ $ref: '#/components/schemas/Nobody' }, 'leads nowhere'],
    [{ $ref: 'https://example.com/schema' }, 'leads nowhere'],
    [{ enum: [{}] }, 'only plain values'],
    [{ anyOf: {} }, 'expected a list'],
    ['string', 'no schema'],
  ])('%j is an error and never passes', (schema, message) => {
    expect(() => schemaBreaches('a', schema, NAMED)).toThrow(message);
  });
});

test('a breach names its place', () => {
  const schema = {
    properties: { data: { items: { required: ['id'], properties: { name: { type: 'string' } } } } },
  };
  const value = { data: [{ id: 1, name: 'a' }, { name: null }] };
  expect(schemaBreaches(value, schema, NAMED)).toEqual([
    'data.1: id is missing',
    'data.1.name: expected string',
  ]);
});
