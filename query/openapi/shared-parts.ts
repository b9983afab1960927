import type { SecurityScheme } from './open-api.ts';
import type { AnswerHeader, ErrorStatus, Operation } from './operation.ts';

/** Parts that operations share: authentication, response headers and errors. */

export const SECURITY_SCHEMES: Readonly<Record<string, SecurityScheme>> = {
  clientId: {
    type: 'apiKey',
    in: 'header',
    name: 'service-client-id',
    description:
      'The client id, a UUID. The prefix `openpanel-` may replace `service-` in every header name, for compatibility with published SDKs.',
  },
  clientSecret: {
    type: 'apiKey',
    in: 'header',
    name: 'service-client-secret',
    description:
      'The client secret: `sec_` followed by 40 hexadecimal digits. Never put it in a web page, where visitors can read it.',
  },
  signIn: {
    type: 'apiKey',
    in: 'cookie',
    name: 'footfall-session',
    description: 'The cookie that `POST /sign-in` sets, for browsers.',
  },
  operationsToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The value of the setting `OPERATIONS_TOKEN`, for the operator of the service.',
  },
};

/** States at the end of each operation's description which clients may call it. */
export const CALLERS: Readonly<Record<Operation['access'], string>> = {
  root: '**Client:** root.',
  read: '**Client:** read (its own site) or root (any site of its team).',
  sender:
    '**Client:** any type, with its secret, or with the client id only from an allowed origin of the site.',
  viewer:
    '**Client:** none for a public site; otherwise read (its own site), root (any site of its team), or a token.',
  operator: '**Client:** none required.',
  newcomer: '**Client:** none required in the headers.',
  signedIn: '**Client:** none required in the headers; the cookie says who it is.',
  public: '**Client:** none required.',
};

type Security = readonly Readonly<Record<string, readonly string[]>>[];
const BOTH = { clientId: [], clientSecret: [] };

/** The security requirements of an operation; one of them must be met. */
export const SECURITY: Readonly<Record<Operation['access'], Security>> = {
  root: [BOTH],
  read: [BOTH],
  sender: [BOTH, { clientId: [] }],
  viewer: [BOTH, {}],
  operator: [{ operationsToken: [] }, {}],
  newcomer: [{}],
  signedIn: [{ signIn: [] }],
  public: [],
};

/** The header names behind each group of response headers. */
export const HEADER_NAMES: Readonly<Record<AnswerHeader, readonly string[]>> = {
  RateLimit: ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'],
  'Retry-After': ['Retry-After'],
  ETag: ['ETag'],
  'Set-Cookie': ['Set-Cookie'],
  'service-version': ['service-version'],
  'server-timing': ['server-timing'],
  'x-next-cursor': ['x-next-cursor'],
};

/** The response headers by name. */
export const HEADERS = {
  'RateLimit-Limit': {
    description:
      'Requests that the client may send in 10 seconds. The limit is approximate: 10 seconds that span two windows can allow more, and processes of the service share their counts with a delay of a fraction of a second. Also sent as `x-ratelimit-limit`.',
    schema: { type: 'integer' },
  },
  'RateLimit-Remaining': {
    description: 'Requests left in the current window. Also sent as `x-ratelimit-remaining`.',
    schema: { type: 'integer' },
  },
  'RateLimit-Reset': {
    description: 'Seconds until more requests are available. Also sent as `x-ratelimit-reset`.',
    schema: { type: 'integer' },
  },
  'Retry-After': { description: 'Seconds to wait before the next attempt.', schema: { type: 'integer' } },
  ETag: {
    description:
      'The version of the response. Send it as `If-Match` with a change, or as `If-None-Match` with a request for a static file.',
    schema: { type: 'string' },
  },
  'Set-Cookie': { description: 'The cookie of the sign-in.', schema: { type: 'string' } },
  'service-version': { description: 'The release of the service.', schema: { type: 'string' } },
  'server-timing': {
    description:
      'The time of each stage in milliseconds. `owner`: the newest events were asked for. `queue`: the question waited for a turn in the store or in memory. `store`: the store ran its statements. `memory`: rows in memory were counted. `encode`: the answer became JSON. `total`: from the authorized request to the answer. A stage that did not run is absent.\n\nThe description of `rows` estimates the events that the store had to read. The description of `plan` lists the parts of the answer, each with its engine, the reason, the estimated rows, and the reason why memory did not answer. Of equal requests that are answered together, only the first has these two and the stages before `encode`.',
    schema: { type: 'string' },
  },
  'x-next-cursor': {
    description: 'The `cursor` of the next page. Absent on the last page.',
    schema: { type: 'string' },
  },
} as const;

/** A common error response: its component name, description and headers. */
export interface ErrorResponse {
  readonly name: string;
  readonly description: string;
  readonly headers: readonly AnswerHeader[];
}

export const ERROR_RESPONSES: Readonly<Record<ErrorStatus, ErrorResponse>> = {
  400: {
    name: 'BadRequest',
    description: 'The request is invalid. The message starts with the name of the invalid field.',
    headers: [],
  },
  401: {
    name: 'Unauthorized',
    description:
      'The client id is missing or unknown, the secret is missing or wrong, the client has expired, or the origin is not allowed by the site. Without credentials in the headers: the cookie is not that of a sign-in, or the sign-in is over. Below `/live`: the site is not public, or the token is not valid. For `/metrics`: the token is missing or wrong.',
    headers: [],
  },
  403: {
    name: 'Forbidden',
    description:
      'The client is valid but not allowed to do this: its type, site, scopes or addresses do not permit it; or a page of another origin sent the request with a cookie. Below `/live`: the site does not list the origin of the page.',
    headers: [],
  },
  404: {
    name: 'NotFound',
    description: 'The resource does not exist, or belongs to another team.',
    headers: [],
  },
  409: {
    name: 'Conflict',
    description: 'The state of the record does not allow the request.',
    headers: [],
  },
  412: {
    name: 'PreconditionFailed',
    description:
      'The record has changed since the version in `If-Match`. Read it again and repeat the change.',
    headers: [],
  },
  413: {
    name: 'TooLarge',
    description: 'The body exceeds the size limit.',
    headers: [],
  },
  415: {
    name: 'NotJson',
    description:
      'The content type is not JSON. JSON sent as `text/plain` is accepted, for `navigator.sendBeacon`.',
    headers: [],
  },
  429: {
    name: 'TooManyRequests',
    description: 'The rate limit is exceeded. Wait for the seconds in `Retry-After`.',
    headers: ['RateLimit', 'Retry-After'],
  },
  500: {
    name: 'InternalServerError',
    description: 'An internal error. The details are in the log of the service.',
    headers: [],
  },
  503: {
    name: 'Unavailable',
    description:
      'The service is temporarily unable to respond. The request is valid; try again after the seconds in `Retry-After`. While too many questions run, another one waits up to 30 seconds. No team can use all of the capacity, and the questions that wait are taken from each team in rotation.',
    headers: ['Retry-After'],
  },
};
