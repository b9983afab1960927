import { describe, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { apiDocument } from './documentation.ts';
import type { JsonSchema } from './json-schema.ts';
import type { OperationObject, ResponseObject } from './open-api.ts';
import { TAGS } from './operation.ts';
import { describedEndpoints } from './testing/endpoints.ts';

const document = apiDocument(describedEndpoints(), '1.2.3');
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);
const named = operations.map((one) => [`${one.method} ${one.path}`, one] as const);

/** Every object within a piece of JSON, with where it is. */
function* objectsIn(
  value: unknown,
  at = '#',
): Generator<readonly [at: string, Readonly<Record<string, unknown>>]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [at, value as Record<string, unknown>];
  for (const [key, inner] of Object.entries(value)) {
    // What an example says is nobody's reference.
    if (key !== 'example' && key !== 'examples') yield* objectsIn(inner, `${at}/${key}`);
  }
}

function resolve(ref: string): unknown {
  const steps = ref.replace(/^#\//, '').split('/');
  return steps.reduce<unknown>(
    (found, step) => (found as Record<string, unknown> | undefined)?.[step],
    document,
  );
}

function operationAt(method: string, path: string): OperationObject {
  return must(document.paths[path]?.[method], `there is no ${method} ${path}`);
}

describe('the document', () => {
  test('names its version and ours', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.info.version).toBe('1.2.3');
  });

  test('refers only to what is there, and has no schema that nobody refers to', () => {
    const refs = [...objectsIn(document)].flatMap(([, { $ref }]) => (typeof $ref === 'string' ? [$ref] : []));
    expect(refs.length).toBeGreaterThan(100);
    expect(refs.filter((ref) => resolve(ref) === undefined)).toEqual([]);
    const schemas = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect(schemas.filter((ref) => !refs.includes(ref))).toEqual([]);
  });

  test('holds nothing that JSON cannot say', () => {
    expect(JSON.parse(JSON.stringify(document))).toEqual(document);
  });

  test('names each operation once', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    expect(ids.filter((id) => !/^[a-z][A-Za-z\d]+$/.test(id))).toEqual([]);
  });

  test('has no schema but of the kinds that JSON Schema knows', () => {
    const types = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'];
    const wrong = [...objectsIn(document)].filter(([at, { type }]) => {
      const isSchema = /\/(schema|items|properties\/[^/]+|anyOf\/\d+|oneOf\/\d+|schemas\/[^/]+)$/.test(at);
      return isSchema && type !== undefined && ![type].flat().every((one) => types.includes(String(one)));
    });
    expect(wrong.map(([at]) => at)).toEqual([]);
  });

  test('lets no schema without fields stand where one is meant', () => {
    const bare = [...objectsIn(document.components.schemas)].filter(
      ([at, schema]) => /\/(items|properties\/[^/]+)$/.test(at) && Object.keys(schema).length === 0,
    );
    expect(bare.map(([at]) => at)).toEqual([]);
  });
});

describe.each(named)('%s', (_name, { path, method, operation }) => {
  test('is described, by a tag, a summary and a text', () => {
    expect(Object.keys(TAGS)).toContain(operation.tags[0]);
    expect(operation.summary).not.toBe('');
    expect(operation.description, 'a text').not.toBe('');
  });

  test('declares exactly the parameters of its path, and each parameter once with a schema', () => {
    const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
    const ofPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    expect(inPath.map(({ name }) => name)).toEqual(ofPath);
    expect(inPath.every(({ required }) => required)).toBe(true);
    expect(path).not.toContain(':');
    const keys = operation.parameters.map(({ name, in: place }) => `${place} ${name}`);
    expect(new Set(keys).size).toBe(keys.length);
    for (const { name, schema, content, description } of operation.parameters) {
      expect([schema, content].filter((one) => one !== undefined).length, name).toBe(1);
      expect(description, name).toBeTruthy();
    }
  });

  test('says what it answers, and gives an example of each answer of its own', () => {
    expect(Object.keys(operation.responses)).toContain('200');
    for (const [status, response] of Object.entries(operation.responses)) {
      expect(status).toMatch(/^[2345]\d\d$/);
      if ('$ref' in response) continue;
      if (status === '304') {
        expect(response.content).toBeUndefined();
        continue;
      }
      const [media] = Object.values(must(response.content, 'an answer has a body'));
      expect(media?.schema, status).toBeDefined();
      if (!path.endsWith('.js')) expect(media?.example, status).toBeDefined();
    }
  });

  test('takes a body only where a method has one, with an example', () => {
    if (operation.requestBody === undefined) return;
    expect(['post', 'put', 'patch']).toContain(method);
    const media = must(operation.requestBody.content['application/json'], 'a body is JSON');
    expect(media.example ?? media.examples).toBeDefined();
    expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['400', '413', '415']));
  });

  test('asks for a client where it may refuse one', () => {
    const refuses = '401' in operation.responses;
    expect(operation.security.length > 0).toBe(refuses);
  });
});

test('a field below /manage says what it means, unless its name does', () => {
  const selfEvident = ['dashboardId', 'data', 'description', 'id', 'name', 'title'];
  const { Project, Client, Reference, Dashboard, Report, Integration } = document.components.schemas;
  const managed = operations.filter(({ operation }) => operation.tags[0] === 'Manage');
  const schemas = [
    Project,
    Client,
    Reference,
    Dashboard,
    Report,
    Integration,
    ...managed.map(({ operation }) => operation),
  ];
  const fields = [...objectsIn(schemas)].flatMap(([, { properties }]) =>
    Object.entries((properties ?? {}) as Readonly<Record<string, JsonSchema>>),
  );
  const speechless = fields
    .filter(([, { description, $ref, items }]) => (description ?? $ref ?? items?.$ref) === undefined)
    .map(([name]) => name);
  expect(fields.length).toBeGreaterThan(100);
  expect(speechless.filter((name) => !selfEvident.includes(name))).toEqual([]);
});

test('a client is asked for its id and its secret together', () => {
  expect(operationAt('get', '/insights/{projectId}/metrics').security).toEqual([
    { clientId: [], clientSecret: [] },
  ]);
  expect(operationAt('post', '/track').security).toContainEqual({ clientId: [] });
  expect(operationAt('get', '/metrics').security).toEqual([]);
});

test('a change of one record may be refused for its version, a question may not', () => {
  const statuses = (method: string, path: string) => Object.keys(operationAt(method, path).responses);
  expect(statuses('patch', '/manage/projects/{projectId}')).toContain('412');
  expect(statuses('post', '/manage/clients/{clientId}/rotate')).toContain('412');
  expect(statuses('post', '/manage/integrations/{integrationId}/backfill')).toContain('412');
  expect(statuses('post', '/manage/integrations/{integrationId}/test')).not.toContain('412');
  expect(statuses('post', '/manage/projects')).not.toContain('412');
  expect(statuses('get', '/manage/projects/{projectId}')).not.toContain('412');
  const answer = operationAt('patch', '/manage/projects/{projectId}').responses['200'] as ResponseObject;
  expect(Object.keys(answer.headers ?? {})).toEqual([
    'RateLimit-Limit',
    'RateLimit-Remaining',
    'RateLimit-Reset',
    'ETag',
  ]);
});

test('parameters are described as what their text means', () => {
  const parameter = (name: string) =>
    operationAt('get', '/export/events').parameters.find((one) => one.name === name);
  // What the example does not send is left out of the requests that the documentation page shows.
  expect(parameter('limit')).toMatchObject({ example: 100 });
  expect(parameter('cursor')?.examples).toEqual({ default: { 'x-disabled': true } });
  expect(parameter('limit')?.schema).toEqual({ type: 'integer', minimum: 1, default: 50 });
  expect(parameter('partial')?.schema).toEqual({
    type: 'string',
    enum: ['0', '1', 'true', 'false'],
    default: 'false',
  });
  expect(parameter('filters')?.content?.['application/json']?.schema).toEqual({
    type: 'array',
    items: { $ref: '#/components/schemas/Filter' },
  });
});

test('a body of /track is told by its type, and its fields are described', () => {
  const { TrackBody, TrackEvent } = document.components.schemas;
  expect(TrackBody?.oneOf?.length).toBe(7);
  expect(Object.keys(TrackBody?.discriminator?.mapping ?? {}).length).toBe(7);
  const payload = TrackEvent?.properties?.payload;
  expect(payload?.required).toEqual(['name']);
  expect(payload?.properties?.properties).toEqual({ $ref: '#/components/schemas/EventProperties' });
});
