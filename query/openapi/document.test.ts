import { describe, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { SETTINGS } from '../../infra/config.ts';
import { apiDocument } from './documentation.ts';
import { readGuides } from './guides.ts';
import type { JsonSchema } from './json-schema.ts';
import type { OperationObject, ResponseObject } from './open-api.ts';
import { TAGS } from './operation.ts';
import { describedEndpoints } from './testing/endpoints.ts';

const document = await apiDocument(describedEndpoints(), '1.2.3');
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);
const named = operations.map((one) => [`${one.method} ${one.path}`, one] as const);

/** Every object within a JSON value, with its JSON pointer. */
function* objectsIn(
  value: unknown,
  at = '#',
): Generator<readonly [at: string, Readonly<Record<string, unknown>>]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [at, value as Record<string, unknown>];
  for (const [key, inner] of Object.entries(value)) {
    // A `$ref` inside an example is data, not a reference.
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
  test('states the OpenAPI version and the release', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.info.version).toBe('1.2.3');
  });

  test('has the guides, of which each names only settings and operations that there are', () => {
    const { description } = document.info;
    const titles = [...description.matchAll(/^# (.+)$/gm)].map(([, title]) => title);
    expect(titles.length).toBeGreaterThanOrEqual(8);
    expect(titles.filter((title) => !title?.startsWith('Guide: '))).toEqual([]);
    const guides = readGuides();
    const known = new Set(operations.map(({ path }) => path));
    const shown = [...guides.matchAll(/`(?:GET|POST|PATCH|PUT|DELETE) (\/[^`?]*)`/g)].map(
      ([, path]) => path ?? '',
    );
    expect(shown.length).toBeGreaterThan(5);
    expect(shown.filter((path) => !known.has(path))).toEqual([]);
    const settings = new Set(Object.keys(SETTINGS));
    const named = [...guides.matchAll(/`([A-Z][A-Z0-9]*_[A-Z0-9_]+)(?:=[^`]*)?`/g)].map(
      ([, name]) => name ?? '',
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !settings.has(name))).toEqual([]);
  });

  test('has no dangling reference and no unused schema', () => {
    const refs = [...objectsIn(document)].flatMap(([, { $ref }]) => (typeof $ref === 'string' ? [$ref] : []));
    expect(refs.length).toBeGreaterThan(100);
    expect(refs.filter((ref) => resolve(ref) === undefined)).toEqual([]);
    const schemas = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect(schemas.filter((ref) => !refs.includes(ref))).toEqual([]);
  });

  test('survives a round trip through JSON', () => {
    expect(JSON.parse(JSON.stringify(document))).toEqual(document);
  });

  test('gives each operation a unique id', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    expect(ids.filter((id) => !/^[a-z][A-Za-z\d]+$/.test(id))).toEqual([]);
  });

  test('uses only the types of JSON Schema', () => {
    const types = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'];
    const wrong = [...objectsIn(document)].filter(([at, { type }]) => {
      const isSchema = /\/(schema|items|properties\/[^/]+|anyOf\/\d+|oneOf\/\d+|schemas\/[^/]+)$/.test(at);
      return isSchema && type !== undefined && ![type].flat().every((one) => types.includes(String(one)));
    });
    expect(wrong.map(([at]) => at)).toEqual([]);
  });

  test('has no empty schema for an element or a field', () => {
    const bare = [...objectsIn(document.components.schemas)].filter(
      ([at, schema]) => /\/(items|properties\/[^/]+)$/.test(at) && Object.keys(schema).length === 0,
    );
    expect(bare.map(([at]) => at)).toEqual([]);
  });
});

describe.each(named)('%s', (_name, { path, method, operation }) => {
  test('has a tag, a summary and a description', () => {
    expect(Object.keys(TAGS)).toContain(operation.tags[0]);
    expect(operation.summary).not.toBe('');
    expect(operation.description, 'a text').not.toBe('');
  });

  test('states which clients may call it', () => {
    const clients = {
      Track: /\*\*Client:\*\* (any type|none required)/,
      Insights: /\*\*Client:\*\* read .* or root/,
      Export: /\*\*Client:\*\* read .* or root/,
      Manage: /\*\*Client:\*\* root\.$/,
      Live: /\*\*Client:\*\* none (for a public site; otherwise read .* or a token|required)\.$/,
      'Sign-in': /\*\*Client:\*\* none required(?: in the headers.*)?\.$/,
      Operations: /\*\*Client:\*\* none required\.$/,
    };
    expect(operation.description).toMatch(clients[must(operation.tags[0], 'an operation has a tag')]);
    expect(operation.description.indexOf('**Client:**')).toBeGreaterThan(0);
  });

  test('declares exactly its path parameters, and each parameter once with a schema', () => {
    const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
    const ofPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    expect(inPath.map(({ name }) => name)).toEqual(ofPath);
    expect(inPath.every(({ required }) => required)).toBe(true);
    expect(path).not.toContain(':');
    const keys = operation.parameters.map(({ name, in: location }) => `${location} ${name}`);
    expect(new Set(keys).size).toBe(keys.length);
    for (const { name, schema, content, description } of operation.parameters) {
      expect([schema, content].filter((one) => one !== undefined).length, name).toBe(1);
      expect(description, name).toBeTruthy();
    }
  });

  test('describes its parameters by lists that there are', () => {
    const named = operation.parameters.flatMap(({ description = '' }) =>
      [...description.matchAll(/`GET (\/[^`?]*)`/g)].map(([, list = '']) => list),
    );
    expect(named.filter((list) => document.paths[list]?.get === undefined)).toEqual([]);
  });

  test('lists its responses, each with an example', () => {
    expect(Object.keys(operation.responses)).toContain(path === '/sign-out' ? '204' : '200');
    for (const [status, response] of Object.entries(operation.responses)) {
      expect(status).toMatch(/^[2345]\d\d$/);
      if ('$ref' in response) continue;
      if (status === '304' || status === '204') {
        expect(response.content).toBeUndefined();
        continue;
      }
      const [media] = Object.values(must(response.content, 'a response has a body'));
      expect(media?.schema, status).toBeDefined();
      if (!path.endsWith('.js')) expect(media?.example, status).toBeDefined();
    }
  });

  test('has a body only for methods with one, and with an example', () => {
    if (operation.requestBody === undefined) return;
    expect(['post', 'put', 'patch']).toContain(method);
    const media = must(operation.requestBody.content['application/json'], 'a body is JSON');
    expect(media.example ?? media.examples).toBeDefined();
    expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['400', '413', '415']));
  });

  test('requires a client exactly when it may return 401', () => {
    const rejects = '401' in operation.responses;
    expect(operation.security.length > 0).toBe(rejects);
  });
});

test('a field below /manage has a description unless its name is self-evident', () => {
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
  const undescribed = fields
    .filter(([, { description, $ref, items }]) => (description ?? $ref ?? items?.$ref) === undefined)
    .map(([name]) => name);
  expect(fields.length).toBeGreaterThan(100);
  expect(undescribed.filter((name) => !selfEvident.includes(name))).toEqual([]);
});

test('a client sends its id and its secret together', () => {
  expect(operationAt('get', '/insights/{projectId}/metrics').security).toEqual([
    { clientId: [], clientSecret: [] },
  ]);
  expect(operationAt('post', '/track').security).toContainEqual({ clientId: [] });
  expect(operationAt('get', '/healthz/ready').security).toEqual([]);
});

test('the metrics need a token, or none', () => {
  expect(operationAt('get', '/metrics').security).toEqual([{ operationsToken: [] }, {}]);
  expect(document.components.securitySchemes.operationsToken).toMatchObject({
    type: 'http',
    scheme: 'bearer',
  });
});

test('only a change of one record may return 412', () => {
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

test('parameters are described by what their text means', () => {
  const parameter = (name: string) =>
    operationAt('get', '/export/events').parameters.find((one) => one.name === name);
  // The documentation page leaves parameters without an example out of the requests that it shows.
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

test('a list says in which forms it may be sent, and an endpoint which other names it accepts', () => {
  const { description, parameters } = operationAt('get', '/insights/{projectId}/events');
  const meaningOf = (name: string) => parameters.find((one) => one.name === name)?.description;
  expect(meaningOf('event')).toMatch(/May be repeated, also with `\[\]` or `\[0\]`, or a JSON array\.$/);
  expect(meaningOf('filters')).toMatch(/May be repeated, also with `\[\]` or `\[0\]`, one object each\.$/);
  expect(meaningOf('profileId')).not.toContain('repeated');
  expect(description).toContain('also accepts `country` (a filter on `country`)');
  expect(description).toContain('`eventNames` (the same as `event`)');
  expect(document.info.description).toContain('`event[]=a&event[]=b`');
});

test('a body of /track is discriminated by its type, and its fields are described', () => {
  const { TrackBody, TrackEvent } = document.components.schemas;
  expect(TrackBody?.oneOf?.length).toBe(8);
  expect(Object.keys(TrackBody?.discriminator?.mapping ?? {}).length).toBe(8);
  const payload = TrackEvent?.properties?.payload;
  expect(payload?.required).toEqual(['name']);
  expect(payload?.properties?.properties).toEqual({ $ref: '#/components/schemas/EventProperties' });
});
