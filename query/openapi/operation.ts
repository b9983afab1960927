import { z } from 'zod';
import type { Endpoint } from '../http/endpoint.ts';
import { foreignNote } from '../http/foreign-parameters.ts';
import { parameterKinds } from '../http/parameters.ts';
import type { AnyEndpoint } from '../http/serve.ts';
import type { JsonSchema } from './json-schema.ts';

/** The sections of the document, in display order. */
export const TAGS = {
  Track: "Send events. Browsers may send without a secret from the site's allowed origins.",
  Insights:
    'Query the analytics of a site. Every event acknowledged at least 0.5 seconds before the request counts exactly once.',
  Live: 'Follow the live visitors of a site, and show them in a page.',
  Export: 'Export raw events, and compute charts from them.',
  Manage:
    'Manage sites, clients, dashboards, integrations and erasures. An unknown field in a body and an unknown parameter return 400.',
  'Sign-in':
    'Sign a browser in, and open shared links. The dashboard uses it; programs send their secret with each request.',
  Operations: 'Health checks, metrics and this documentation.',
} as const;
export type Tag = keyof typeof TAGS;

/**
 * The permitted callers of an operation.
 *
 * root     a root client with its secret
 * read     a read client for its own site, or a root client for its team, with the secret
 * sender   any client with its secret, or only its id from an allowed origin of the site
 * viewer   everyone if the site is public, else a client as for `read`, or a token
 * operator the operator of the service, with a token where strangers may reach it
 * newcomer signs in with the body
 * signedIn a browser with the cookie of a sign-in
 * public   everyone, without a client
 */
export type Access = 'root' | 'read' | 'sender' | 'viewer' | 'operator' | 'newcomer' | 'signedIn' | 'public';

export interface RequestHeader {
  readonly name: string;
  readonly description: string;
}

/** Headers of responses; `shared-parts.ts` describes them. */
export type AnswerHeader =
  | 'RateLimit'
  | 'Retry-After'
  | 'ETag'
  | 'Set-Cookie'
  | 'service-version'
  | 'server-timing'
  | 'x-next-cursor';

/** A response that is specific to one operation. Common errors are listed in `errors`. */
export interface DescribedAnswer {
  readonly status: number;
  readonly description: string;
  /** Undefined for a response without a body. */
  readonly contentType: string | undefined;
  /** Undefined when the body is not JSON. */
  readonly schema: z.ZodType | undefined;
  /** Overrides the JSON Schema derived from `schema`. */
  readonly shown?: JsonSchema;
  readonly headers: readonly AnswerHeader[];
}

export type ErrorStatus = 400 | 401 | 403 | 404 | 409 | 412 | 413 | 415 | 429 | 500 | 503;

/** The response to a request whose `If-None-Match` names the current `ETag`. */
export const UNCHANGED: DescribedAnswer = {
  status: 304,
  description: 'Not modified: `If-None-Match` names the current `ETag`.',
  contentType: undefined,
  schema: undefined,
  headers: ['ETag'],
};
export const IF_NONE_MATCH: RequestHeader = {
  name: 'If-None-Match',
  description: 'The `ETag` of a cached response. Returns 304 if it is still current.',
};

/** A request body. */
export interface DescribedBody {
  /** True if the body may be left out. */
  readonly isOptional?: boolean;
  readonly schema: z.ZodType;
  /** Overrides the JSON Schema derived from `schema`. */
  readonly shown?: JsonSchema;
}

/** One method on one path, before its examples are added. */
export interface DescribedOperation {
  readonly method: Endpoint['method'];
  /** A path with `:name` segments. */
  readonly pattern: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description: string;
  readonly access: Access;
  /** The query parameters; an object schema. */
  readonly parameters: z.ZodType;
  readonly headers: readonly RequestHeader[];
  readonly body: DescribedBody | undefined;
  readonly answers: readonly DescribedAnswer[];
  readonly errors: readonly ErrorStatus[];
}

export interface OperationAnswer extends DescribedAnswer {
  readonly example: unknown;
}

export interface OperationBody extends DescribedBody {
  /** By name. */
  readonly examples: Readonly<Record<string, unknown>>;
}

/** One method on one path, as the document describes it. */
export interface Operation extends DescribedOperation {
  readonly body: OperationBody | undefined;
  readonly answers: readonly OperationAnswer[];
  /** Example values of the path and query parameters, by name. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | readonly string[]>>;
}

const TAG_BY_AREA = { insights: 'Insights', export: 'Export', manage: 'Manage' } as const;

const IF_MATCH: RequestHeader = {
  name: 'If-Match',
  description:
    'The `ETag` of the version to change. Returns 412 if the record has changed since. Without this header the last change wins.',
};

/** Describes an endpoint of this room. */
export function operationOf(endpoint: AnyEndpoint): DescribedOperation {
  const { method, pattern, area, about, schema, body } = endpoint;
  const isChange = changesOne(endpoint);
  return {
    method,
    pattern,
    tag: TAG_BY_AREA[area],
    summary: about.summary,
    description: described(endpoint),
    access: area === 'manage' ? 'root' : 'read',
    parameters: schema,
    headers: isChange ? [IF_MATCH] : [],
    body:
      body === undefined
        ? undefined
        : {
            ...(endpoint.isBodyOptional ? { isOptional: true } : {}),
            schema: body,
          },
    answers: [
      {
        status: 200,
        description: 'Success.',
        ...answerBody(about.answer),
        headers: [
          'RateLimit',
          ...(isTagged(endpoint) ? (['ETag'] as const) : []),
          ...(area === 'insights' ? (['server-timing'] as const) : []),
          ...(endpoint.isPaged ? (['x-next-cursor'] as const) : []),
        ],
      },
    ],
    errors: errorsOf(endpoint, isChange),
  };
}

/** The description of an endpoint, with the names that it accepts for compatibility. */
function described(endpoint: AnyEndpoint): string {
  const { about, pattern, schema } = endpoint;
  const note = foreignNote(pattern, [...parameterKinds(schema).keys()]);
  return note === undefined ? about.description : `${about.description}\n\n${note}`;
}

function answerBody(answer: AnyEndpoint['about']['answer']): Pick<OperationAnswer, 'contentType' | 'schema'> {
  if ('contentType' in answer) return { contentType: answer.contentType, schema: undefined };
  return { contentType: 'application/json', schema: answer };
}

/** Path parameters below `/manage` that name something without a version. */
const UNVERSIONED = ['profileId', 'erasureId', 'alias'];

/** True if the endpoint addresses one versioned record. */
function namesOne({ pattern, area }: AnyEndpoint): boolean {
  const last = /:(\w+)(?:\/(?:rotate|restore|gsc|pause|resume|backfill))?$/.exec(pattern)?.[1];
  return area === 'manage' && last !== undefined && !UNVERSIONED.includes(last);
}

/** True if the endpoint changes one versioned record, so `If-Match` applies. */
function changesOne(endpoint: AnyEndpoint): boolean {
  return endpoint.method !== 'get' && namesOne(endpoint);
}

/** True if the response is one versioned record that still exists, so it has an `ETag`. */
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
    hasField(endpoint.body, 'projectId') ||
    hasField(endpoint.body, 'sites');
  return [
    400,
    401,
    403,
    ...(namesSomething ? ([404] as const) : []),
    ...(mayConflict(endpoint) ? ([409] as const) : []),
    ...(isChange ? ([412] as const) : []),
    ...(endpoint.body === undefined ? [] : ([413, 415] as const)),
    429,
    500,
    503,
  ];
}

/** True if the state of other records may prevent the request. */
function mayConflict({ kind, body }: AnyEndpoint): boolean {
  return kind === 'manage-project-restore' || (/^manage-users?$/.test(kind) && body !== undefined);
}

function hasField(schema: z.ZodType | undefined, name: string): boolean {
  return schema instanceof z.ZodObject && Object.hasOwn(schema.shape, name);
}

/** The unique id of an operation in the document, such as `getManageProjectsByProjectId`. */
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
