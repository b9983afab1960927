import { describe, expect, test } from 'vitest';
import { batchSchema, bodySchema } from '../../ingest/track-schema.ts';
import { operationsOf } from './documentation.ts';
import { INSIGHT_EXAMPLES } from './examples/insights.ts';
import { MANAGE_EXAMPLES } from './examples/manage.ts';
import { TRACK_EXAMPLES } from './examples/track.ts';
import { describedEndpoints } from './testing/endpoints.ts';

const endpoints = describedEndpoints();
const operations = await operationsOf(endpoints);

test('every endpoint has an example, and every example an endpoint', () => {
  const examples = Object.keys({ ...INSIGHT_EXAMPLES, ...MANAGE_EXAMPLES });
  expect(examples.sort()).toEqual(endpoints.map(({ method, pattern }) => `${method} ${pattern}`).sort());
});

describe.each(
  operations.map((operation) => [`${operation.method} ${operation.pattern}`, operation] as const),
)('%s', (_name, { pattern, parameters, body, answers, path, query }) => {
  test('has example parameters that its schema accepts', () => {
    expect(Object.keys(path).sort()).toEqual([...pattern.matchAll(/:(\w+)/g)].map(([, name]) => name).sort());
    expect(parameters.safeParse(query).error).toBeUndefined();
    // A schema drops parameters that it does not know.
    expect(Object.keys(query).filter((name) => !(name in Object(parameters.parse(query))))).toEqual([]);
  });

  test('has example bodies that its schema accepts', () => {
    for (const [name, example] of Object.entries(body?.examples ?? {}))
      expect(body?.schema.safeParse(example).error, name).toBeUndefined();
  });

  test('has example responses that match their schema exactly', () => {
    for (const { status, schema, example } of answers) {
      if (schema !== undefined) expect(schema.parse(example), String(status)).toEqual(example);
    }
  });
});

test('the example batch holds one valid and one invalid body, as its response says', () => {
  expect(batchSchema.safeParse(TRACK_EXAMPLES.batch).success).toBe(true);
  expect(TRACK_EXAMPLES.batch.map((body) => bodySchema.safeParse(body).success)).toEqual([true, false]);
});

test('every body type has an example', () => {
  const types = new Set(Object.values(TRACK_EXAMPLES.bodies).map(({ type }) => type));
  expect([...types].sort()).toEqual([
    'alias',
    'assign_group',
    'decrement',
    'group',
    'identify',
    'increment',
    'track',
  ]);
});
