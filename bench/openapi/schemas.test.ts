import { describe, expect, test } from 'vitest';
import { apiDocument } from '../../query/openapi/documentation.ts';
import { describedEndpoints } from '../../query/openapi/testing/endpoints.ts';
import { operationsIn } from './operations.ts';
import { schemaCheck } from './schemas.ts';

const schemaBreaches = schemaCheck({
  Tree: {
    type: 'object',
    properties: { left: { $ref: '#/components/schemas/Tree' } },
    additionalProperties: false,
  },
});

const ID = '3b1f6c52-94a7-4f0e-8d35-6a2c9be0417d';

test('every schema of the description is understood', async () => {
  const document = await apiDocument(describedEndpoints(), '1.2.3');
  const check = schemaCheck(document.components.schemas);
  const schemas = operationsIn(document).flatMap(({ body, answers }) => [
    ...(body === undefined ? [] : [body.schema]),
    ...[...answers.values()].flatMap(({ content }) => content.map(([, schema]) => schema)),
  ]);
  expect(schemas.length).toBeGreaterThan(100);
  for (const schema of schemas) check(null, schema);
});

test.each<[schema: object | boolean, fits: readonly unknown[], breaks: readonly unknown[]]>([
  [{ type: ['string', 'null'] }, ['a', null], [1, {}]],
  [{ type: 'object', required: ['toString'], properties: { toString: {} } }, [{ toString: 1 }], [{}]],
  [{ type: 'object', properties: { a: {} }, additionalProperties: false }, [{ a: 1 }], [{ toString: 1 }]],
  [{ type: 'string', maxLength: 2 }, ['😀😀'], ['abc']],
  [{ $ref: '#/components/schemas/Tree' }, [{ left: { left: {} } }], [{ left: { right: {} } }]],
  [{ type: 'string', format: 'date' }, ['2026-01-05'], ['2026-1-5', '2026-01-32', '2026-01-05T00:00:00Z']],
  [{ type: 'string', format: 'uuid' }, [ID], ['', ID.slice(1), `${ID}\n`, `urn:uuid:${ID}`]],
  [
    { type: 'string', format: 'date-time' },
    ['2026-01-05T08:00:00.000Z', '2026-12-31T23:59:59+01:00'],
    ['2026-01-05', '2026-13-05T08:00:00Z', '2026-01-05T24:00:00Z', '2026-01-05 08:00:00Z'],
  ],
  [{ description: 'of anything', default: 1, discriminator: { propertyName: 'kind' } }, [1, null, {}], []],
  [false, [], [1]],
])('%j', (schema, fits, breaks) => {
  for (const value of fits) expect([value, schemaBreaches(value, schema)]).toEqual([value, []]);
  for (const value of breaks) expect([value, schemaBreaches(value, schema).length]).toEqual([value, 1]);
});

describe('what is not known', () => {
  test.each([
    [{ patern: '^a' }, 'unknown keyword: "patern"'],
    [{ type: 'string', format: 'email' }, 'unknown format "email"'],
    [{ type: 'text' }, 'schema is invalid'],
    [{ anyOf: {} }, 'schema is invalid'],
    [{ $ref: '#/components/schemas/Nobody' }, "can't resolve reference"],
    [{ $ref: 'https://example.com/schema' }, "can't resolve reference"],
    ['string', 'schema must be object or boolean'],
  ])('%j is an error and never passes', (schema, message) => {
    expect(() => schemaBreaches('a', schema)).toThrow(message);
  });
});

test('a breach names its place', () => {
  const entry = { type: 'object', required: ['id'], properties: { id: {}, name: { type: 'string' } } };
  const schema = { type: 'object', properties: { data: { type: 'array', items: entry } } };
  const value = { data: [{ id: 1, name: 'a' }, { name: null }] };
  expect(schemaBreaches(value, schema)).toEqual([
    `data.1: must have required property 'id' {"missingProperty":"id"}`,
    'data.1.name: must be string {"type":"string"}',
  ]);
});
