import type { AnswerHeader, ErrorStatus, Operation } from './operation.ts';

/** What operations have in common: how a client says who it is, headers of answers, refusals. */

export const SECURITY_SCHEMES = {
  clientId: {
    type: 'apiKey',
    in: 'header',
    name: 'service-client-id',
    description:
      "The client's id, a UUID. Every header that begins with `service-` may be called `openpanel-` instead, as the published SDKs call it.",
  },
  clientSecret: {
    type: 'apiKey',
    in: 'header',
    name: 'service-client-secret',
    description:
      "The client's secret, `sec_` and 40 hexadecimal digits. Not for pages: everybody can read it there.",
  },
} as const;

type Security = readonly Readonly<Record<string, readonly string[]>>[];
const BOTH = { clientId: [], clientSecret: [] };

/** What an operation asks for: one of these. */
export const SECURITY: Readonly<Record<Operation['access'], Security>> = {
  secret: [BOTH],
  sender: [BOTH, { clientId: [] }],
  public: [],
};

/** Headers as they are sent, by what they are for. */
export const HEADER_NAMES: Readonly<Record<AnswerHeader, readonly string[]>> = {
  RateLimit: ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'],
  'Retry-After': ['Retry-After'],
  ETag: ['ETag'],
  'service-version': ['service-version'],
  'x-next-cursor': ['x-next-cursor'],
};

/** Headers of answers. */
export const HEADERS = {
  'RateLimit-Limit': {
    description:
      'Requests that a client may send in ten seconds. The limit is approximate: ten seconds that span two windows can allow more, and several processes of the service share what they count with a delay of a fraction of a second. Also sent as `x-ratelimit-limit`.',
    schema: { type: 'integer' },
  },
  'RateLimit-Remaining': {
    description: 'Requests that are left now. Also sent as `x-ratelimit-remaining`.',
    schema: { type: 'integer' },
  },
  'RateLimit-Reset': {
    description: 'Seconds until more requests are left than now. Also sent as `x-ratelimit-reset`.',
    schema: { type: 'integer' },
  },
  'Retry-After': { description: 'Seconds to wait before the next try.', schema: { type: 'integer' } },
  ETag: {
    description: 'Which version this is; an `If-Match` of a change names it.',
    schema: { type: 'string' },
  },
  'service-version': { description: 'The release of the service.', schema: { type: 'string' } },
  'x-next-cursor': {
    description: 'The `cursor` of the next page. It is not there where this is the last one.',
    schema: { type: 'string' },
  },
} as const;

/** A refusal: what it is called among the components, when it comes, with what, and one of them. */
export interface Reject {
  readonly name: string;
  readonly description: string;
  readonly headers: readonly AnswerHeader[];
  readonly message: string;
  readonly error: string;
}

export const REFUSALS: Readonly<Record<ErrorStatus, Reject>> = {
  400: {
    name: 'BadRequest',
    description: 'Something cannot be understood; the message begins with the field that is wrong.',
    headers: [],
    error: 'Bad Request',
    message: 'range: 7d contradicts startDate and endDate; leave it out or say custom',
  },
  401: {
    name: 'Unauthorized',
    description:
      'No client is named, the secret is missing or wrong, or the origin is none that the site lists.',
    headers: [],
    error: 'Unauthorized',
    message: 'unknown client id or wrong secret',
  },
  403: {
    name: 'Forbidden',
    description: 'The client is known, and may not do this.',
    headers: [],
    error: 'Forbidden',
    message: 'this client may not read the site "shop"',
  },
  404: {
    name: 'NotFound',
    description: "There is no such thing, or it is another team's.",
    headers: [],
    error: 'Not Found',
    message: 'no such site: "shop"',
  },
  412: {
    name: 'PreconditionFailed',
    description: 'It was changed since the version that `If-Match` names; read it again.',
    headers: [],
    error: 'Precondition Failed',
    message: 'if-match: it was changed since; read it again',
  },
  413: {
    name: 'TooLarge',
    description: 'The body is too large.',
    headers: [],
    error: 'Payload Too Large',
    message: 'the body is larger than 65536 bytes',
  },
  415: {
    name: 'NotJson',
    description:
      'The body is not said to be JSON. `text/plain` that holds JSON is taken, as beacons send it.',
    headers: [],
    error: 'Unsupported Media Type',
    message: 'content-type: expected application/json, not "text/xml"',
  },
  429: {
    name: 'TooManyRequests',
    description: 'Too many requests. Retry after the seconds in `Retry-After`.',
    headers: ['RateLimit', 'Retry-After'],
    error: 'Too Many Requests',
    message: 'too many requests; retry after the time in Retry-After',
  },
  500: {
    name: 'InternalServerError',
    description: 'The service failed; it is in its log.',
    headers: [],
    error: 'Internal Server Error',
    message: 'the service failed; the error has been logged',
  },
  503: {
    name: 'Unavailable',
    description: 'It cannot be done now, and nothing is wrong with the request; try again.',
    headers: ['Retry-After'],
    error: 'Service Unavailable',
    message: 'the store cannot be reached now',
  },
};
