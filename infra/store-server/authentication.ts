import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { exception } from './exceptions.ts';

const USER = 'default';
/** May only read; see `ReaderRules`. */
const READER = 'query';

/** The passwords of the two users. Without one, `default` has an empty password, and `query` cannot log in. */
export interface Passwords {
  readonly password: string;
  readonly queryPassword: string;
}

interface BasicCredentials {
  readonly user: string;
  readonly password: string;
}

/** Returns the user that the request comes from. Throws unless it has the right user and password, in one of the three supported ways. */
export function authenticate(
  headers: IncomingHttpHeaders,
  url: URLSearchParams,
  { password, queryPassword }: Passwords,
): 'writer' | 'reader' {
  const given = credentials(headers, url);
  const isReader = given.user === READER && queryPassword !== '';
  const isRight = sameSecret(given.password, isReader ? queryPassword : password);
  if (isRight && isReader) return 'reader';
  if (isRight && given.user === USER) return 'writer';
  throw exception(
    'AUTHENTICATION_FAILED',
    `${given.user}: Authentication failed: password is incorrect, or there is no user with such name.`,
  );
}

/**
 * ClickHouse's own headers come before Authorization, and that before the URL, as in the real server. Two ways in one request are rejected.
 */
function credentials(headers: IncomingHttpHeaders, url: URLSearchParams): BasicCredentials {
  const user = header(headers, 'x-clickhouse-user');
  const key = header(headers, 'x-clickhouse-key');
  const { authorization } = headers;
  if ((user !== undefined || key !== undefined) && authorization !== undefined)
    throw twoWays('X-ClickHouse HTTP headers and Authorization HTTP header');
  if (user !== undefined || key !== undefined) return { user: user ?? USER, password: key ?? '' };
  if (authorization === undefined)
    return { user: url.get('user') ?? USER, password: url.get('password') ?? '' };
  if (url.has('user') || url.has('password'))
    throw twoWays('Authorization HTTP header and authentication in URL');
  const basic = /^Basic\s+(\S+)$/i.exec(authorization)?.[1];
  if (basic === undefined)
    throw exception('AUTHENTICATION_FAILED', 'Invalid authentication: only Basic is supported here.');
  const pair = Buffer.from(basic, 'base64').toString();
  const colon = pair.indexOf(':');
  return colon === -1
    ? { user: pair, password: '' }
    : { user: pair.slice(0, colon), password: pair.slice(colon + 1) };
}

function header(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function twoWays(which: string) {
  return exception(
    'AUTHENTICATION_FAILED',
    `Invalid authentication: it is not allowed to use ${which} simultaneously.`,
  );
}

/** Compares in a time that does not depend on where the two differ. */
function sameSecret(left: string, right: string): boolean {
  const key = randomBytes(16);
  const digest = (text: string) => createHash('sha256').update(key).update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}
