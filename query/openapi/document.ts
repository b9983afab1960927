import { setImmediate as othersTurn } from 'node:timers/promises';
import { components, refTo } from './components.ts';
import type { ErrorExample } from './examples/example.ts';
import { readGuides } from './guides.ts';
import { type JsonSchema, jsonSchemaOf, mapValues } from './json-schema.ts';
import type { OpenApiDocument, OperationObject, ResponseObject } from './open-api.ts';
import {
  type AnswerHeader,
  type Operation,
  type OperationAnswer,
  type OperationBody,
  operationIdOf,
  TAGS,
  type Tag,
} from './operation.ts';
import { parametersOf } from './parameters.ts';
import {
  CALLERS,
  ERROR_RESPONSES,
  HEADER_NAMES,
  HEADERS,
  SECURITY,
  SECURITY_SCHEMES,
} from './shared-parts.ts';

const ABOUT = [
  'Send events, query analytics, export raw events, and manage sites and clients. All endpoints share one base URL.',
  'Requests and responses are JSON in UTF-8. Times are ISO 8601 in UTC with milliseconds. Dates of buckets are in the time zone of the site. Amounts are in major units of their currency.',
  'Authenticate with the headers `service-client-id` and `service-client-secret`. A write client sends events; a read client also queries its own site; a root client does everything for its team. A client can be limited to some areas (scopes), to addresses, and to a time. A browser that signed in (`POST /sign-in`) needs no such headers: its cookie stands for its client or user. Wrong credentials are counted by address: after 100 in 10 seconds further wrong ones return 429. A right secret is never limited by them.',
  'Errors are JSON with `status`, `error` and `message`. Only a request that is no HTTP/1.1 is rejected without JSON (400, 431 or 505, or a closed connection): HTTP/1.0, no `Host`, a malformed header or length, more than 98 headers. A request whose end is ambiguous, such as one with two lengths or with a transfer coding besides `chunked`, returns 400 and closes the connection. Path, query and headers of more than 64 KiB return 431, and a path of more than 8,192 characters, or a header that is longer than any that the service reads, 400, which names the header.',
  'Bounds are checked before a request is read, and what exceeds them returns 400: 1,000 parameters, 4,096 characters for a parameter that is no JSON, 4 pairs of brackets in a name, 32 levels of lists and objects in JSON, and 4,096 characters of query string below `/live`, for `/track/device-id` and for `/config/tracking`.',
  'An unknown query parameter of Insights, Export or Manage returns 400 with the names of all unknown ones, and so does a single parameter that is sent twice. All other endpoints ignore unknown parameters. Parameter lists accept `event=a&event=b`, `event[]=a&event[]=b`, `event[0]=a&event[1]=b` and a JSON array, `event=["a","b"]`; lists of objects, such as `filters`, accept the same forms with each object as JSON, and `filters[0][name]=path&filters[0][value]=/a&filters[0][value]=/b`, in which a repeated name is a list.',
  '`HEAD` returns the status and headers of `GET` without the body. Responses over 1 KB, and streams of NDJSON and CSV, are compressed with brotli or gzip if `Accept-Encoding` allows it; each encoding has its own `ETag`, and `If-Match` accepts all of them. Responses of Insights, Export and Manage are `Cache-Control: no-store`.',
  'Paths carry no version. Every response names the release in the header `service-version`, and has `X-Content-Type-Options: nosniff`.',
].join('\n\n');

/** The name of the service. */
export const TITLE = 'footfall';

/**
 * Builds the document; `errors` are examples by status. Operations are grouped in the order of `TAGS` and otherwise stay in the given order. After each operation
 * other requests get their turn, because the whole document takes 0.1 s.
 */
export async function openApiDocument(
  operations: readonly Operation[],
  version: string,
  errors: ReadonlyMap<number, ErrorExample>,
): Promise<OpenApiDocument> {
  const { schemas, named } = components();
  const tags = Object.keys(TAGS).filter(isTag);
  const ordered = tags.flatMap((tag) => operations.filter((operation) => operation.tag === tag));
  const paths: Record<string, Record<string, OperationObject>> = {};
  for (const operation of ordered) {
    const path = operation.pattern.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [operation.method]: operationObject(operation, named) };
    await othersTurn();
  }
  return {
    openapi: '3.1.0',
    info: { title: TITLE, version, description: `${ABOUT}\n\n${readGuides()}` },
    servers: [{ url: '/' }],
    tags: tags.map((name) => ({ name, description: TAGS[name] })),
    paths,
    components: {
      schemas,
      responses: sharedResponses(errors),
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

function operationObject(operation: Operation, named: (schema: JsonSchema) => JsonSchema): OperationObject {
  const { tag, summary, description, access, body, answers, errors } = operation;
  return {
    operationId: operationIdOf(operation),
    tags: [tag],
    summary,
    description: `${description}\n\n${CALLERS[access]}`,
    security: SECURITY[access],
    parameters: parametersOf(operation, named),
    ...(body === undefined ? {} : { requestBody: bodyObject(body, named) }),
    responses: Object.fromEntries([
      ...answers.map((answer) => [String(answer.status), answerObject(answer, named)]),
      ...errors.map((status) => [
        String(status),
        { $ref: `#/components/responses/${ERROR_RESPONSES[status].name}` },
      ]),
    ]),
  };
}

function bodyObject(
  { isOptional = false, schema, shown, examples }: OperationBody,
  named: (schema: JsonSchema) => JsonSchema,
): NonNullable<OperationObject['requestBody']> {
  const values = Object.values(examples);
  const several = { examples: mapValues(examples, (value) => ({ value })) };
  const one = values.length === 0 ? {} : { example: values[0] };
  return {
    required: !isOptional,
    content: {
      'application/json': {
        schema: named(shown ?? jsonSchemaOf(schema, 'input')),
        ...(values.length > 1 ? several : one),
      },
    },
  };
}

function answerObject(
  { description, contentType, schema, shown, headers, example }: OperationAnswer,
  named: (schema: JsonSchema) => JsonSchema,
): ResponseObject {
  if (contentType === undefined) return { description, ...headersObject(headers) };
  const json: JsonSchema =
    shown ?? (schema === undefined ? { type: 'string' } : jsonSchemaOf(schema, 'output'));
  return {
    description,
    ...headersObject(headers),
    content: { [contentType]: { schema: named(json), ...(example === undefined ? {} : { example }) } },
  };
}

function sharedResponses(errors: ReadonlyMap<number, ErrorExample>): Record<string, ResponseObject> {
  const responses = Object.entries(ERROR_RESPONSES).map(([status, { name, description, headers }]) => [
    name,
    {
      description,
      ...headersObject(headers),
      content: {
        'application/json': {
          schema: { $ref: refTo('Error') },
          example: errors.get(Number(status)),
        },
      },
    },
  ]);
  return Object.fromEntries(responses);
}

function headersObject(headers: readonly AnswerHeader[]): Pick<ResponseObject, 'headers'> {
  const names = headers.flatMap((header) => HEADER_NAMES[header]);
  if (names.length === 0) return {};
  return {
    headers: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
  };
}

function isTag(name: string): name is Tag {
  return Object.hasOwn(TAGS, name);
}
