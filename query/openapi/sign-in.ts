import { z } from 'zod';
import {
  openedShare,
  sessionAnswer,
  sharedAnswer,
  shareOpening,
  signInBody,
} from '../sign-in/sign-in-api.ts';
import type { DescribedAnswer, DescribedOperation } from './operation.ts';

/** The operations of signing in, which the dashboard uses. */

const COOKIE =
  'The cookie `footfall-session` is `HttpOnly` and `SameSite=Strict`. If a trusted proxy says that the browser uses TLS, it is `Secure` and its name is `__Host-footfall-session`, or `__Secure-footfall-session` where `BASE_URL` has a path; the same holds for the other cookies of the service. A request without credentials in its headers is authorized by it, with the rights and limits of the client or user. Methods other than `GET` and `HEAD` then need a page of this service: `Sec-Fetch-Site: same-origin` or an `Origin` that is the host asked, else 403. Below `/live/{projectId}` it counts for pages of this service only. The token in it is replaced every ten minutes while it is used; the one before works for another minute. It ends 12 hours after the last use (recorded with up to ten minutes of delay), after 30 days, when it is signed out, when the client or user is deleted, and when its secret or passphrase changes. A client or user has up to 20 sign-ins; the next one ends the oldest.';

/** `/sign-in`, `/session`, `/sign-out` and `/shared/*`. */
export const SIGN_IN: readonly DescribedOperation[] = [
  operation('post', '/sign-in', {
    summary: 'Sign a browser in',
    description: `The body is one of three kinds: id and secret of a read or root client, e-mail and passphrase of a user, or the token of a sign-in link. Returns what \`GET /session\` returns, and sets the cookie. Everything that is wrong gets the same 401. Wrong secrets and links are counted by address: after 100 in 10 seconds further ones return 429. After 20 wrong passphrases in 5 minutes an address gets 429 for every passphrase; so does a network after 60 (IPv6 /56) or 200 (IPv6 /48, IPv4 /24), and an address after 100 passphrases, right or wrong. A user who signs in also gets the cookie \`footfall-browser\` for 180 days. It gives no rights: a passphrase that comes with it is verified before those of strangers and is counted for the user, until the passphrase changes. A write client cannot sign in (403).\n\n${COOKIE}`,
    access: 'newcomer',
    body: {
      schema: signInBody,
    },
    answers: [session(['Set-Cookie'])],
    errors: [400, 401, 403, 413, 415, 429, 500, 503],
  }),
  operation('get', '/session', {
    summary: 'Get the present sign-in',
    description: `Returns who the cookie stands for and the sites that it may read, or 401 without a cookie that is valid. Counts as a request to Insights.\n\n${COOKIE}`,
    access: 'signedIn',
    body: undefined,
    answers: [session([])],
    errors: [401, 429, 500, 503],
  }),
  operation('post', '/sign-out', {
    summary: 'Sign a browser out',
    description:
      'Ends the sign-in of the cookie in every process and removes the cookie; without a cookie it does nothing. The body is ignored. With a cookie it needs a page of this service, else 403.',
    access: 'public',
    body: undefined,
    answers: [
      {
        status: 204,
        description: 'Signed out.',
        contentType: undefined,
        schema: undefined,
        headers: ['Set-Cookie'],
      },
    ],
    errors: [403, 413, 500, 503],
  }),
  operation('get', '/shared/:token', {
    summary: 'Get what a shared link shows',
    description:
      'Returns the site of a shared link, and whether opening it takes a passphrase. While it takes one, `site` is null, except in a browser that opened the link or may read the site. Returns 404 for an unknown link, and once it has ended; after 100 of these in 10 seconds an address gets 429.',
    access: 'public',
    body: undefined,
    answers: [shared([])],
    errors: [404, 429, 500],
  }),
  operation('post', '/shared/:token/open', {
    summary: 'Open a shared link',
    description: `Sets the cookie \`footfall-share\`, with the attributes, the renewal and the times of a sign-in. It may read the overview of the site: the questions ${sharedList()} and \`/live/{projectId}\`. Filters may test pages, sources, places and software; people, events, properties and exports are 403. Requests are counted by address, as many as a client may send. A request with the cookie of a sign-in that may read the site is one of that sign-in. It ends when the link ends, is deleted, or gets another passphrase. The \`viewToken\` of the response may read the same in the header \`footfall-share\`, for half an hour after its last use: a page in a frame of another site has no cookie. A response with that header has the token to send from then on. A request with the cookie of the link needs no passphrase. After 20 wrong passphrases in 5 minutes an address gets 429. Opening another link replaces the cookie. 503 where the setting \`SECRETS_KEY\` is empty.`,
    access: 'newcomer',
    body: {
      isOptional: true,
      schema: shareOpening,
    },
    answers: [
      {
        ...shared(['Set-Cookie']),
        schema: openedShare,
      },
    ],
    errors: [400, 401, 403, 404, 413, 415, 429, 500, 503],
  }),
];

/** The questions of the overview, for people. */
function sharedList(): string {
  const names = [
    'live',
    'metrics',
    'pages',
    'pages/entry_exit',
    'traffic/*',
    'goals',
    'references',
    'active_users',
  ];
  return `${[...names, 'events/names'].map((name) => `\`${name}\``).join(', ')} and those by one dimension, such as \`country\`, below \`/insights/{projectId}\``;
}

function shared(headers: DescribedAnswer['headers']): DescribedAnswer {
  return {
    status: 200,
    description: 'The link works.',
    contentType: 'application/json',
    schema: sharedAnswer,
    headers,
  };
}

function operation(
  method: DescribedOperation['method'],
  pattern: string,
  operation: Pick<DescribedOperation, 'summary' | 'description' | 'access' | 'body' | 'answers' | 'errors'>,
): DescribedOperation {
  return {
    method,
    pattern,
    tag: 'Sign-in',
    parameters: z.object({}),
    headers: [],
    ...operation,
  };
}

function session(headers: DescribedAnswer['headers']): DescribedAnswer {
  return {
    status: 200,
    description: 'Signed in.',
    contentType: 'application/json',
    schema: sessionAnswer,
    headers,
  };
}
