import { describe, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { batchSchema, bodySchema } from '../../ingest/track-schema.ts';
import { operationsOf } from './documentation.ts';
import { readExamples } from './examples/captured.ts';
import type { CapturedExample } from './examples/example.ts';
import { SHOWN_REQUESTS } from './examples/requests/all.ts';
import { ERROR_RESPONSES } from './shared-parts.ts';
import { describedEndpoints } from './testing/endpoints.ts';

const examples = await readExamples();
const operations = await operationsOf(describedEndpoints(), examples);
const { usual, storeAway } = SHOWN_REQUESTS;

test('every operation has an example, and every example an operation', () => {
  const names = operations.map(({ method, pattern }) => `${method} ${pattern}`);
  expect([...examples.byOperation.keys()].sort()).toEqual(names.sort());
});

test('what was captured are the answers to the requests of the list', () => {
  const asked = [...usual.answers, ...storeAway.answers].filter(({ isShown = true }) => isShown);
  const listed = new Map<string, object[]>();
  for (const request of asked)
    listed.set(request.operation, [...(listed.get(request.operation) ?? []), summary(request)]);
  const captured = [...examples.byOperation].map(([name, all]) => [name, all.map((one) => summary(one))]);
  expect(Object.fromEntries(captured)).toEqual(Object.fromEntries(listed));
});

test('every error has an example', () => {
  const statuses = Object.keys(ERROR_RESPONSES).map(Number);
  expect([...examples.errors.keys()].sort()).toEqual(statuses);
  for (const [status, error] of examples.errors) expect(error.status).toBe(status);
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
  const { body, answer } = must(examples.byOperation.get('post /track/batch')?.[0], 'a batch');
  expect(batchSchema.safeParse(body).success).toBe(true);
  expect((body as readonly unknown[]).map((one) => bodySchema.safeParse(one).success)).toEqual([true, false]);
  expect(answer).toMatchObject({ accepted: 1, rejected: [{ index: 1, status: 400 }] });
});

test('every body type has an example', () => {
  const bodies = operations.find(({ pattern }) => pattern === '/track')?.body?.examples ?? {};
  const types = new Set(Object.values(bodies).map((body) => (body as { readonly type: string }).type));
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

/** The parts of a request that are stored with its answer. */
function summary({ title = 'example', status = 200, query = {}, body }: Partial<CapturedExample>): object {
  return { title, status, parameters: Object.keys(query).sort(), hasBody: body !== undefined };
}
