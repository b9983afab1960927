import { expect, test } from 'vitest';
import { z } from 'zod';
import { flag, wholeNumber } from '../api.ts';
import { jsonSchemaOf } from './json-schema.ts';

test.each([
  ['a whole number', wholeNumber(1, 20), { type: 'integer', minimum: 1, maximum: 20 }],
  [
    'one with a default and a description',
    wholeNumber(1, 20).default(5).describe('Rows.'),
    { type: 'integer', minimum: 1, maximum: 20, default: 5, description: 'Rows.' },
  ],
  ['a flag', flag, { type: 'string', enum: ['0', '1', 'true', 'false'], default: 'false' }],
  [
    'a text that is transformed',
    z
      .string()
      .default('[]')
      .transform((text) => [text]),
    { type: 'string' },
  ],
  ['a text with a pattern', z.string().regex(/^a/i).max(3), { type: 'string', maxLength: 3 }],
  [
    'a strict object',
    z.strictObject({ a: z.string().optional() }),
    { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false },
  ],
])('%s is described as input', (_name, schema, json) => {
  expect(jsonSchemaOf(schema, 'input')).toEqual(json);
});

test.each([
  [
    'an object',
    z.object({ a: z.number().nullable() }),
    { type: 'object', properties: { a: { type: ['number', 'null'] } }, required: ['a'] },
  ],
  ['a time', z.iso.datetime({ precision: 3 }), { type: 'string', format: 'date-time' }],
  [
    'a record',
    z.record(z.string(), z.number()),
    { type: 'object', additionalProperties: { type: 'number' } },
  ],
])('%s is described as output, open to further fields', (_name, schema, json) => {
  expect(jsonSchemaOf(schema, 'output')).toEqual(json);
});
