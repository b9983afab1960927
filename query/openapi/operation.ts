import { z } from 'zod';
import type { Endpoint } from '../http/endpoint.ts';
import type { AnyEndpoint } from '../http/serve.ts';
import type { Example } from './examples/example.ts';
import { withMeanings } from './field-meanings.ts';
import { type JsonSchema, jsonSchemaOf } from './json-schema.ts';
import { noteOn } from './notes.ts';

/** The parts of the interface, in the order in which they are shown. */
export const TAGS = {
  Track: 'Sending events. Every page may do so from a browser, where its origin is one that the site lists.',
  Insights:
    'Questions about a site: every event that was acknowledged half a second before is counted, once. A read client asks about its own site, a root client about all of its team.',
  Export: 'Raw events, and charts of them.',
  Manage:
    'Sites, clients and what belongs to them. For root clients alone. An unknown field of a body is 400.',
  Operations: 'For those who run the service.',
} as const;
export type Tag = keyof typeof TAGS;

/**
 * Who is let in. `secret`: a client with its secret; `sender`: also a page of a listed origin, with a client's id alone;
 * `public`: everybody.
 */
export type Access = 'secret' | 'sender' | 'public';

export interface RequestHeader {
  readonly name: string;
  readonly description: string;
}

/** Headers of answers; what they say is in `shared-parts.ts`. */
export type AnswerHeader = 'RateLimit' | 'Retry-After' | 'ETag' | 'service-version' | 'x-next-cursor';

/** An answer that is of its own; the usual refusals are `errors`. */
export interface OperationAnswer {
  readonly status: number;
  readonly description: string;
  /** Undefined for an answer without a body. */
  readonly contentType: string | undefined;
  /** Undefined for what is not JSON. */
  readonly schema: z.ZodType | undefined;
  /** What is shown in the place of what can be made of `schema`. */
  readonly shown?: JsonSchema;
  readonly headers: readonly AnswerHeader[];
  readonly example: unknown;
}

export type ErrorStatus = 400 | 401 | 403 | 404 | 412 | 413 | 415 | 429 | 500 | 503;

/** What is said to who names the `ETag` that is still right. */
export const UNCHANGED: OperationAnswer = {
  status: 304,
  description: 'It is as the `ETag` that `If-None-Match` names says.',
  contentType: undefined,
  schema: undefined,
  headers: ['ETag'],
  example: undefined,
};
export const IF_NONE_MATCH: RequestHeader = {
  name: 'If-None-Match',
  description: 'The `ETag` of an answer that is kept: 304 if it is still right.',
};

/** A body that is read. */
export interface OperationBody {
  readonly schema: z.ZodType;
  /** What is shown in the place of what can be made of `schema`. */
  readonly shown?: JsonSchema;
  readonly examples: Readonly<Record<string, unknown>>;
}

/** One path and method as it is described. */
export interface Operation {
  readonly method: Endpoint['method'];
  /** A path with `:name` segments. */
  readonly pattern: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description: string;
  readonly access: Access;
  /** Of what stands behind `?`; an object. */
  readonly parameters: z.ZodType;
  readonly headers: readonly RequestHeader[];
  readonly body: OperationBody | undefined;
  readonly answers: readonly OperationAnswer[];
  readonly errors: readonly ErrorStatus[];
  /** Examples of what is in path and query, by name. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | readonly string[]>>;
}

const TAG_BY_AREA = { insights: 'Insights', export: 'Export', manage: 'Manage' } as const;

const IF_MATCH: RequestHeader = {
  name: 'If-Match',
  description:
    'The `ETag` of the answer that the change is made of: 412 if it was changed since. Without it the last one wins.',
};

/** An endpoint of this room, with the example that there is for it. */
export function operationOf(endpoint: AnyEndpoint, example: Example | undefined): Operation {
  const { method, pattern, area, about, schema, body } = endpoint;
  const isChange = changesOne(endpoint);
  const shown = (json: JsonSchema) => (area === 'manage' ? withMeanings(json) : json);
  return {
    method,
    pattern,
    tag: TAG_BY_AREA[area],
    summary: about.summary,
    description: [about.description, noteOn(endpoint)].filter((text) => text !== undefined).join('\n\n'),
    access: 'secret',
    parameters: schema,
    headers: isChange ? [IF_MATCH] : [],
    body:
      body === undefined
        ? undefined
        : {
            schema: body,
            shown: shown(jsonSchemaOf(body, 'input')),
            examples: example?.body === undefined ? {} : { example: example.body },
          },
    answers: [
      {
        status: 200,
        description: 'Done.',
        ...answerBody(about.answer, shown),
        headers: [
          'RateLimit',
          ...(isTagged(endpoint) ? (['ETag'] as const) : []),
          ...(endpoint.isPaged ? (['x-next-cursor'] as const) : []),
        ],
        example: example?.answer,
      },
    ],
    errors: errorsOf(endpoint, isChange),
    path: example?.path ?? {},
    query: example?.query ?? {},
  };
}

function answerBody(
  answer: AnyEndpoint['about']['answer'],
  shown: (json: JsonSchema) => JsonSchema,
): Pick<OperationAnswer, 'contentType' | 'schema' | 'shown'> {
  if ('contentType' in answer) return { contentType: answer.contentType, schema: undefined };
  return { contentType: 'application/json', schema: answer, shown: shown(jsonSchemaOf(answer, 'output')) };
}

/** What in the end of a path names a record that has versions. */
const VERSIONED = ['projectId', 'clientId', 'referenceId', 'dashboardId', 'reportId', 'integrationId'];

/** Whether it is about one record that has versions. */
function namesOne({ pattern, area }: AnyEndpoint): boolean {
  const last = /:(\w+)(?:\/(?:rotate|gsc|pause|resume|backfill))?$/.exec(pattern)?.[1];
  return area === 'manage' && last !== undefined && VERSIONED.includes(last);
}

/** Whether it changes one such record, whose version an `If-Match` may name. */
function changesOne(endpoint: AnyEndpoint): boolean {
  return endpoint.method !== 'get' && namesOne(endpoint);
}

/** Whether the answer is one such record, which goes on being there. */
function isTagged(endpoint: AnyEndpoint): boolean {
  const { method, area, pattern } = endpoint;
  return (
    method !== 'delete' &&
    (namesOne(endpoint) || (area === 'manage' && method === 'post' && !/\/(?:rows|test)$/.test(pattern)))
  );
}

function errorsOf(endpoint: AnyEndpoint, isChange: boolean): ErrorStatus[] {
  const namesSomething =
    endpoint.pattern.includes(':') ||
    hasField(endpoint.schema, 'projectId') ||
    hasField(endpoint.body, 'projectId');
  return [
    400,
    401,
    403,
    ...(namesSomething ? ([404] as const) : []),
    ...(isChange ? ([412] as const) : []),
    ...(endpoint.body === undefined ? [] : ([413, 415] as const)),
    429,
    500,
    503,
  ];
}

function hasField(schema: z.ZodType | undefined, name: string): boolean {
  return schema instanceof z.ZodObject && Object.hasOwn(schema.shape, name);
}

/** The name of an operation in the document: `getManageProjectsByProjectId`. */
export function operationIdOf({ method, pattern }: Pick<Operation, 'method' | 'pattern'>): string {
  const words = pattern
    .split(/[/._-]/)
    .filter((word) => word !== '')
    .map((word) => (word.startsWith(':') ? `By${capital(word.slice(1))}` : capital(word)));
  return method + words.join('');
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
